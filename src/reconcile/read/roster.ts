/**
 * The roster: `GET /v1/team` says who exists, `GET /v1/users/get` what they look like. That endpoint has
 * no listing of its own (interface.md, Endpoints, note 1): it is asked without a filter once, which not
 * every deployment answers, and then by address for whoever it left out.
 */
import type { KnownUsers, UserFilter, UsersAnswer } from '../../model/service-request.ts';
import { ServiceError } from '../../errors.ts';
import { canonicalEmail, canonicalPhone } from '../../model/canonical.ts';
import type { Id } from '../../model/id.ts';
import { inTurns } from '../../model/in-turns.ts';
import type { NotedRows } from '../../model/known-rows.ts';
import type { RejectedRow } from '../../model/listing.ts';
import type { Team, TeamMember } from '../../model/team.ts';
import { type Addresses, readable, type ServiceUser } from '../../model/user.ts';
import { askForFewer } from './ask-fewer.ts';
import { chunks } from '../chunks.ts';
import { indexMembers, membersOf } from './members.ts';
import type { RunNotes } from '../run-notes.ts';
import type { MirrorPort, ServicePort } from '../ports.ts';

export interface Roster {
  /** Those who were read: everybody, or whoever can differ from what is known of them. */
  readonly users: ReadonlyMap<Id, ServiceUser>;
  /** How many are shown. */
  readonly shown: number;
  /** The rows of the answer, where everybody was in one and they can be known again. */
  readonly noted?: NotedRows | undefined;
  /** Of the answer, where everybody was in one; left out: nobody knows what others would have said. */
  readonly digest?: string | undefined;
  readonly members: ReadonlyMap<Id, TeamMember>;
  readonly rejected: readonly RejectedRow[];
  /** Members whom no lookup answered. */
  readonly unresolved: readonly Id[];
  /** Addresses that the service would not look up. */
  readonly refusedLookups: number;
  /** Users with such an address, who were not found by another: they may be there all the same. */
  readonly unproven: ReadonlySet<Id>;
}

/** The name under which people are shown a user. */
export function nameIn({ users, members }: Pick<Roster, 'users' | 'members'>, id: Id): string {
  return readable(users.get(id)?.name) ?? members.get(id)?.name ?? '';
}

/** Addresses asked for in one request; the largest body that the service takes is not documented. */
const addressesPerRequest = 100;

/** Whether the service turned the request itself down, as opposed to us or to the moment. */
export function isRefusal(error: unknown): error is ServiceError {
  if (!(error instanceof ServiceError) || error.status === undefined) return false;
  return (
    error.status >= 400 && error.status < 500 && ![401, 403, 408, 409, 423, 425, 429].includes(error.status)
  );
}

/** What a lookup needs of the service. */
export type Lookup = Pick<ServicePort, 'users'>;

/** As they are known here; `null`: none. */
export interface Asked {
  readonly emails: readonly (string | null)[];
  readonly phones: readonly (string | null)[];
}

const noUsers: UsersAnswer = { users: [], rejected: [], requestId: null };

/** Asks for addresses of one kind; one that the service turns down costs the others nothing. */
async function askFor(
  service: Lookup,
  filter: UserFilter,
  onRefused: (address: UserFilter) => void,
): Promise<readonly UsersAnswer[]> {
  try {
    return [await service.users(filter)];
  } catch (error) {
    if (!isRefusal(error)) throw error;
    if (filter.emails.length + filter.phones.length === 1) {
      onRefused(filter);
      return [noUsers];
    }
    const answers: UsersAnswer[] = [];
    for (const half of halve(filter)) answers.push(...(await askFor(service, half, onRefused)));
    return answers;
  }
}

function halve({ emails, phones }: UserFilter): readonly UserFilter[] {
  const size = Math.ceil((emails.length + phones.length) / 2);
  return [
    ...chunks(emails, size).map((half) => ({ emails: half, phones: [] })),
    ...chunks(phones, size).map((half) => ({ emails: [], phones: half })),
  ];
}

/** Each form once. */
function distinct(
  values: readonly (string | null)[],
  canonical: (value: string) => string,
): readonly string[] {
  const byForm = new Map(
    values.filter((value) => value !== null).map((value) => [canonical(value), value.trim()]),
  );
  byForm.delete('');
  return [...byForm.values()];
}

/** Tells whether one of them is not among the users yet, who only ever become more: nobody is looked for twice. */
export function someMissing(wanted: readonly Id[], users: ReadonlyMap<Id, unknown>): () => boolean {
  let found = 0;
  return () => {
    for (let id = wanted[found]; id !== undefined && users.has(id); id = wanted[found]) found += 1;
    return found < wanted.length;
  };
}

/** One request each: emails first. */
function filtersOf(addresses: Asked): readonly UserFilter[] {
  // Every spelling of an email is asked for: not every deployment finds it in another case than its own.
  const emails = distinct(addresses.emails, (email) => email.trim());
  const phones = distinct(addresses.phones, canonicalPhone).map(canonicalPhone);
  return [
    ...chunks(emails, addressesPerRequest).map((chunk) => ({ emails: chunk, phones: [] })),
    ...chunks(phones, addressesPerRequest).map((chunk) => ({ emails: [], phones: chunk })),
  ];
}

/** How many requests `readBack` takes to find these users, where each is answered for by its addresses. */
export function countLookups(
  users: readonly { readonly email: string | null; readonly phone: string | null }[],
): number {
  const filters = filtersOf({
    emails: users.map(({ email }) => email),
    phones: users.map(({ phone }) => phone),
  });
  let wanted = users;
  let requests = 0;
  for (const { emails, phones } of filters) {
    if (wanted.length === 0) break;
    requests += 1;
    const found = new Set([...emails, ...phones]);
    wanted = wanted.filter(
      ({ email, phone }) => !found.has(email?.trim() ?? '') && !found.has(canonicalPhone(phone ?? '')),
    );
  }
  return wanted.length === 0 ? requests : requests + 1;
}

/** Looks users up by address, emails first, until everyone wanted is found. */
export async function lookUp(
  service: Lookup,
  wanted: () => boolean,
  addresses: Asked,
  take: (answer: UsersAnswer) => void,
  onRefused: (address: UserFilter) => void,
): Promise<void> {
  for (const filter of filtersOf(addresses)) {
    if (!wanted()) return;
    for (const answer of await askFor(service, filter, onRefused)) take(answer);
  }
}

/** Everyone at once, where the deployment answers that; nobody where it refuses. */
export async function askForAll(service: Lookup, known?: KnownUsers): Promise<UsersAnswer> {
  try {
    return await service.users({ emails: [], phones: [] }, known);
  } catch (error) {
    if (isRefusal(error)) return noUsers;
    throw error;
  }
}

/** Takes the users of answers. Rows of other teams are set aside with those that cannot be read. */
export function createTaking(teamId: Id, before: readonly RejectedRow[]) {
  const users = new Map<Id, ServiceUser>();
  const rejected: RejectedRow[] = [...before];
  const take = (answer: UsersAnswer) => {
    rejected.push(...answer.rejected);
    for (const user of answer.users) {
      if (user.teamId !== undefined && user.teamId !== null && user.teamId !== teamId) {
        const reason = `it is of team ${user.teamId}`;
        rejected.push({ resource: 'users', id: user.id, reason, excerpt: '' });
      } else users.set(user.id, user);
    }
  };
  return { users, rejected, take };
}

export function noteRefused(addresses: number, notes: RunNotes): void {
  if (addresses > 0)
    notes.warn(`the service does not take ${addresses} of the addresses to look users up by`);
}

/** Whether one of these addresses, each a filter of its own, is the user's. */
function hasOneOf({ emails, phones }: Addresses, each: readonly UserFilter[]): boolean {
  const among = new Set(each.flatMap((one) => [...one.emails, ...one.phones]));
  return (
    emails.some((email) => among.has(email.trim())) ||
    phones.some((phone) => among.has(canonicalPhone(phone)))
  );
}

/** Asks for fewer addresses at a time before anybody is called unresolved or missing. */
async function findLeftOut(
  service: Lookup,
  tried: readonly Asked[],
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

/** A long answer, so that others have their turn meanwhile. */
async function takeInTurns(answer: UsersAnswer, take: (answer: UsersAnswer) => void): Promise<void> {
  take({ ...answer, users: [] });
  await inTurns(chunks(answer.users, 100), (users) => take({ ...answer, users, rejected: [] }));
}

/** Of an answer that shows those who are known, of whom those alone were read who are new. */
function rosterOfNews(team: Team, answer: UsersAnswer): Roster {
  const { users, take } = createTaking(team.id, []);
  take(answer);
  return {
    users,
    shown: answer.noted?.length ?? users.size,
    noted: answer.noted,
    digest: answer.digest,
    members: membersOf(team),
    rejected: [],
    refusedLookups: 0,
    unproven: new Set(),
    unresolved: [],
  };
}

export async function readRoster(
  service: ServicePort,
  mirror: MirrorPort,
  team: Team,
  notes: RunNotes,
  first?: UsersAnswer,
): Promise<Roster> {
  await indexMembers(team);
  if (first?.changed !== undefined) return rosterOfNews(team, first);
  const { users, rejected, take } = createTaking(team.id, team.rejected);
  const members = membersOf(team);
  const refused: UserFilter[] = [];
  const onRefused = (address: UserFilter) => {
    refused.push(address);
  };
  let asked: readonly Addresses[] = [];
  const tried: Asked[] = [];
  const everybody = first ?? (await askForAll(service));
  await takeInTurns(everybody, take);

  const known = await mirror.readUnseenUsers([...users.keys()], [...members.keys()]);
  const wanted = new Set(known.map(({ id }) => id).filter((id) => !users.has(id)));
  const leftOut: Id[] = [];
  await inTurns(members.keys(), (id) => {
    if (users.has(id)) return;
    wanted.add(id);
    leftOut.push(id);
  });
  const someWanted = someMissing([...wanted], users);
  if (someWanted()) {
    asked = await mirror.readAddresses([...wanted]);
    const extras = team.members.filter(({ id }) => wanted.has(id));
    const emails = [...asked.flatMap((of) => of.emails), ...extras.map(({ email }) => email)];
    const phones = [...asked.flatMap((of) => of.phones), ...extras.map(({ phone }) => phone)];
    tried.push({ emails, phones });
    await lookUp(service, someWanted, { emails, phones }, take, onRefused);
  }
  const someMembersWanted = someMissing(leftOut, users);
  if (someMembersWanted()) {
    const found = new Set(users.values().map(({ email }) => canonicalEmail(readable(email) ?? null)));
    const { emails, phones } = await mirror.readLookups();
    const open = emails.filter((email) => !found.has(canonicalEmail(email)));
    tried.push({ emails: open, phones });
    await lookUp(service, someMembersWanted, { emails: open, phones }, take, onRefused);
  }
  await findLeftOut(service, tried, { users, wanted: someMissing([...wanted], users), take, refused });
  noteRefused(refused.length, notes);
  const unproven = asked.filter((of) => !users.has(of.id) && hasOneOf(of, refused)).map(({ id }) => id);
  return {
    users,
    shown: users.size,
    ...(wanted.size === 0 ? { digest: everybody.digest, noted: everybody.noted } : {}),
    members,
    rejected,
    refusedLookups: refused.length,
    unproven: new Set(unproven),
    unresolved: leftOut.filter((id) => !users.has(id)),
  };
}

/** The users with these addresses, by id. */
export async function readBack(
  service: ServicePort,
  addresses: Asked,
  wanted: readonly Id[],
): Promise<ReadonlyMap<Id, ServiceUser>> {
  const users = new Map<Id, ServiceUser>();
  const take = (answer: UsersAnswer) => {
    for (const user of answer.users) users.set(user.id, user);
  };
  const someWanted = someMissing(wanted, users);
  await lookUp(service, someWanted, addresses, take, () => {});
  if (someWanted()) take(await askForAll(service));
  return users;
}
