import { expect, it } from 'vitest';
import type { MovedField } from '../../src/mirror/users/moved-fields.ts';
import { inverseOf } from '../../src/runs/decide/inverse.ts';

const values = { name: { first: 'Ada', last: 'Berg' }, email: 'new@example.com', phone: null, roleId: 2n };
const mirror = { ...values, split: 'known' } as const;
const base = { ...values, joined: 'Ada Berg' };
const moved: MovedField = {
  userId: 17n,
  name: 'Ada Berg',
  field: 'email',
  kind: 'push',
  old: "o'hara@example.com",
  new: 'new@example.com',
  now: { mirror, base },
  heldBecause: null,
  hasOpenIntent: false,
  oldWasWritten: true,
  movedLater: null,
};
const sets = "update mirror.users set email = 'o''hara@example.com' where team_id = 41 and id = 17;";

const guessed = { field: 'name', old: { first: 'Anne Marie', last: 'Berg' }, new: values.name } as const;

it.each<[string, Partial<MovedField>, reason: string, offer: string | null]>([
  ['is held', { heldBecause: 'conflict' }, 'held: conflict', sets],
  ['was set again', { movedLater: 'push' }, 'set again since', sets],
  ['was set again on the service', { movedLater: 'pull' }, 'set again on the service since', sets],
  ['was pushed again', { new: 'first@example.com' }, 'edited since', sets],
  [
    'was pulled again',
    { new: 'first@example.com', movedLater: 'return' },
    'changed on the service since',
    sets,
  ],
  ['is edited', { now: { mirror: { ...mirror, email: 'newer@example.com' }, base } }, 'edited since', sets],
  ['is being sent', { hasOpenIntent: true }, 'the outcome of a push is not known yet', null],
  ['moved on both sides', { kind: 'settle' }, 'both sides were changed to the same value', null],
  ['belongs to a user who has gone', { now: undefined }, 'the user has gone', null],
  ['had a value that cannot be written', { old: null }, 'unsupported: there was no email before', null],
  ['has the old value already', { old: 'NEW@example.com', heldBecause: 'conflict' }, 'held: conflict', null],
  [
    'had a value that a terminal would not show',
    { old: 'a\u202E@example.com', heldBecause: 'conflict' },
    'held: conflict',
    null,
  ],
  [
    'had a name with guessed halves',
    { ...guessed, oldWasWritten: false },
    'the split of the old name is a guess',
    "update mirror.users set first_name = 'Anne Marie', last_name = 'Berg' where team_id = 41 and id = 17;",
  ],
])('inverseOf does not restore a field that %s, and returns the reason', (_, more, reason, offer) => {
  const { left, changes } = inverseOf(41n, [{ ...moved, ...more }]);
  expect(left).toEqual([expect.objectContaining({ reason: expect.stringContaining(reason), offer })]);
  expect(changes).toEqual([]);
});

it.each<[string, Partial<MovedField>]>([
  ['an email', {}],
  ['a phone that was not there before', { field: 'phone', old: null, new: null }],
  ['a long name whose halves a person wrote', guessed],
])('inverseOf restores the old value of %s', (_, more) => {
  const field = { ...moved, ...more };
  const { changes, edits, left } = inverseOf(41n, [field]);
  expect([changes, left]).toMatchObject([[{ from: field.new, to: field.old }], []]);
  expect(edits).toMatchObject([{ id: 17n, values: { [field.field]: field.old } }]);
});
