/** Looks up users for a run that reads only some users, in several steps until each is found. */
import { canonicalPhone } from '../../model/canonical.ts';
import type { Id } from '../../model/id.ts';
import type { Addresses } from '../../model/plan.ts';
import type { Team } from '../../model/team.ts';
import type { MirrorPort, ServicePort } from '../ports.ts';
import { type AddressesToAsk, type Lookup, lookUp, noUsers, readEverybody, someMissing } from './ask.ts';
import { membersOf } from './members.ts';
import { createUserCollector, type Roster } from './roster.ts';

export interface UserLookup {
  /** The users found so far, including users who were not asked for. It grows. */
  readonly roster: Roster;
  /** Looks users up by these addresses, then by their other known addresses, then among all users, until each is found. */
  find(wanted: readonly Addresses[]): Promise<void>;
  /** Looks up all of these addresses, so that every user who has one of them is found. */
  askAll(addresses: AddressesToAsk): Promise<void>;
}

/** The service to look users up on, and the mirror, which has their addresses. */
export interface UserSources {
  readonly service: ServicePort;
  readonly mirror: Pick<MirrorPort, 'readAddresses'>;
}

/** Looks up each address only once, except that a refused request is repeated in two halves. */
export async function createUserLookup({ service, mirror }: UserSources, team: Team): Promise<UserLookup> {
  const { users, rejected, repeated, take } = createUserCollector(team.id, []);
  const members = await membersOf(team);
  const askedFor = new Set<string>();
  let hasAskedForAll = false;
  let refusedLookups = 0;
  const onRefused = () => {
    refusedLookups += 1;
  };
  const noting: Lookup = {
    users: (filter) => {
      for (const address of [...filter.emails, ...filter.phones]) askedFor.add(address);
      return service.users(filter);
    },
  };
  const lookUpNew = async ({ emails, phones }: AddressesToAsk, wanted: () => boolean) => {
    const unasked = {
      emails: emails.filter((email) => !askedFor.has((email ?? '').trim())),
      phones: phones.filter((phone) => !askedFor.has(canonicalPhone(phone))),
    };
    await lookUp(noting, wanted, unasked, take, onRefused);
  };
  /** Looks users up by every address in mirror, base, holds, pushes and team list, then by `mirror.user_lookups`. */
  const lookUpKnown = async (ids: readonly Id[], wanted: () => boolean) => {
    const { ofUsers, others } = await mirror.readAddresses(ids);
    const listed = ids.map((id) => members.get(id));
    const known = {
      emails: [...ofUsers.flatMap(({ emails }) => emails), ...listed.map((member) => member?.email ?? null)],
      phones: [...ofUsers.flatMap(({ phones }) => phones), ...listed.map((member) => member?.phone ?? null)],
    };
    await lookUpNew(known, wanted);
    if (wanted()) await lookUpNew(await others(), wanted);
  };
  const roster: Roster = {
    users,
    members,
    rejected,
    repeated,
    get refusedLookups() {
      return refusedLookups;
    },
    unresolved: [],
    unproven: new Set(),
  };
  return {
    roster,
    find: async (wanted) => {
      const ids = wanted.map(({ id }) => id);
      const someWanted = someMissing(ids, users);
      const first = {
        emails: wanted.flatMap(({ emails }) => emails),
        phones: wanted.flatMap(({ phones }) => phones),
      };
      await lookUpNew(first, someWanted);
      if (!someWanted()) return;
      await lookUpKnown(
        ids.filter((id) => !users.has(id)),
        someWanted,
      );
      if (!someWanted() || hasAskedForAll) return;
      hasAskedForAll = true;
      take((await readEverybody(service)) ?? noUsers);
    },
    askAll: (addresses) => lookUpNew(addresses, () => true),
  };
}
