import { nameOf } from './person-names.ts';
import type { Random } from '../random.ts';
import { putUser, type PlayedTeam, nextId } from './played-team.ts';
import { momentOf } from '../wire/show-timestamp.ts';

const firstDayMs = Date.UTC(2019, 2, 1);
const lastDayMs = Date.UTC(2026, 4, 31);

/** The roles 1 and 4 are seen in deployments; the other roles are custom roles of a team. */
export const roleNames: readonly (readonly [id: number, name: string])[] = [
  [1, 'admin'],
  [4, 'member'],
  [2, 'owner'],
  [17, 'Night Shift Lead'],
  [23, 'Billing & Reports'],
  [1042, 'Équipe Genève'],
];

/** Adds `count` users with realistic names, emails and phones; the first is the owner. */
export function generateUsers(team: PlayedTeam, count: number, random: Random): void {
  for (const [id, name] of roleNames) team.roles.set(id, name);
  for (let at = 0; at < count; at += 1) {
    const id = nextId(team);
    const name = nameOf(random, at);
    const created = random.between(firstDayMs, lastDayMs);
    const updated = random.between(created, lastDayMs);
    const userCreated = created - random.between(0, 86_400_000);
    const blank = random.fraction();
    putUser(team, {
      id,
      ...name,
      email: blank < 0.05 ? null : emailOf(name.first, name.last, team, at, random),
      phone: blank < 0.01 || blank > 0.85 ? null : phoneOf(team, at, random),
      roleId: at === 0 ? 2 : roleOf(random),
      created: momentOf(created, id),
      updated: momentOf(updated, id),
      userCreated: momentOf(userCreated, id),
      userUpdated: momentOf(random.between(userCreated, lastDayMs), id),
      listed: true,
      answered: true,
    });
  }
}

function roleOf(random: Random): number {
  const drawn = random.fraction();
  if (drawn < 0.08) return 1;
  if (drawn < 0.8) return 4;
  return random.pick([17, 23, 1042]);
}

/** An email, different for each user of a team; a few emails have capitals, a plus or a long domain. */
function emailOf(first: string, last: string, team: PlayedTeam, at: number, random: Random): string {
  const name = `${asciiOf(first)}.${asciiOf(last)}`.replace(/^\.+|\.+$/g, '') || 'user';
  const drawn = random.fraction();
  const address = `${name}.${team.id}.${at}`;
  if (drawn < 0.05) return `${capitalised(address)}@Example.COM`;
  if (drawn < 0.08) return `${address}+sms@example.org`;
  if (drawn < 0.1) return `${address}@front-desk.emea.subsidiary.example.net`;
  return `${address}@example.com`;
}

function asciiOf(text: string): string {
  return text
    .normalize('NFD')
    .toLowerCase()
    .replace(/[^a-z]+/g, '');
}

function capitalised(text: string): string {
  return text.replace(/\b[a-z]/g, (letter) => letter.toUpperCase());
}

/** A phone in E.164 digits without the plus (interface.md, User), different for each user of a team. */
function phoneOf(team: PlayedTeam, at: number, random: Random): string {
  const serial = String((team.id * 7_919 + at) % 10_000_000).padStart(7, '0');
  return `${random.pick(['1415', '1212', '4179', '4420', '4930', '8190', '9198', '5411'])}${serial}`;
}
