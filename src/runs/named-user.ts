/** Finds the user and the field that a command names. */
import { MusterdError } from '../errors.ts';
import { type FoundUser, findUsers } from '../mirror/users/find-user.ts';
import { readTeamId } from '../mirror/team/pinned-teams.ts';
import { columnOf, type Field, fields } from '../model/fields.ts';
import { readUserQuery } from '../mirror/users/user-query.ts';
import type { Id } from '../model/id.ts';
import { requireSchema, type Setup } from './open.ts';
import { printable } from '../model/in-words.ts';

/** The most users that an error lists. */
const mostShown = 20;

type Listed = Pick<FoundUser, 'id' | 'name'> & Partial<FoundUser>;

/** An error that lists the users that the person could have meant. */
export function refuse(words: string, hint: string, found: readonly Listed[]): MusterdError {
  const lines = found.slice(0, mostShown).map(({ id, name, email, phone, gone }) => {
    const addresses = email === undefined ? [] : [email ?? '–', phone ?? '–'];
    return printable([id, name, ...addresses, gone === true ? '(gone)' : ''].join('  ')).trimEnd();
  });
  if (found.length > mostShown) lines.push(`… and ${found.length - mostShown} more`);
  return new MusterdError('usage', words, { hint: [hint, ...lines].join('\n  ') });
}

/** The only user that matches in full; `undefined` if none does. @throws MusterdError `usage` if several users match */
export function theOnly<User extends Listed>(userText: string, all: readonly User[]): User | undefined {
  const found = all.filter(({ isPart }) => isPart !== true);
  if (found.length < 2) return found[0];
  const words = `${found.length} users match "${printable(userText)}"`;
  throw refuse(words, 'Did you mean one of these? Name one by the id:', found);
}

/** The error for a text that matches no user in full. @param near users that match in part */
export function nobodyAnswers(userText: string, near: readonly FoundUser[] = []): MusterdError {
  const hint =
    near.length === 0
      ? 'Give an id, an email, a phone number or a whole name.'
      : 'Did you mean one of these? Name one by the id:';
  return refuse(`No user matches "${printable(userText)}"`, hint, near);
}

/** @throws MusterdError `usage` before the first run of the team */
export async function requireTeamId({ config, mirror }: Setup): Promise<Id> {
  await requireSchema(mirror.db);
  const teamId = await readTeamId(mirror.db.kysely, config.team);
  if (teamId !== null) return teamId;
  throw new MusterdError('usage', `Nothing is known of team "${config.team}" yet`, {
    hint: 'Run "musterd reconcile" first. If a run has ended, mirror.team_roles has no row for your login.',
  });
}

/** @throws MusterdError `usage` if no user or several match */
export async function requireUser(
  { mirror }: Pick<Setup, 'mirror'>,
  teamId: Id,
  userText: string,
): Promise<FoundUser> {
  const all = await findUsers(mirror.db.kysely, teamId, readUserQuery(userText));
  const found = theOnly(userText, all);
  if (found === undefined) throw nobodyAnswers(userText, all);
  return found;
}

/** @throws MusterdError `usage` */
export function readField(text: string): Field {
  const field = fields.find((candidate) => columnOf(candidate) === text);
  if (field !== undefined) return field;
  throw new MusterdError('usage', `"${printable(text)}" is not a field you can write`, {
    hint: `Give one of ${fields.map(columnOf).join(', ')}.`,
  });
}
