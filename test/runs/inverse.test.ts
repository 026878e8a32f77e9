import { expect, it } from 'vitest';
import type { MovedField } from '../../src/mirror/users/moved-fields.ts';
import { inverseOf } from '../../src/runs/decide/inverse.ts';

const values = { name: { first: 'Ada', last: 'Berg' }, email: 'new@example.com', phone: null, roleId: 2n };
const moved: MovedField = {
  userId: 17n,
  name: 'Ada Berg',
  field: 'email',
  kind: 'push',
  old: "o'hara@example.com",
  new: 'new@example.com',
  now: { mirror: { ...values, split: 'known' }, base: { ...values, joined: 'Ada Berg' } },
  heldBecause: null,
  hasOpenIntent: false,
  oldWasWritten: true,
  movedLater: null,
};
const sets = "update mirror.users set email = 'o''hara@example.com' where team_id = 41 and id = 17;";

it.each<[string, Partial<MovedField>, string | null]>([
  ['is held', { heldBecause: 'conflict' }, sets],
  ['was set again', { movedLater: 'push' }, sets],
  ['is being sent', { hasOpenIntent: true }, null],
  ['moved on both sides', { kind: 'settle' }, null],
  ['is of a user who has gone', { now: undefined }, null],
  ['had a value that cannot be written', { old: null }, null],
  ['has the old value already', { old: 'NEW@example.com', heldBecause: 'conflict' }, null],
  [
    'had a value that a terminal would not show',
    { old: 'a\u202E@example.com', heldBecause: 'conflict' },
    null,
  ],
])('inverseOf offers a command for a field that %s only if a person can set it back', (_, more, offer) => {
  const { left, changes } = inverseOf(41n, [{ ...moved, ...more }]);
  expect([left.map((one) => one.offer), changes]).toEqual([[offer], []]);
});

it('inverseOf returns a change for a field that can be undone', () => {
  expect(inverseOf(41n, [moved])).toMatchObject({
    left: [],
    changes: [{ from: 'new@example.com', to: moved.old }],
  });
});
