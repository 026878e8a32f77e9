import { describe, expect, it } from 'vitest';
import { createPageAccess, type PageKeys } from '../../src/page/serve/page-access.ts';

const basic = (name: string, secret: string) =>
  `Basic ${Buffer.from(`${name}:${secret}`).toString('base64')}`;
const token = 'a token of sixteen characters';
const both: PageKeys = { token, user: 'admin', password: 'a good password' };

function open(keys: PageKeys, onLoopback = false) {
  let nowMs = 0;
  const access = createPageAccess(keys, onLoopback, () => nowMs);
  const admit = (authorization?: string, address = '10.0.0.1') => {
    const told = access.admit(authorization, address);
    return told.may ? (told.actor ?? 'somebody') : told.status;
  };
  return { admit, pass: (ms: number) => (nowMs += ms) };
}

describe('the page', () => {
  it('is shown without a key to its own machine alone', () => {
    expect(open({}, true).admit()).toBe('somebody');
    expect(open({}, false).admit()).toBe(403);
    expect(open({}, false).admit(basic('admin', ''))).toBe(403);
    expect(open({ user: 'admin' }, false).admit(basic('admin', ''))).toBe(403);
  });

  it('knows whose name it is by a password, and by the token that it may be anybody’s', () => {
    const access = createPageAccess(both, false, () => 0);
    for (const [name, secret, isKnown] of [
      ['kim', token, false],
      ['admin', token, false],
      ['admin', 'a good password', true],
    ] as const)
      expect(access.admit(basic(name, secret), '10.0.0.1')).toEqual({ may: true, actor: name, isKnown });
  });

  it('asks for the key that is set, on its own machine as well', () => {
    for (const onLoopback of [true, false]) {
      const { admit } = open(both, onLoopback);
      expect(admit()).toBe(401);
      expect(admit(basic('kim', token))).toBe('kim');
      expect(admit(`Bearer ${token.replaceAll(' ', '')}`)).toBe(401);
      expect(admit(basic('admin', 'a good password'))).toBe('admin');
      expect(admit(basic('kim', 'a good password'))).toBe(401);
      expect(admit(basic('admin', 'a bad password'))).toBe(401);
      for (const odd of [
        '',
        'Basic',
        'Basic !!',
        'Digest x',
        basic('', ''),
        `Basic ${'A'.repeat(9_000)}`,
        basic('a\0b', token),
      ])
        expect([odd, admit(odd, odd)]).toEqual([odd, 401]);
    }
    expect(open({ token: 'without-white-space' }).admit('Bearer without-white-space')).toBe('somebody');
  });

  it('takes the token alone from where too many keys were tried, for a minute, and all from elsewhere', () => {
    const { admit, pass } = open(both);
    const password = basic('admin', 'a good password');
    for (let tries = 0; tries < 20; tries += 1)
      expect(admit(tries % 2 ? password : basic('kim', token))).not.toBe(429);
    for (let tries = 0; tries < 10; tries += 1) expect(admit(basic('kim', 'wrong'))).toBe(401);
    expect(admit(basic('kim', 'wrong'))).toBe(429);
    expect(admit(password)).toBe(429);
    expect(admit()).toBe(401);
    expect(admit(basic('kim', token))).toBe('kim');
    expect(admit(password, '10.0.0.2')).toBe('admin');
    pass(60_000);
    expect(admit(password)).toBe('admin');
  });
});
