/**
 * The roster: `GET /v1/team` lists the users, `GET /v1/users/get` returns their values. The second endpoint documents no
 * listing of all users (interface.md, Endpoints, note 1). So the first request has no filter, and some deployments
 * answer it with all users. Further requests look up missing users by address.
 */

import type { Addresses, ComparedUsers } from '../../model/plan.ts';
import type { TeamMember } from '../../model/team-member.ts';
import { canonicalEmail, canonicalPhone } from '../../model/canonical.ts';
import type { Id } from '../../model/id.ts';
import { inTurns } from '../../model/in-turns.ts';
import { toJson } from '../../model/json.ts';
import type { RejectedRow } from '../../model/rejected-row.ts';
import type { UserFilter, UsersAnswer } from '../../model/service-request.ts';
import type { Team } from '../../model/team.ts';
import { readable, type ServiceUser } from '../../model/user.ts';
import { chunks } from '../chunks.ts';
import type { MirrorPort, ServicePort } from '../ports.ts';
import {
  type AddressesToAsk,
  addressesPerRequest,
  askFor,
  filtersOf,
  type Lookup,
  lookUp,
  someMissing,
} from './ask.ts';
import { askForFewer } from './ask-fewer.ts';
import { membersOf, rolesOf } from './members.ts';

export interface Roster {
  /** The users who were read. */
  readonly users: ReadonlyMap<Id, ServiceUser>;
  readonly members: ReadonlyMap<Id, TeamMember>;
  readonly rejected: readonly RejectedRow[];
  /** The users who came twice; `true` if their rows differed. Lookups by address may return the same row again. */
  readonly repeated: ReadonlyMap<Id, boolean>;
  /** Members whom no lookup returned. */
  readonly unresolved: readonly Id[];
  /** The number of addresses that the service refused to look up. */
  readonly refusedLookups: number;
  /** Users that no lookup found, but with an address that the service refused. These users may exist nevertheless. */
  readonly unproven: ReadonlySet<Id>;
}

/** The users who came twice with different rows. The last row counts. */
export const differingOf = (repeated: Roster['repeated']): readonly Id[] =>
  [...repeated].flatMap(([id, differs]) => (differs ? [id] : []));

/** The name of a user to show to people. */
export function nameIn({ users, members }: Pick<Roster, 'users' | 'members'>, id: Id): string {
  return readable(users.get(id)?.name) ?? members.get(id)?.name ?? '';
}

/** Collects the users of answers, without rows of other teams. If a user comes twice, the last row counts. */
export function createUserCollector(teamId: Id, before: readonly RejectedRow[]) {
  const users = new Map<Id, ServiceUser>();
  const rejected: RejectedRow[] = [...before];
  const repeated = new Map<Id, boolean>();
  const take = (answer: UsersAnswer) => {
    rejected.push(...answer.rejected);
    for (const user of answer.users) {
      if (user.teamId !== undefined && user.teamId !== null && user.teamId !== teamId) {
        const reason = `it is of team ${user.teamId}`;
        rejected.push({ resource: 'users', id: user.id, reason, excerpt: '' });
        continue;
      }
      const earlier = users.get(user.id);
      if (earlier !== undefined)
        repeated.set(user.id, repeated.get(user.id) === true || toJson(earlier) !== toJson(user));
      users.set(user.id, user);
    }
  };
  return { users, rejected, repeated, take };
}

/** True if the user has an address that one of these filters contains. */
function hasOneOf({ emails, phones }: Addresses, each: readonly UserFilter[]): boolean {
  const among = new Set(each.flatMap((filter) => [...filter.emails, ...filter.phones]));
  return (
    emails.some((email) => among.has(email.trim())) ||
    phones.some((phone) => among.has(canonicalPhone(phone)))
  );
}

/** Asks again for fewer addresses at a time. Only a user who is still not found counts as unresolved or missing. */
async function findLeftOut(
  service: Lookup,
  tried: readonly AddressesToAsk[],
  to: {
    readonly users: ReadonlyMap<Id, ServiceUser>;
    readonly wanted: () => boolean;
    readonly take: (answer: UsersAnswer) => void;
    readonly refused: readonly UserFilter[];
  },
): Promise<void> {
  const refused = new Set(to.refused.flatMap(({ emails, phones }) => [...emails, ...phones]));
  const all = filtersOf({
    emails: tried.flatMap(({ emails }) => emails),
    phones: tried.flatMap(({ phones }) => phones),
  });
  for (const kind of ['emails', 'phones'] as const) {
    const addresses = all.flatMap((filter) => filter[kind]).filter((address) => !refused.has(address));
    await askForFewer(kind, { addresses, size: addressesPerRequest }, to.users, to.wanted, async (some) => {
      const filter = { emails: [], phones: [], [kind]: some };
      for (const answer of await askFor(service, filter, () => {})) to.take(answer);
    });
  }
}

/** Passes a long answer to `take` in parts, with pauses for other work. */
async function takeInTurns(answer: UsersAnswer, take: (answer: UsersAnswer) => void): Promise<void> {
  take({ ...answer, users: [] });
  await inTurns(chunks(answer.users, 100), (users) => take({ ...answer, users, rejected: [] }));
}

/**
 * Reads all users, and compares them with mirror and base. Compares again if a lookup finds users that the answer lacked.
 * @param everybody one answer with all users of the team; `null` if the service gives users only by address
 */
export async function readRoster(
  service: ServicePort,
  mirror: Pick<MirrorPort, 'compareUsers' | 'readAddresses'>,
  team: Team,
  everybody: UsersAnswer | null,
): Promise<{ readonly roster: Roster; readonly compared: ComparedUsers }> {
  const { users, rejected, repeated, take } = createUserCollector(team.id, team.rejected);
  const members = await membersOf(team);
  const roles = rolesOf(members);
  const refused: UserFilter[] = [];
  const onRefused = (address: UserFilter) => {
    refused.push(address);
  };
  let askedAddresses: readonly Addresses[] = [];
  let readLookups = (): Promise<AddressesToAsk> => Promise.resolve({ emails: [], phones: [] });
  const tried: AddressesToAsk[] = [];
  if (everybody !== null) await takeInTurns(everybody, take);
  const inOneAnswer = new Set(repeated.keys());

  const leftOut: Id[] = [];
  await inTurns(members.keys(), (id) => {
    if (!users.has(id)) leftOut.push(id);
  });
  const first = await mirror.compareUsers({ users, roles, leftOut });
  const wanted = new Set([...first.unseen.map(({ id }) => id), ...leftOut]);
  let isFound = false;
  const takeFound = (answer: UsersAnswer) => {
    isFound ||= answer.users.length > 0;
    take(answer);
  };
  const someWanted = someMissing([...wanted], users);
  if (someWanted()) {
    ({ ofUsers: askedAddresses, others: readLookups } = await mirror.readAddresses([...wanted]));
    const extras = team.members.filter(({ id }) => wanted.has(id));
    const emails = [
      ...askedAddresses.flatMap((addresses) => addresses.emails),
      ...extras.map(({ email }) => email),
    ];
    const phones = [
      ...askedAddresses.flatMap((addresses) => addresses.phones),
      ...extras.map(({ phone }) => phone),
    ];
    tried.push({ emails, phones });
    await lookUp(service, someWanted, { emails, phones }, takeFound, onRefused);
  }
  const someMembersWanted = someMissing(leftOut, users);
  if (someMembersWanted()) {
    const found = new Set(users.values().map(({ email }) => canonicalEmail(readable(email) ?? null)));
    const { emails, phones } = await readLookups();
    const open = emails.filter((email) => !found.has(canonicalEmail(email)));
    tried.push({ emails: open, phones });
    await lookUp(service, someMembersWanted, { emails: open, phones }, takeFound, onRefused);
  }
  const stillWanted = someMissing([...wanted], users);
  await findLeftOut(service, tried, { users, wanted: stillWanted, take: takeFound, refused });
  const unproven = askedAddresses
    .filter((user) => !users.has(user.id) && hasOneOf(user, refused))
    .map(({ id }) => id);
  const roster = {
    users,
    members,
    rejected,
    repeated: new Map([...repeated].filter(([id, differs]) => differs || inOneAnswer.has(id))),
    refusedLookups: refused.length,
    unproven: new Set(unproven),
    unresolved: leftOut.filter((id) => !users.has(id)),
  };
  const compared = isFound ? await mirror.compareUsers({ users, roles, leftOut }) : first;
  return { roster, compared };
}
