import { describe, expect, it } from 'vitest';
import { createPageAccess, type PageKeys } from '../../src/page/serve/page-access.ts';

const basic = (name: string, secret: string) =>
  `Basic ${Buffer.from(`${name}:${secret}`).toString('base64')}`;
const token = 'a token of sixteen characters';

const people = (name: string, may: 'look' | 'decide') => ({ token: `a token of ${name} alone`, may });

function open(keys: PageKeys, onLoopback = false) {
  let nowMs = 0;
  const access = createPageAccess(keys, onLoopback, () => nowMs);
  const admit = (authorization?: string) => {
    const told = access.admit(authorization);
    return told.may ? (told.actor ?? 'somebody') : told.status;
  };
  return { admit, pass: (ms: number) => (nowMs += ms) };
}

describe('createPageAccess', () => {
  it('admits only requests from the page’s own machine if no login is configured', () => {
    expect(open({}, true).admit()).toBe('somebody');
    expect(open({}, false).admit()).toBe(403);
    expect(open({}, false).admit(basic('admin', ''))).toBe(403);
    expect(open({ admin: { may: 'decide' } }, true).admit(basic('admin', ''))).toBe(401);
  });

  it('accepts a token only together with the name of its owner', () => {
    const keys = { ann: people('ann', 'decide'), bo: people('bo', 'look') };
    const told = (name: string, secret: string) =>
      createPageAccess(keys, false, () => 0).admit(basic(name, secret));
    for (const [name, mayDecide] of [
      ['ann', true],
      ['bo', false],
    ] as const)
      expect(told(name, `a token of ${name} alone`)).toEqual({ may: true, actor: name, mayDecide });
    expect(told('bo', 'a token of ann alone')).toMatchObject({ may: false, status: 401 });
    expect(told('kim', 'a token of ann alone')).toMatchObject({ may: false, status: 401 });
  });

  it('requires a valid token if logins are configured, also for requests from the page’s own machine', () => {
    for (const onLoopback of [true, false]) {
      const keysOfKim = { kim: { token, may: 'look' } as const };
      const { admit } = open(keysOfKim, onLoopback);
      expect(admit()).toBe(401);
      expect(admit(basic('kim', token))).toBe('kim');
      expect(admit(`Bearer ${token.replaceAll(' ', '')}`)).toBe(401);
      expect(admit(basic('kim', 'another token'))).toBe(401);
      for (const odd of [
        '',
        'Basic',
        'Basic !!',
        'Digest x',
        basic('', ''),
        `Basic ${'A'.repeat(9_000)}`,
        basic('a\0b', token),
      ])
        expect([odd, open(keysOfKim, onLoopback).admit(odd)]).toEqual([odd, 401]);
    }
    const keys = { admin: { token: 'without-white-space', may: 'look' } as const };
    expect(open(keys).admit('Bearer without-white-space')).toBe('admin');
  });

  it('answers 429 to the eleventh wrong token within a minute, and still accepts a right token (S26)', () => {
    const { admit, pass } = open({ kim: { token, may: 'look' } });
    const right = basic('kim', token);
    for (let tries = 0; tries < 20; tries += 1) expect(admit(right)).toBe('kim');
    for (let tries = 0; tries < 10; tries += 1) expect(admit(basic('kim', 'wrong'))).toBe(401);
    expect(admit(basic('kim', 'wrong'))).toBe(429);
    expect(admit()).toBe(401);
    expect(admit(right)).toBe('kim');
    pass(60_000);
    expect(admit(basic('kim', 'wrong'))).toBe(401);
  });
});
