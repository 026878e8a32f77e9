import { describe, expect, it } from 'vitest';
import { isTooLong, longestText } from '../../src/model/longest-text.ts';
import { unsendable } from '../../src/reconcile/merge/plan-field.ts';
import { findFlaw } from '../../src/service/row-flaws.ts';

describe('the longest text, before sending and on reading', () => {
  // Characters of one and of two UTF-16 units.
  it.each(['x', '😀'])('accepts a text of %s up to the limit, and rejects a longer text', (letter) => {
    const longest = letter.repeat(longestText);
    expect([isTooLong(longest), findFlaw(longest, false)]).toEqual([false, null]);
    const longer = `${longest}x`;
    expect([isTooLong(longer), findFlaw(longer, false)]).toEqual([
      true,
      `a text is longer than ${longestText} characters`,
    ]);
  });

  it.each(['name', 'email', 'phone'] as const)('does not send a %s if a run cannot read it back', (field) => {
    const values = {
      name: { first: 'Ann', last: 'Lee' },
      email: 'a@example.com',
      phone: '15550100',
      roleId: 1n,
    };
    const base = { ...values, joined: 'Ann Lee' };
    const written = (text: string) => (field === 'name' ? { first: 'Ann', last: text.slice(4) } : text);
    const mirrorOf = (text: string) => ({ ...values, split: 'known' as const, [field]: written(text) });
    expect(unsendable(field, mirrorOf('1'.repeat(longestText)), base)).toBeUndefined();
    expect(unsendable(field, mirrorOf('1'.repeat(longestText + 1)), base)).toBe(
      'a run could not read back more than 262144 characters',
    );
  });
});
