/**
 * The service as `musterd verify` reads it: team members, users without a filter and then by address, and the listings,
 * without the memory of earlier runs. This code shares only the client with a run.
 */
import { isRefusal, ServiceError } from '../errors.ts';
import type { Id } from '../model/id.ts';
import { inPlural, type ListedResource, type ListedRow } from '../model/listed-resource.ts';
import { listedResources } from '../model/listed-resources.ts';
import { type Listing, nothingLearned } from '../model/listing.ts';
import type { ListingOptions, UserFilter, UsersAnswer } from '../model/service-request.ts';
import type { Team } from '../model/team.ts';
import type { ServiceUser } from '../model/user.ts';

type ShownUsers = Pick<UsersAnswer, 'users' | 'rejected'>;

/** The reading methods of the client that `verify` needs. */
export interface ReadableService {
  team(): Promise<Team>;
  users(filter: UserFilter): Promise<ShownUsers>;
  list(
    resource: ListedResource,
    options: Pick<ListingOptions, 'memory' | 'size'>,
  ): Promise<Listing<ListedRow>>;
}

export interface ServiceAddress {
  /** The user who has the address; `null` if unknown. */
  readonly id: Id | null;
  readonly email: string | null;
  readonly phone: string | null;
}

/** The service's side of the comparison. A part that could not be read is `null`, and `unread` gives the reason. */
export interface ServiceSnapshot {
  readonly team: Team;
  readonly users: ReadonlyMap<Id, ServiceUser> | null;
  /** The rows of the listings by resource, without listings that could not be read at all. */
  readonly listed: ReadonlyMap<string, readonly ListedRow[]>;
  /** The parts that were read to their end: `users`, or a resource. Only in these can a row count as missing. */
  readonly complete: ReadonlySet<string>;
  /** Resources for which the service has no listing. */
  readonly notOffered: ReadonlySet<string>;
  /** The parts that could not be read to their end, in words. */
  readonly unread: readonly string[];
  /** Ids that occur more than once in one answer. */
  readonly repeated: readonly { readonly resource: string; readonly id: Id }[];
}

/** The most addresses of one kind in one request. */
const addressesAtOnce = 50;

/** The combined result of all answers of `users/get`. */
function createCollected(teamId: Id) {
  const users = new Map<Id, ServiceUser>();
  const unread: string[] = [];
  const repeated = new Set<Id>();
  return {
    users,
    unread,
    repeated,
    take: (answer: ShownUsers) => {
      const inAnswer = new Set<Id>();
      for (const user of answer.users) {
        if (inAnswer.has(user.id)) repeated.add(user.id);
        inAnswer.add(user.id);
        if ((user.teamId ?? teamId) === teamId) users.set(user.id, user);
        else unread.push(`users: ${user.id} is answered as of team ${user.teamId}`);
      }
      for (const { id, reason } of answer.rejected)
        unread.push(`users: a row${id === null ? '' : ` (${id})`} could not be taken: ${reason}`);
    },
  };
}

type Collected = ReturnType<typeof createCollected>;

/** Asks for these addresses at once. If the request is refused, asks for each alone, and leaves out refused addresses. */
async function ask(
  service: ReadableService,
  kind: 'emails' | 'phones',
  values: readonly string[],
  collected: Collected,
): Promise<void> {
  try {
    collected.take(await service.users({ emails: [], phones: [], [kind]: values }));
  } catch (error) {
    if (!isRefusal(error)) throw error;
    if (values.length > 1) for (const value of values) await ask(service, kind, [value], collected);
  }
}

/** The search by a kind of address ends if this many first requests of the round find no user. */
const mostInVain = 2;

/**
 * Some services answer for a limited number of addresses and leave other users out. Users who are left out are asked for
 * again, with half as many addresses at a time, down to one. This ends with the first round that finds no user.
 */
async function askForFewer(
  service: ReadableService,
  kind: 'emails' | 'phones',
  stillOpen: () => readonly string[],
  collected: Collected,
): Promise<void> {
  const { users } = collected;
  for (let atOnce = addressesAtOnce; atOnce > 1; ) {
    const before = users.size;
    const values = stillOpen();
    atOnce = Math.ceil(Math.min(atOnce, values.length) / 2);
    for (let from = 0; from < values.length; from += atOnce) {
      if (users.size === before && from >= mostInVain * atOnce) return;
      await ask(service, kind, values.slice(from, from + atOnce), collected);
    }
    if (users.size === before) return;
  }
}

async function readUsers(
  service: ReadableService,
  team: Team,
  addresses: readonly ServiceAddress[],
): Promise<Collected> {
  const collected = createCollected(team.id);
  const { users } = collected;
  try {
    collected.take(await service.users({ emails: [], phones: [] }));
  } catch (error) {
    if (!isRefusal(error)) throw error;
  }
  const { members } = team;
  const open = [...addresses, ...members].filter(({ id }) => id === null || !users.has(id));
  for (const kind of ['emails', 'phones'] as const) {
    const addressOf = ({ email, phone }: ServiceAddress) =>
      kind === 'emails' ? (email?.trim() ?? '') : (phone ?? '').replace(/\D/g, '');
    // Addresses of no known user are asked for only if a member of the team has not been found yet.
    const someOpen = members.some(({ id }) => !users.has(id));
    const addressesOf = (wanted: readonly ServiceAddress[]) =>
      [...new Set(wanted.map(addressOf))].filter((value) => value !== '');
    const values = addressesOf(open.filter(({ id }) => (id === null ? someOpen : !users.has(id))));
    for (let from = 0; from < values.length; from += addressesAtOnce)
      await ask(service, kind, values.slice(from, from + addressesAtOnce), collected);
    const stillOpen = () => addressesOf(open.filter(({ id }) => id !== null && !users.has(id)));
    await askForFewer(service, kind, stillOpen, collected);
  }
  return collected;
}

/** Reads one part. If it fails, other parts are still read, but refused credentials end the whole reading. */
async function attempt<R>(part: string, unread: string[], work: () => Promise<R>): Promise<R | null> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code === 'credentials') throw error;
    unread.push(`${part}: ${error.message}`);
    return null;
  }
}

function noteListing<Row>(part: string, listing: Listing<Row> | null, unread: string[]): boolean {
  if (listing?.status === 'incomplete') unread.push(`${part}: ${listing.because}`);
  return listing?.status === 'complete';
}

export async function readService(
  service: ReadableService,
  team: Team,
  addresses: readonly ServiceAddress[],
  pages: { readonly size?: number | undefined },
): Promise<ServiceSnapshot> {
  const unread: string[] = [];
  const complete = new Set<string>();
  for (const { reason } of team.rejected) unread.push(`team: a member could not be taken: ${reason}`);
  const listed = new Set<Id>();
  const repeated: { resource: string; id: Id }[] = [];
  for (const { id } of team.members) {
    if (listed.has(id)) repeated.push({ resource: 'team members', id });
    listed.add(id);
  }
  const users = await attempt('users', unread, () => readUsers(service, team, addresses));
  if (users !== null) {
    unread.push(...users.unread);
    repeated.push(...users.repeated.values().map((id) => ({ resource: 'users', id })));
    if (users.unread.length + team.rejected.length === 0) complete.add('users');
  }
  const options = { memory: nothingLearned, size: pages.size };
  const rows = new Map<string, readonly ListedRow[]>();
  const notOffered = new Set<string>();
  for (const resource of listedResources) {
    const { name } = resource;
    const words = inPlural(resource);
    const listing = await attempt(words, unread, () => service.list(resource, options));
    if (listing?.status === 'complete' && !listing.isOffered) {
      notOffered.add(name);
      continue;
    }
    if (listing !== null) rows.set(name, listing.rows);
    if (noteListing(words, listing, unread)) complete.add(name);
  }
  return {
    team,
    users: users?.users ?? null,
    listed: rows,
    complete,
    notOffered,
    unread,
    repeated,
  };
}
