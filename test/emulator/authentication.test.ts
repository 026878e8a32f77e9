import { afterEach, beforeEach, describe, expect, vi } from 'vitest';
import { call, secretOf, token } from './call.ts';
import { it, withEmulator } from './with-emulator.ts';

/** The machine's clock stands still: only a test moves the emulator's. */
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: new Date('2030-01-01T12:30:00Z') });
});
afterEach(() => {
  vi.useRealTimers();
});

const nowS = (): number => Math.floor(Date.now() / 1000);

describe('authentication (interface.md, Authentication)', () => {
  it('accepts a JWT, with or without extra claims, and the legacy API key', () =>
    withEmulator({ apiKey: 'legacy-key' }, async (emulator) => {
      const secret = secretOf(emulator.environment);
      for (const bearer of [
        token(secret),
        token(secret, { exp: nowS() + 60, nbf: 0, aud: 'x', jti: 'y' }),
        token(secret, { exp: nowS() - 60 }),
        token(secret, {}, { kid: '1' }),
        token(secret, { iat: nowS() - 299 + 1 }),
        'legacy-key',
      ]) {
        expect(await call(emulator, 'GET /v1/inboxes', undefined, bearer)).toMatchObject({ status: 200 });
      }
    }));

  it('answers 401 to a missing, malformed, forged or expired token', async ({ emulator, ask }) => {
    const secret = secretOf(emulator.environment);
    const [header, payload, signature] = token(secret).split('.');
    const bad: Record<string, string | null> = {
      'no header': null,
      'not a token': 'abc',
      'two parts': `${header}.${payload}`,
      'no signature': `${header}.${payload}.`,
      padded: `${header}.${payload}.${signature}=`,
      'another key': token({ ...secret, key: 'other' }),
      'another issuer': token({ ...secret, id: 'other' }),
      'no iss': token(secret, { iss: undefined }),
      'no iat': token(secret, { iat: undefined }),
      'iat as text': token(secret, { iat: String(nowS()) }),
      'iat in ms': token(secret, { iat: Date.now() }),
      expired: token(secret, { iat: nowS() - 300 }),
      'far ahead': token(secret, { iat: nowS() + 400 }),
      'alg none': token(secret, {}, { alg: 'none' }),
      'alg HS512': token(secret, {}, { alg: 'HS512' }),
      'typ missing': token(secret, {}, { typ: undefined }),
      'an API key that is not set': 'undefined',
    };
    for (const [name, bearer] of Object.entries(bad)) {
      const answer = await ask('GET /v1/team', undefined, bearer);
      expect([name, answer.status, answer.text]).toEqual([name, 401, '"Unauthorized"']);
      expect(answer.headers['x-request-id']).toMatch(/.{10}/);
    }
    expect(emulator.requests.every((request) => request.status === 401)).toBe(true);
  });

  it('accepts two secrets of a team, and refuses to add a third secret', () =>
    withEmulator({ secrets: [{ id: 'a', key: '1' }] }, async (emulator) => {
      const next = { id: 'b', key: '2' };
      expect((await call(emulator, 'GET /v1/inboxes', undefined, token(next))).status).toBe(401);
      emulator.team.addSecret(next);
      expect((await call(emulator, 'GET /v1/inboxes', undefined, token(next))).status).toBe(200);
      expect(emulator.requests.at(-1)?.credential).toBe('b');
      expect(() => emulator.team.addSecret({ id: 'c', key: '3' })).toThrow('two API Secrets');
      emulator.team.revokeSecret('a');
      expect((await call(emulator, 'GET /v1/inboxes')).status).toBe(401);
      expect((await call(emulator, 'GET /v1/inboxes', undefined, token(next))).status).toBe(200);
    }));

  it('answers 401 to a request without a token, even if path, method or body is wrong', async ({ ask }) => {
    for (const operation of ['GET /v1/nowhere', 'POST /v1/tags', 'DELETE /v1/team']) {
      expect((await ask(operation, '{', null)).status).toBe(401);
    }
    expect((await ask('GET /v1/nowhere')).status).toBe(404);
  });
});

describe('the rate limit (interface.md, Limits)', () => {
  it('answers 429 from the 501st request of a team in a minute', () =>
    withEmulator({ teams: [{}] }, async (emulator) => {
      const [first, second] = emulator.teams;
      const bearer = token(secretOf(first?.environment ?? {}));
      const statuses = await Promise.all(
        Array.from({ length: 503 }, () => call(emulator, 'POST /v1/contacts/count', {}, bearer)),
      );
      const refused = statuses.filter((answer) => answer.status === 429);
      expect(refused.map((answer) => answer.text)).toEqual(Array(3).fill('"too many requests"'));
      expect(refused[0]?.headers['retry-after']).toBeUndefined();
      const other = token(secretOf(second?.environment ?? {}));
      expect((await call(emulator, 'GET /v1/inboxes', undefined, other)).status).toBe(200);
      emulator.clock.advance(60_000);
      expect((await call(emulator, 'GET /v1/inboxes')).status).toBe(200);
    }));

  it('a 429 has the Retry-After of the variant retry-after; rate-window refills each minute or evenly', () =>
    withEmulator({ ratePerMinute: 20 }, async (emulator) => {
      const count = async (): Promise<number> => {
        let passed = 0;
        for (let at = 0; at < 25; at += 1) {
          if ((await call(emulator, 'GET /v1/inboxes')).status === 200) passed += 1;
        }
        return passed;
      };
      expect(await count()).toBe(20);
      emulator.setVariants({ 'retry-after': 'seconds' });
      expect((await call(emulator, 'GET /v1/inboxes')).headers['retry-after']).toBe('60');
      emulator.setVariants({ 'retry-after': 'date' });
      const { headers } = await call(emulator, 'GET /v1/inboxes');
      expect(headers['retry-after']).toBe('Tue, 01 Jan 2030 12:31:00 GMT');
      emulator.setVariants({ 'retry-after': 'nonsense', 'rate-window': 'bucket' });
      expect(await count()).toBeLessThanOrEqual(3);
      expect((await call(emulator, 'GET /v1/inboxes')).headers['retry-after']).toBe('soon-ish');
      emulator.setVariants({ 'rate-window': 'fixed' });
      emulator.clock.advance(120_000);
      expect(await count()).toBeGreaterThanOrEqual(20);
    }));
});
