import { describe, expect, it } from 'vitest';
import { isRefusal, ServiceError } from '../../src/errors.ts';
import type { UserState } from '../../src/model/user-state.ts';
import type { Id } from '../../src/model/id.ts';
import type { Team } from '../../src/model/team.ts';
import type { TeamMember } from '../../src/model/team-member.ts';
import type { UserFilter } from '../../src/model/service-request.ts';
import type { ServiceUser } from '../../src/model/user.ts';
import { createRunNotes } from '../../src/reconcile/run-notes.ts';
import { readEverybody } from '../../src/reconcile/read/ask.ts';
import { createUserLookup } from '../../src/reconcile/read/lookup.ts';
import { readRoster } from '../../src/reconcile/read/roster.ts';
import { turnsAtEachLook } from '../support/turns.ts';
import { createMirrorStandIn, type MirrorStandIn } from './mirror-stand-in.ts';
import { answeringBy, createServiceStandIn, refusal, type ServiceStandIn } from './service-stand-in.ts';
import { makeState, member, teamOf } from './states.ts';

const addressesOf = (id: Id) => [`user${id}@example.com`, `1555010${id}`] as const;

const makeUser = (id: Id, given: Partial<ServiceUser> = {}): ServiceUser => ({
  id,
  name: `User ${id}`,
  email: addressesOf(id)[0],
  phone: addressesOf(id)[1],
  roleId: 3n,
  teamId: 1n,
  raw: {},
  ...given,
});

const users: readonly ServiceUser[] = [1n, 2n, 3n, 4n, 5n].map((id) => makeUser(id));

const listing = (ids: readonly Id[], extras: Partial<TeamMember> = {}): Team =>
  teamOf(ids.map((id) => ({ ...member, id, name: `User ${id}`, ...extras })));
const team = listing([1n, 2n, 3n, 4n, 5n]);

/** Mirror and base know the user by these addresses. */
const known = (id: Id, given: { email?: string | null; phone?: string | null } = {}): UserState => {
  const [email, phone] = addressesOf(id);
  const values = { email, phone, ...given };
  return { ...makeState({ base: values, mirror: values, service: null }), id };
};

async function read(service: ServiceStandIn, mirror: MirrorStandIn = createMirrorStandIn([]), of = team) {
  const notes = createRunNotes();
  const { roster, compared } = await readRoster(service, mirror, of, await readEverybody(service));
  return { roster, compared, notes, found: [...roster.users.keys()].toSorted((a, b) => Number(a - b)) };
}

describe('isRefusal', () => {
  const others = [200, 301, 401, 403, 408, 409, 423, 425, 429, 500, 502, 503, 504];
  const refusals = [400, 404, 405, 413, 422];

  it.each([...refusals, ...others])('returns true for 400, 404, 405, 413 and 422 only: %i', (status) => {
    const error = new ServiceError('', { operation: 'GET /', phase: 'answered', status });
    expect(isRefusal(error)).toBe(refusals.includes(status));
  });

  it('returns false for an error that is not a ServiceError with a status', () => {
    expect(isRefusal(Object.assign(new Error('400'), { status: 400 }))).toBe(false);
    expect(isRefusal(undefined)).toBe(false);
    expect(isRefusal(new ServiceError('', { operation: 'GET /', phase: 'answered' }))).toBe(false);
  });
});

describe('readRoster after the request for all users', () => {
  it.each(['none', 'refuse', 2] as const)(
    'looks users up by address if a request without a filter returns: %s',
    async (unfiltered) => {
      const service = createServiceStandIn(users);
      service.unfiltered = unfiltered;
      const mirror = createMirrorStandIn([1n, 2n, 3n, 4n, 5n].map((id) => known(id)));
      const { roster, compared, found } = await read(service, mirror);
      expect(found).toEqual([1n, 2n, 3n, 4n, 5n]);
      expect(roster.unresolved).toEqual([]);
      // Whoever was found by address is compared like the others.
      expect([compared.differing.length, compared.unseen]).toEqual([5, []]);
      const asked = service.filters[1]?.emails ?? [];
      expect(asked).toHaveLength(unfiltered === 2 ? 3 : 5);
      // Everybody was found by email, so nobody is asked for by phone.
      expect(service.filters).toHaveLength(2);
    },
  );

  it.each([401, 403, 429, 500])('fails if a request without a filter gets a %i', async (status) => {
    const service = createServiceStandIn(users);
    const failing = answeringBy(service, () => Promise.reject(refusal(status)));
    await expect(read(failing)).rejects.toMatchObject({ status });
  });
});

describe('readRoster of members that only a lookup by address shows', () => {
  const closed = (): ServiceStandIn =>
    Object.assign(createServiceStandIn(users), { unfiltered: 'none' as const });

  it('looks members up by email, and by phone if they are still missing', async () => {
    const service = closed();
    const mirror = createMirrorStandIn([
      known(1n),
      known(2n, { email: 'moved@example.com', phone: '+1 (555) 0102' }),
    ]);
    const { found } = await read(service, mirror, listing([1n, 2n]));
    expect(found).toEqual([1n, 2n]);
    expect(service.filters.slice(1)).toEqual([
      { emails: ['user1@example.com', 'moved@example.com'], phones: [] },
      { emails: [], phones: ['15550101', '15550102'] },
    ]);
  });

  it('looks members up by addresses of the team listing first, and by mirror.user_lookups last', async () => {
    const service = closed();
    const mirror = createMirrorStandIn([]);
    mirror.lookups = { emails: ['user1@example.com', 'USER2@example.com'], phones: ['15550103'] };
    const listed = listing([1n], { email: 'user1@example.com', phone: null });
    const of = { ...listed, members: [...listed.members, ...listing([2n, 3n]).members] };
    const { found } = await read(service, mirror, of);
    expect(found).toEqual([1n, 2n, 3n]);
    expect(service.filters.slice(1)).toEqual([
      { emails: ['user1@example.com'], phones: [] },
      { emails: ['USER2@example.com'], phones: [] },
      { emails: [], phones: ['15550103'] },
    ]);
  });

  it('leaves members unresolved without a further request if their addresses are unknown (A2)', async () => {
    const service = closed();
    const { roster, notes } = await read(service);
    expect(roster.unresolved).toEqual([1n, 2n, 3n, 4n, 5n]);
    expect(service.filters).toHaveLength(1);
    expect(notes.reasons).toEqual([]);
  });

  it('looks members up by every known spelling of an email, since some services match case', async () => {
    const user = makeUser(1n, { phone: '' });
    const service = Object.assign(createServiceStandIn([user]), { unfiltered: 'none' as const });
    service.exactEmails = true;
    const agreed = known(1n, { phone: null });
    const pending = { ...agreed, mirror: { ...agreed.mirror, email: 'User1@example.com' } } as UserState;
    const { found } = await read(service, createMirrorStandIn([pending]), listing([1n]));
    expect(found).toEqual([1n]);
    expect(service.filters[1]?.emails).toEqual(['user1@example.com', 'User1@example.com']);
  });

  describe('answers that are cut short', () => {
    /** A deployment that answers for so many users at once. */
    const capped = (count: number, cap: number) => {
      const many = Array.from({ length: count }, (_, i) => makeUser(BigInt(i + 1), { phone: '' }));
      const service = Object.assign(createServiceStandIn(many), { unfiltered: 'none' as const });
      const { users: answer } = service;
      service.users = async (filter) => {
        const found = await answer(filter);
        return { ...found, users: found.users.slice(0, cap) };
      };
      const ids = many.map(({ id }) => id);
      return { service, ids, mirror: createMirrorStandIn(ids.map((id) => known(id, { phone: null }))) };
    };

    it.each([1, 7, 30, 99])('finds all members if an answer has at most %i users', async (cap) => {
      const { service, ids, mirror } = capped(150, cap);
      const { roster, found } = await read(service, mirror, listing(ids));
      expect(found).toEqual(ids);
      expect(roster.unresolved).toEqual([]);
      expect(service.filters.length).toBeLessThan(4 + (4 * 150) / cap);
    });

    it('makes only two more requests for missing users if no answer is cut short', async () => {
      const { service, ids, mirror } = capped(400, 1000);
      service.hidden = new Set(ids.filter((id) => id % 3n === 0n));
      const { roster } = await read(service, mirror, listing(ids));
      expect(roster.unresolved).toHaveLength(service.hidden.size);
      expect(service.filters.slice(1).map(({ emails }) => emails.length)).toEqual([
        100, 100, 100, 100, 50, 50,
      ]);
    });
  });
});

describe('an address that the service refuses', () => {
  it('makes the lookup halve its requests to find the address, and read the users of all other addresses', async () => {
    const many = Array.from({ length: 16 }, (_, i) => makeUser(BigInt(i + 1)));
    const service = Object.assign(createServiceStandIn(many), { unfiltered: 'none' as const });
    service.refusesAddress = (address) => address === 'user11@example.com' || address === '155501011';
    const mirror = createMirrorStandIn(many.map(({ id }) => known(id)));
    const { roster, notes } = await read(service, mirror, listing(many.map(({ id }) => id)));
    expect(roster.unresolved).toEqual([11n]);
    expect(roster.refusedLookups).toBe(2);
    expect(notes.reasons).toEqual([]);
    // No filter, then 16 addresses of either kind: one of each is found in 1 + 2 * 4 requests.
    expect(service.filters).toHaveLength(1 + 9 + 9);
    expect(service.filters.filter(({ emails, phones }) => emails.length > 0 && phones.length > 0)).toEqual(
      [],
    );
  });
});

describe('a user whom the service gives twice', () => {
  const all = [1n, 2n, 3n, 4n, 5n].map((id) => known(id));
  const readTwice = async (unfiltered: ServiceStandIn['unfiltered'], given: Partial<ServiceUser>) => {
    const service = Object.assign(createServiceStandIn(users), { unfiltered });
    const answer = async (filter: UserFilter) => {
      const { users: some, ...rest } = await service.users(filter);
      return {
        ...rest,
        users: some.flatMap((user) => (user.id === 2n ? [user, { ...user, ...given }] : [user])),
      };
    };
    const { roster } = await read(answeringBy(service, answer), createMirrorStandIn(all));
    return [roster.users.get(2n)?.phone, [...roster.repeated]];
  };

  it('appears in the roster with the last row, whether both rows come in one answer or in two answers', async () => {
    expect(await readTwice('all', { phone: '15550199' })).toEqual(['15550199', [[2n, true]]]);
    expect(await readTwice('none', { phone: '15550199' })).toEqual(['15550199', [[2n, true]]]);
  });

  it('appears in roster.repeated for two equal rows if all users were requested, not after lookups by address', async () => {
    expect(await readTwice('all', {})).toEqual([addressesOf(2n)[1], [[2n, false]]]);
    expect(await readTwice('none', {})).toEqual([addressesOf(2n)[1], []]);
  });
});

describe('rows of users', () => {
  it('rejects rows of another team, and keeps them out of the roster', async () => {
    const service = createServiceStandIn([makeUser(1n), makeUser(2n, { teamId: 77n })]);
    const { roster, found } = await read(service, createMirrorStandIn([]), listing([1n]));
    expect(found).toEqual([1n]);
    expect(roster.rejected).toMatchObject([{ resource: 'users', id: 2n, reason: 'it is of team 77' }]);
  });

  it('accepts a row without a team id, or with null', async () => {
    const unnamed = makeUser(1n);
    const withoutTeam: ServiceUser = { id: 1n, email: unnamed.email ?? null, raw: {} };
    const service = createServiceStandIn([withoutTeam, makeUser(2n, { teamId: null })]);
    const { found } = await read(service, createMirrorStandIn([]), listing([1n, 2n]));
    expect(found).toEqual([1n, 2n]);
  });

  it('returns the rows that it cannot decode, from the team listing and from each answer', async () => {
    const rejected = { resource: 'users', id: null, reason: 'no id', excerpt: '{}' };
    const service = createServiceStandIn(users);
    service.rejected = [rejected];
    const { roster } = await read(service, createMirrorStandIn([]), {
      ...team,
      rejected: [{ ...rejected, resource: 'team' }],
    });
    expect(roster.rejected.map(({ resource }) => resource)).toEqual(['team', 'users']);
  });
});

describe('a lookup', () => {
  const find = async (
    service: ServiceStandIn,
    wanted: readonly Id[],
    addresses: { readonly emails: readonly string[]; readonly phones: readonly string[] },
    member?: TeamMember,
  ) => {
    const mirror = createMirrorStandIn([known(3n)]);
    mirror.lookups = { emails: ['user2@example.com'], phones: [] };
    const of = { ...team, members: member === undefined ? [] : [member] };
    const asked = wanted.map((id) => ({ id, ...addresses }));
    const lookup = await createUserLookup({ service, mirror }, of);
    await lookup.find(asked);
    return [...lookup.roster.users.keys()];
  };

  it('finds a user by the old or the new address, and ends once all wanted users are found (A28)', async () => {
    const service = createServiceStandIn(users);
    const addresses = { emails: ['gone@example.com', 'user1@example.com'], phones: ['15550102'] };
    expect(await find(service, [1n], addresses)).toEqual([1n]);
    expect(service.filters).toEqual([{ emails: ['gone@example.com', 'user1@example.com'], phones: [] }]);
    service.filters.length = 0;
    expect(await find(service, [1n, 2n], addresses)).toEqual([1n, 2n]);
    expect(service.filters).toHaveLength(2);
  });

  it.each([
    ['an address of the mirror', 3n, undefined],
    ['an address of the team', 1n, { ...member, id: 1n, email: 'user1@example.com' }],
    ['an address of mirror.user_lookups', 2n, undefined],
  ])('looks a user up by %s if the given addresses do not find the user', async (_, id, member) => {
    const service = createServiceStandIn(users);
    service.unfiltered = 'refuse';
    expect(await find(service, [id], { emails: ['gone@example.com'], phones: [] }, member)).toContain(id);
    expect(service.filters[1]?.emails).not.toContain('gone@example.com');
  });

  it('requests all users if no address finds the user, and treats a refusal as an empty answer', async () => {
    const service = createServiceStandIn(users);
    const nowhere = { emails: ['gone@example.com'], phones: [] };
    expect(await find(service, [4n], nowhere)).toContain(4n);
    expect(service.filters.at(-1)).toEqual({ emails: [], phones: [] });
    service.unfiltered = 'refuse';
    expect(await find(service, [4n], nowhere)).not.toContain(4n);
  });
});

describe('readRoster', () => {
  it('yields to the event loop while it reads 100,000 users', async () => {
    const ids = Array.from({ length: 100_000 }, (_, n) => BigInt(n + 1));
    const everybody = ids.map((id) => makeUser(id));
    const service = createServiceStandIn([]);
    service.users = () => Promise.resolve({ users: everybody, rejected: [], requestId: null });
    const mirror = createMirrorStandIn([]);
    mirror.compareUsers = () => Promise.resolve({ differing: [], unknown: [], unseen: [] });
    const all = listing(ids);
    const turns = await turnsAtEachLook(async () => {
      const { roster } = await read(service, mirror, all);
      expect(roster.users.size).toBe(ids.length);
      expect(roster.unresolved).toEqual([]);
    });
    // The clock is looked at once in 32 members as they are indexed, in 32 hundreds of users as they are taken, and in 32
    // members as those who were left out are looked for.
    expect(turns).toBeGreaterThanOrEqual(3_125 + 31 + 3_125);
  });
});
