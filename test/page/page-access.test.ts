import { describe, expect, it } from 'vitest';
import { createPageAccess, type PageKeys } from '../../src/page/serve/page-access.ts';

const basic = (name: string, secret: string) =>
  `Basic ${Buffer.from(`${name}:${secret}`).toString('base64')}`;
const token = 'a token of sixteen characters';

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

  it('knows whose name it is where the token belongs to one, and takes any name where it does not', () => {
    const told = (keys: PageKeys, name: string) =>
      createPageAccess(keys, false, () => 0).admit(basic(name, token), '10.0.0.1');
    expect(told({ token }, 'kim')).toEqual({ may: true, actor: 'kim', isKnown: false });
    expect(told({ token, user: 'admin' }, 'admin')).toEqual({ may: true, actor: 'admin', isKnown: true });
    expect(told({ token, user: 'admin' }, 'kim')).toMatchObject({ may: false, status: 401 });
  });

  it('asks for the key that is set, on its own machine as well', () => {
    for (const onLoopback of [true, false]) {
      const { admit } = open({ token }, onLoopback);
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
        expect([odd, admit(odd, odd)]).toEqual([odd, 401]);
    }
    const bearer = 'Bearer without-white-space';
    expect(open({ token: 'without-white-space' }).admit(bearer)).toBe('somebody');
    expect(open({ token: 'without-white-space', user: 'admin' }).admit(bearer)).toBe(401);
  });

  it.each([
    ['takes the token of any name', undefined, 'kim'],
    ['takes nothing under a name', 'admin', 429],
  ])('%s from where too many keys were tried, for a minute, and all from elsewhere', (_, user, then) => {
    const { admit, pass } = open({ token, user });
    const name = user ?? 'kim';
    const right = basic(name, token);
    for (let tries = 0; tries < 20; tries += 1) expect(admit(right)).toBe(name);
    for (let tries = 0; tries < 10; tries += 1) expect(admit(basic(name, 'wrong'))).toBe(401);
    expect(admit(basic(name, 'wrong'))).toBe(429);
    expect(admit()).toBe(401);
    expect(admit(right)).toBe(then);
    expect(admit(right, '10.0.0.2')).toBe(name);
    pass(60_000);
    expect(admit(right)).toBe(name);
  });
});
