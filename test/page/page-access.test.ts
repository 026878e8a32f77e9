import { describe, expect, it } from 'vitest';
import { createPageAccess, type PageKeys } from '../../src/page/serve/page-access.ts';

const basic = (name: string, secret: string) =>
  `Basic ${Buffer.from(`${name}:${secret}`).toString('base64')}`;
const token = 'a token of sixteen characters';

const people = (name: string, may: 'look' | 'decide') => ({ token: `a token of ${name} alone`, may });

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
    const withoutToken = { people: { admin: { may: 'decide' as const } } };
    expect(open(withoutToken, true).admit(basic('admin', ''))).toBe(401);
  });

  it('knows whose name it is where the token belongs to somebody, and takes any other name where it does not', () => {
    const told = (keys: PageKeys, name: string, secret = token) =>
      createPageAccess(keys, false, () => 0).admit(basic(name, secret), '10.0.0.1');
    expect(told({ token }, 'kim')).toEqual({ may: true, actor: 'kim', isKnown: false, mayDecide: true });
    const keys = { token, people: { ann: people('ann', 'decide'), bo: people('bo', 'look') } };
    for (const [name, mayDecide] of [
      ['ann', true],
      ['bo', false],
    ] as const)
      expect(told(keys, name, `a token of ${name} alone`)).toEqual({
        may: true,
        actor: name,
        isKnown: true,
        mayDecide,
      });
    // Nobody takes the name of somebody who has a token, or their token under another name.
    expect(told(keys, 'ann')).toMatchObject({ may: false, status: 401 });
    expect(told(keys, 'bo', 'a token of ann alone')).toMatchObject({ may: false, status: 401 });
    expect(told(keys, 'kim', 'a token of ann alone')).toMatchObject({ may: false, status: 401 });
    // Where people have names, whoever has none decides nothing.
    expect(told(keys, 'kim')).toEqual({ may: true, actor: 'kim', isKnown: false, mayDecide: false });
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
    const owner = { admin: { token: 'without-white-space', may: 'look' } as const };
    expect(open({ people: owner }).admit(bearer)).toBe('admin');
  });

  it.each([
    ['takes the token of any name', undefined, 'kim'],
    ['takes no token of somebody', 'admin', 429],
  ])('%s from where too many keys were tried, for a minute, and all from elsewhere', (_, user, then) => {
    const { admit, pass } = open(
      user === undefined ? { token } : { people: { [user]: { token, may: 'look' } } },
    );
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
