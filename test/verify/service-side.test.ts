import { describe, expect, it } from 'vitest';
import { ServiceError } from '../../src/errors.ts';
import type { Team } from '../../src/model/team.ts';
import { type ReadableService, readService } from '../../src/verify/service-side.ts';

const ids = Array.from({ length: 60 }, (_, n) => BigInt(n + 1));
const addresses = ids.map((id) => ({ id, email: `user${id}@example.com`, phone: null }));
const team: Team = {
  id: 41n,
  name: 'Harbour',
  listSize: null,
  members: ids.map((id) => ({ id, name: `User ${id}`, role: null, email: null, phone: null })),
  rejected: [],
  raw: {},
};
const none = {
  digests: null,
  isOffered: true,
  isKnown: false,
  status: 'complete' as const,
  rows: [],
  count: 0,
  rejected: [],
  memory: { firstPage: 0 as const, limit: null, pages: null, cursor: 'page' as const },
  requests: 1,
};

/** A service that answers for the first `most` addresses of a request, for those whom it knows at all. */
function serviceOf(most: number, known: (id: bigint) => boolean) {
  const asked: number[] = [];
  const service: ReadableService = {
    team: () => Promise.resolve(team),
    users: ({ emails }) => {
      asked.push(emails.length);
      const users = emails.slice(0, most).flatMap((email) => {
        const id = addresses.find((one) => one.email === email)?.id;
        return id !== undefined && known(id) ? [{ id, email, raw: {} }] : [];
      });
      return Promise.resolve({ users, rejected: [] });
    },
    list: () => Promise.resolve(none),
  };
  const read = () => readService(service, team, addresses, { size: 100 });
  return { asked, read, service };
}

describe('readService', () => {
  it.each([60, 50, 30, 7, 1])(
    'finds all 60 users if the service looks up at most %i addresses per request',
    async (most) => {
      const { read } = serviceOf(most, () => true);
      expect((await read()).users?.size).toBe(60);
    },
  );

  it('makes only five requests if no lookup finds a user', async () => {
    const { asked, read } = serviceOf(60, () => false);
    expect((await read()).users?.size).toBe(0);
    // Without an address, twice for all of them, and twice for fewer.
    expect(asked).toEqual([0, 50, 10, 25, 25]);
  });

  it('makes two further requests if the first answer lacks users, however many users are missing', async () => {
    const { asked, read } = serviceOf(60, (id) => id <= 40n);
    expect((await read()).users?.size).toBe(40);
    expect(asked).toEqual([0, 50, 10, 10, 10]);
  });
});

it.each([
  [400, true],
  [404, true],
  [408, false],
  [409, false],
  [423, false],
  [425, false],
  [429, false],
  [500, false],
])('readService omits only an address that the service refuses by %i: %s', async (status, isRefused) => {
  const { service } = serviceOf(60, () => true);
  const { users, complete, unread } = await readService(
    {
      ...service,
      users: async (filter) => {
        if (!filter.emails.includes('user7@example.com')) return await service.users(filter);
        throw new ServiceError('no', { operation: 'GET /v1/users/get', phase: 'answered', status });
      },
    },
    team,
    addresses,
    {},
  );
  // Nothing is concluded about the users as long as one of them may be there.
  expect([users?.size, complete.has('users'), unread]).toEqual(
    isRefused ? [59, true, []] : [undefined, false, ['users: no']],
  );
});
