import { describe, expect, it } from 'vitest';
import type { Id } from '../../src/model/id.ts';
import type { ServiceUser } from '../../src/model/user.ts';
import {
  arrangeBatches,
  countRequests,
  type PushLessons,
  readLessons,
} from '../../src/reconcile/push/batches.ts';
import { createMirrorStandIn } from './mirror-stand-in.ts';

const push = (id: number, patch: object = { email: 'x@example.com' }) => ({ id: BigInt(id), patch });
const named = { name: { first: 'A', last: 'B' } };
const ids = (count: number) => Array.from({ length: count }, (_, at) => at + 1);
const calm: PushLessons = { safety: 'keeps', troubled: new Set() };
const shape = (batches: ReturnType<typeof arrangeBatches>) =>
  batches.map((batch) => batch.map(({ id }) => id).join(' '));

describe('arrangeBatches', () => {
  it.each([
    ['no user', [], 25, calm, []],
    ['as many users as fit into each', ids(5).map((id) => push(id)), 2, calm, ['1 2', '3 4', '5']],
    ['all users, if they fit into one', ids(5).map((id) => push(id)), 25, calm, ['1 2 3 4 5']],
    [
      'first one user, while the effect of an update on names is unknown',
      ids(4).map((id) => push(id)),
      2,
      { ...calm, safety: 'unknown' },
      ['1', '2 3', '4'],
    ],
    [
      'first a user whose update has no name',
      [push(1, named), push(2), push(3)],
      2,
      { ...calm, safety: 'unknown' },
      ['2', '1 3'],
    ],
    [
      'all users together, if each update has a name',
      [push(1, named), push(2, named)],
      2,
      { ...calm, safety: 'unknown' },
      ['1 2'],
    ],
    ['all users together, if that is known', [push(1), push(2)], 2, { ...calm, safety: 'clears' }, ['1 2']],
    [
      'last and by itself, each user whose earlier push got no answer',
      ids(4).map((id) => push(id)),
      3,
      { ...calm, troubled: new Set([1n, 3n]) },
      ['2 4', '1', '3'],
    ],
    [
      'not first, a user whose earlier push got no answer',
      ids(2).map((id) => push(id)),
      3,
      { safety: 'unknown', troubled: new Set([1n]) },
      ['2', '1'],
    ],
  ] as const)(
    'fills each request with users, but sends an update alone if it may clear a name or got no answer: %s',
    (_, pushes, size, lessons, expected) => {
      expect(shape(arrangeBatches(pushes, size, lessons))).toEqual(expected);
    },
  );
});

it('readLessons returns safety "keeps" and an empty set of troubled users if no user is pushed to', async () => {
  expect(await readLessons(createMirrorStandIn([]), [])).toEqual(calm);
});

describe('countRequests', () => {
  const both = { email: 'a@example.com', phone: '4915112345' };
  const noPhone = { email: 'b@example.com', phone: null };
  const noEmail = { email: null, phone: '+49 151 999' };
  const neither = { email: null, phone: null };
  const cost = (batches: readonly (readonly object[])[]) => {
    const users = new Map<Id, ServiceUser>();
    const all = batches.map((batch) =>
      batch.map((addresses) => {
        const id = BigInt(users.size + 1);
        users.set(id, { id, ...addresses } as ServiceUser);
        return { id, patch: {} };
      }),
    );
    return countRequests(all, users);
  };

  it.each([
    ['no user', [], 0],
    ['users with an email', [[both, noPhone]], 2],
    ['a user with a phone', [[noEmail]], 2],
    ['a user with an email, and one with a phone', [[both, noEmail]], 3],
    ['a user without an address, read with all users', [[neither]], 2],
    ['a user with addresses, and one without', [[both, neither]], 4],
    ['one user of each kind', [[noPhone, noEmail, neither]], 4],
    ['three batches', [[both], [noEmail], [noPhone, both]], 6],
  ])('counts one update and the needed lookups for each batch: %s', (_, batches, requests) => {
    expect(cost(batches)).toBe(requests);
  });

  it('counts two lookups and one update for a user whom the service does not show', () => {
    expect(countRequests([[push(1)]], new Map())).toBe(3);
  });
});
