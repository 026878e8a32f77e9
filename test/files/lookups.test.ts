import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runMusterd } from '../system/run-musterd.ts';
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

  it('names 200 that are none, and how many more there are', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'musterd-test-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const add = async (count: number) => {
      const file = join(folder, `${count}.txt`);
      writeFileSync(file, 'no address\n'.repeat(count));
      const { stderr } = await runMusterd(['lookups', 'add', file], {});
      return stderr.split('\n').filter((line) => /^line|^and/.test(line));
    };
    expect(await add(200)).toHaveLength(200);
    expect((await add(202)).slice(199)).toEqual([
      'line 200: "no address" is neither an email address nor a phone number',
      'and 2 more that cannot be used',
    ]);
  });
});
