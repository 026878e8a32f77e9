import { describe, expect, it } from 'vitest';
import { splitName } from '../../src/model/name.ts';
import type { MirrorRow } from '../../src/model/user.ts';
import { planField, unsendable } from '../../src/reconcile/merge/plan-field.ts';
import { base, holdAll, makeState, row, shown } from './states.ts';

describe('a name that cannot be sent', () => {
  it('names the half that the editor must still set', () => {
    const agreed = { ...base, joined: 'Anne Marie Berg', name: { first: 'Anne Marie', last: 'Berg' } };
    const first = unsendable('name', { ...row, name: { ...agreed.name, first: 'Anne' } }, agreed);
    expect(first).toContain('set last_name too');
    const last = unsendable('name', { ...row, name: { ...agreed.name, last: 'Borg' } }, agreed);
    expect(last).toContain('set first_name too');
    expect(last).toContain('"Anne Marie Berg"');
  });

  it.each([
    ['only the middle word', 'Marie', 'Anne Marie', 'Berg', true],
    ['no words', '', 'Anne Marie', 'Berg', true],
    ['other words', 'Robin Doe', 'Anne Marie', 'Berg', false],
    ['two words, and the edit changes one half', 'Anne Berg', 'Anne Marie', 'Berg', false],
    ['one word, and the edited split is not the usual guess', 'Marie', 'Anne', 'Marie Berg', false],
    ['one word, and the edited name has two words', 'Anne', 'Marie', 'Anne', false],
  ])('waits if its guessed split adds lost words: the agreed name has %s', (_, joined, first, last, held) => {
    const agreed = { ...base, joined, name: splitName(joined) };
    const reason = unsendable('name', { ...row, name: { first, last } }, agreed);
    expect(reason).toBe(
      held
        ? `the split of "Anne Marie Berg" is a guess: set first_name and last_name, or name_split = 'known'`
        : undefined,
    );
    expect(unsendable('name', { ...row, split: 'known', name: { first, last } }, agreed)).toBeUndefined();
  });

  it('gets the reason "the service does not accept an empty name" if it has only spaces', () => {
    const mirror: MirrorRow = { ...row, split: 'known', name: { first: ' ', last: '\u00A0' } };
    expect(unsendable('name', mirror, base)).toBe('the service does not accept an empty name');
  });
});

describe('an edited value', () => {
  it.each([
    ['phone', 'none', 'the phone number has no digits'],
    ['email', null, 'the service gives no way to remove an email'],
    ['roleId', null, 'the service gives no way to remove a role'],
  ] as const)('gets a reason to stop if empty or a phone without digits: %s, %s', (field, value, why) => {
    expect(unsendable(field, { ...row, [field]: value }, base)).toBe(why);
  });
});

describe('an edit of one half of a guessed name', () => {
  it('sends the held half once an editor marks the split as known', () => {
    const name = { first: 'Anne Marie', last: 'Borg' };
    const {
      mirror = row,
      service = shown,
      ...half
    } = makeState({
      base: { joined: 'Anne Marie Berg', name: { first: 'Anne Marie', last: 'Berg' } },
      mirror: { name },
      service: { name: 'Anne Marie Berg' },
    });
    const guessed = planField('name', { ...half, mirror, service }, holdAll);
    const held = guessed.kind === 'hold' ? [guessed.hold] : [];
    const known = { ...half, held, mirror: { ...mirror, split: 'known' as const }, service };
    expect(planField('name', known, holdAll)).toMatchObject({
      kind: 'push',
      ends: true,
      values: { mirror: name },
    });
  });
});
