/** Users looked up in several steps, for a run that does not read the whole roster. */
import { canonicalPhone } from '../../model/canonical.ts';
import type { Id } from '../../model/id.ts';
import type { RejectedRow } from '../../model/rejected-row.ts';
import type { ServiceUser } from '../../model/user.ts';
import type { ServicePort } from '../ports.ts';
import { type AddressesToAsk, type Lookup, lookUp, noUsers, readEverybody, someMissing } from './ask.ts';
import { createUserCollector } from './roster.ts';

export interface UserLookup {
  /** All users in the answers so far, including those who were not asked for. */
  readonly users: ReadonlyMap<Id, ServiceUser>;
  readonly rejected: readonly RejectedRow[];
  readonly repeated: ReadonlyMap<Id, boolean>;
  /** The number of addresses that the service refused to look up. */
  readonly refusedLookups: number;
  /** Asks by these addresses until these users are found. */
  find(wanted: readonly Id[], addresses: AddressesToAsk): Promise<void>;
  /** Asks by all of these addresses, and so finds everybody who has one. */
  askAll(addresses: AddressesToAsk): Promise<void>;
}

/** No address is asked for twice, unless a request was refused and is cut in two. */
export function createUserLookup(service: ServicePort, teamId: Id): UserLookup {
  const { users, rejected, repeated, take } = createUserCollector(teamId, []);
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
  return {
    users,
    rejected,
    repeated,
    get refusedLookups() {
      return refusedLookups;
    },
    find: async (wanted, addresses) => {
      const someWanted = someMissing(wanted, users);
      await lookUpNew(addresses, someWanted);
      if (!someWanted() || hasAskedForAll) return;
      hasAskedForAll = true;
      take((await readEverybody(service)) ?? noUsers);
    },
    askAll: (addresses) => lookUpNew(addresses, () => true),
  };
}
