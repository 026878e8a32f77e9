import { afterEach, describe, expect, it, vi } from 'vitest';
import { createSecret } from '../../src/secret.ts';
import { createTokens } from '../../src/service/token.ts';
import { createHeldClock } from './held-clock.ts';

function open() {
  const clock = createHeldClock();
  const tokens = createTokens({ secretId: 'id', secretKey: createSecret('key') }, clock, () => 0);
  return { clock, tokens };
}

describe('createTokens', () => {
  it.each(['advance', 'jump'] as const)('makes a new token after 240 s by each clock (%s)', async (pass) => {
    const { clock, tokens } = open();
    const serial = async () => (await tokens.authorization()).serial;
    const first = await serial();
    clock[pass](239_999);
    expect(await serial()).toBe(first);
    clock[pass](1);
    expect(await serial()).toBe(first + 1);
  });

  it('makes a new token after four minutes even if the wall clock was set back (N21, R8, S40)', async () => {
    const { clock, tokens } = open();
    const { serial } = await tokens.authorization();
    clock.advance(240_000);
    clock.jump(-240_000);
    expect((await tokens.authorization()).serial).toBe(serial + 1);
  });
});

afterEach(() => {
  vi.restoreAllMocks();
});

it('createTokens fails both waiting calls if signing fails, and signs again for the next call', async () => {
  const { tokens } = open();
  // The platform fails once, as where it is out of memory.
  const sign = vi.spyOn(crypto.subtle, 'sign').mockRejectedValueOnce(new Error('no memory'));
  const both = await Promise.allSettled([tokens.authorization(), tokens.authorization()]);
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  const made = await tokens.authorization();
  expect(made.header).toMatch(/^Bearer \S+$/);
  expect(await tokens.authorization()).toEqual(made);
  expect(sign).toHaveBeenCalledTimes(2);
});
