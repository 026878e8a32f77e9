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

describe('users in one request', () => {
  it.each([
    ['nobody', [], 25, calm, []],
    ['as many as fit', ids(5).map((id) => push(id)), 2, calm, ['1 2', '3 4', '5']],
    ['all', ids(5).map((id) => push(id)), 25, calm, ['1 2 3 4 5']],
    [
      'one alone first, while it is not known what happens to names',
      ids(4).map((id) => push(id)),
      2,
      { ...calm, safety: 'unknown' },
      ['1', '2 3', '4'],
    ],
    [
      'the first without a name',
      [push(1, named), push(2), push(3)],
      2,
      { ...calm, safety: 'unknown' },
      ['2', '1 3'],
    ],
    [
      'all, where all have a name',
      [push(1, named), push(2, named)],
      2,
      { ...calm, safety: 'unknown' },
      ['1 2'],
    ],
    ['all, where it is known', [push(1), push(2)], 2, { ...calm, safety: 'clears' }, ['1 2']],
    [
      'who was not answered for, alone and last',
      ids(4).map((id) => push(id)),
      3,
      { ...calm, troubled: new Set([1n, 3n]) },
      ['2 4', '1', '3'],
    ],
    [
      'who was not answered for does not go first',
      ids(2).map((id) => push(id)),
      3,
      { safety: 'unknown', troubled: new Set([1n]) },
      ['2', '1'],
    ],
  ] as const)('arrangeBatches puts into batches: %s', (_, pushes, size, lessons, expected) => {
    expect(shape(arrangeBatches(pushes, size, lessons))).toEqual(expected);
  });
});

it('readLessons skips the mirror if there is no user to push to', async () => {
  expect(await readLessons(createMirrorStandIn([]), [])).toEqual(calm);
});

describe('the requests of pushes', () => {
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
    ['nothing', [], 0],
    ['by email', [[both, noPhone]], 2],
    ['by phone', [[noEmail]], 2],
    ['by email and then by phone', [[both, noEmail]], 3],
    ['without an address: all are asked for', [[neither]], 2],
    ['with an address, and without', [[both, neither]], 4],
    ['of one of each kind', [[noPhone, noEmail, neither]], 4],
    ['batch by batch', [[both], [noEmail], [noPhone, both]], 6],
  ])('countRequests: %s', (_, batches, requests) => {
    expect(cost(batches)).toBe(requests);
  });

  it('ask for a hundred addresses at a time', () => {
    const many = (count: number) => ids(count).map((id) => ({ email: `${id}@example.com`, phone: null }));
    expect([cost([many(100)]), cost([many(101)])]).toEqual([2, 3]);
  });

  it('include a vain lookup for a user who is not shown', () => {
    expect(countRequests([[push(1)]], new Map())).toBe(3);
  });
});
