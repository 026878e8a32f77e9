import { describe, expect, it } from 'vitest';
import { parseLookups } from '../../src/commands/lookups.ts';
import { turnsAtEachLook } from '../support/turns.ts';

const { signal } = new AbortController();

describe('a file of addresses', () => {
  it('has one in each cell, and says which are none', async () => {
    const text = 'E-mail;Phone\r\n"a@example.com";+1 (555) 0100\n# a remark\nb@c,@c,b@,a b@c\n12\n';
    expect(await parseLookups(text, signal)).toEqual({
      lookups: [
        { email: 'a@example.com', phone: null },
        { email: null, phone: '15550100' },
        { email: 'b@c', phone: null },
      ],
      unusable: ['@c', 'b@', 'a b@c', '12'].map((one, at) => ({ line: at === 3 ? 5 : 4, text: one })),
    });
  });

  it('takes no longer ones than the mirror does', async () => {
    const email = (length: number) => `${'a'.repeat(length - 4)}@b.c`;
    const phone = (length: number) => '1'.repeat(length);
    const text = [email(320), email(321), phone(40), phone(41)].join('\n');
    const { lookups, unusable } = await parseLookups(text, signal);
    expect(lookups.map((one) => one.email ?? one.phone)).toEqual([email(320), phone(40)]);
    expect(unusable.map(({ line }) => line)).toEqual([2, 4]);
  });

  it('lets others have their turn, and ends where it is stopped', async () => {
    const text = 'a@example.com\n'.repeat(40_000);
    expect(await turnsAtEachLook(() => parseLookups(text, signal))).toBeGreaterThan(2);
    const controller = new AbortController();
    setImmediate(() => controller.abort(new Error('told to stop')));
    await turnsAtEachLook(() =>
      expect(parseLookups(text, controller.signal)).rejects.toThrow('told to stop'),
    );
  });
});
