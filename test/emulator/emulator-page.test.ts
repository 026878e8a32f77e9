import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import type { Emulator } from '../../src/emulator/create-emulator.ts';
import { faultKinds } from '../../src/emulator/faults.ts';
import { variantNames } from '../../src/emulator/variants.ts';
import { call } from './call.ts';
import { withEmulator } from './with-emulator.ts';

interface Shown {
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly html: string;
}

/** As a browser does it: `fetch` sets neither `Host` nor `Origin`. */
function browse(
  emulator: Emulator,
  path: string,
  given: Readonly<Record<string, string>> = {},
  form?: Readonly<Record<string, string>>,
): Promise<Shown> {
  const { promise, resolve, reject } = Promise.withResolvers<Shown>();
  const headers = {
    ...(form === undefined
      ? {}
      : { 'content-type': 'application/x-www-form-urlencoded', origin: emulator.url }),
    ...given,
  };
  request(
    `${emulator.url}${path}`,
    { method: form === undefined ? 'GET' : 'POST', headers: headers as Record<string, string> },
    (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        resolve({
          status: response.statusCode,
          headers: response.headers,
          html: Buffer.concat(chunks).toString(),
        }),
      );
    },
  )
    .on('error', reject)
    .end(form === undefined ? undefined : new URLSearchParams(form).toString());
  return promise;
}

const press = (emulator: Emulator, form: Readonly<Record<string, string>>, given = {}) =>
  browse(emulator, '/_emulator/form', given, form);

describe('the page of the emulator', () => {
  it('shows the teams, the last requests with their answers, all faults and all variants', () =>
    withEmulator({ teams: [{ name: 'Second', users: 3 }] }, async (emulator) => {
      await call(emulator, 'POST /v1/tag', { tag: 'Shown' });
      await call(emulator, 'POST /v1/tag', { tag: 7 });
      emulator.addFault({ kind: 'status', code: 502, path: '/v1/team' });
      await call(emulator, 'GET /v1/team');
      const { status, html } = await browse(emulator, '/_emulator');
      expect(status).toBe(200);
      const rows = [...html.matchAll(/<tr>.*?<\/tr>/gs)].map(([row]) =>
        row.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' '),
      );
      expect(rows).toEqual(
        expect.arrayContaining([
          expect.stringContaining(` 41 ${emulator.team.name()} 20 13 `),
          expect.stringMatching(/ 42 Second 3 12 /),
          expect.stringMatching(/ 1 POST \/v1\/tag team 41 200 .*Shown.*rev/),
          expect.stringMatching(/ 2 POST \/v1\/tag team 41 400 tag: Invalid input/),
          expect.stringMatching(/ 3 GET \/v1\/team team 41 502 fault: status/),
          expect.stringMatching(/ status .* status,code=502,path=\/v1\/team played: 1 Switch off/),
        ]),
      );
      for (const name of [...faultKinds, ...variantNames]) expect(html).toContain(name);
      expect(html).not.toContain(emulator.environment['MUSTERD_SECRET_KEY']);
      expect(emulator.requests).toHaveLength(3);
    }));

  it('shows the newest fifty requests, and keeps no more answers', () =>
    withEmulator({ ratePerMinute: 0 }, async (emulator) => {
      for (let at = 0; at < 53; at += 1) await call(emulator, 'POST /v1/contacts/count', {});
      const { html } = await browse(emulator, '/_emulator');
      expect(html).toContain('50 of 53');
      expect(html.split('&#34;312456&#34;')).toHaveLength(51);
      expect(emulator.requests.map(({ answer }) => answer).filter(Boolean)).toHaveLength(50);
    }));

  it('switches a fault on and off again, and sets variants', () =>
    withEmulator({}, async (emulator) => {
      const on = await press(emulator, {
        act: 'fault-on',
        kind: 'status',
        settings: 'code=502, times=always',
      });
      expect([on.status, on.headers['location']]).toEqual([303, '/_emulator']);
      await press(emulator, { act: 'fault-on', kind: 'html', settings: '' });
      expect((await call(emulator, 'GET /v1/team')).status).toBe(502);
      const [number] =
        /(?<=name="number" value=")\d+(?="><code>status)/.exec((await browse(emulator, '/_emulator')).html) ??
        [];
      await press(emulator, { act: 'fault-off', number: number ?? '' });
      expect((await call(emulator, 'GET /_emulator/faults')).json).toEqual([{ kind: 'html' }]);
      expect((await call(emulator, 'GET /v1/team')).status).toBe(200);
      await press(emulator, { act: 'variants', 'same-tag': 'refused', 'limit-cap': '12' });
      expect(emulator.variants()).toMatchObject({ 'same-tag': 'refused', 'limit-cap': 12, pages: 'base-0' });
    }));

  it.each([
    [{ act: 'fault-on', kind: 'explode' }, 'There is no fault &#34;explode&#34;'],
    [{ act: 'fault-on', kind: 'status', settings: 'code=x' }, 'is a whole number'],
    [{ act: 'variants', pages: 'none' }, 'The variant pages cannot be'],
    [{ act: 'toString' }, 'There is no such button'],
    [{}, 'There is no such button'],
  ] as Readonly<[Record<string, string>, string]>[])(
    'says what is wrong with %j, and does nothing',
    (form, words) =>
      withEmulator({}, async (emulator) => {
        const before = emulator.variants();
        const { status, html } = await press(emulator, form);
        expect([status, html]).toEqual([400, expect.stringContaining(words)]);
        expect(emulator.variants()).toBe(before);
        expect((await call(emulator, 'GET /_emulator/faults')).json).toEqual([]);
      }),
  );

  it('loads itself again, if it is asked to', () =>
    withEmulator({}, async (emulator) => {
      const refresh = async (query: string) =>
        /<meta http-equiv="refresh" content="(.*?)">/.exec(
          (await browse(emulator, `/_emulator${query}`)).html,
        )?.[1];
      expect(await refresh('')).toBeUndefined();
      expect(await refresh('?every=5')).toBe('5');
      for (const nonsense of ['-1', '0', '99999', 'x', '5;url=https://a.invalid', '"><script>', '5&every=6'])
        expect([nonsense, await refresh(`?every=${encodeURI(nonsense)}`)]).toEqual([nonsense, undefined]);
      expect(emulator.requests).toEqual([]);
    }));

  it('puts nothing on the page that a browser would take for more than text', () =>
    withEmulator({}, async (emulator) => {
      const evil = `"'><script>alert(1)</script><img src=x onerror=alert(1)>&amp;`;
      emulator.team.rename(evil);
      emulator.team.addSecret({ id: evil, key: 'k' });
      await call(emulator, `GET /v1/${encodeURIComponent(evil)}?${encodeURIComponent(evil)}'"<b>`);
      await call(emulator, 'POST /v1/tag', { tag: evil, [evil]: evil });
      await call(emulator, 'POST /v1/tag', evil);
      emulator.addFault({ kind: 'status', label: evil });
      await call(emulator, 'GET /v1/team');
      emulator.addFault({ kind: 'redirect', location: evil, path: evil });
      const { html, headers } = await browse(emulator, '/_emulator');
      expect(html).not.toMatch(/<(script|img|b)\b/);
      expect(html).toContain('&#60;script&#62;alert(1)');
      const tags = new Set([...html.matchAll(/<([a-z!][a-z0-9]*)/g)].map(([, tag]) => tag));
      expect([...tags].filter((tag) => ['script', 'img', 'iframe', 'object'].includes(tag ?? ''))).toEqual(
        [],
      );
      const made = [...html.matchAll(/<[^>]*>/g)].map(([tag]) => tag);
      expect(made.filter((tag) => /\son\w+=/.test(tag))).toEqual([]);
      expect(headers['content-security-policy']).toMatch(
        /^default-src 'none'; style-src 'sha256-[^']+'; form-/,
      );
      const { html: refusal } = await press(emulator, { act: 'fault-on', kind: evil });
      expect(refusal).not.toMatch(/<(script|img)\b/);
    }));

  it.each([
    [{ origin: 'https://elsewhere.example' }, 403],
    [{ origin: 'null' }, 403],
    [{ origin: 'http://localhost:1' }, 403],
    [{ host: 'rebound.example', origin: 'http://rebound.example' }, 403],
    [{}, 303],
  ])('does what its own forms say, and no other page: %j', (given, status) =>
    withEmulator({}, async (emulator) => {
      const form = { act: 'fault-on', kind: 'html' };
      expect((await press(emulator, form, given)).status).toBe(status);
      expect((await call(emulator, 'GET /_emulator/faults')).json).toHaveLength(status === 303 ? 1 : 0);
    }),
  );

  it('is for this machine alone, or for whoever knows the token', async () => {
    await withEmulator({}, async (emulator) => {
      expect((await browse(emulator, '/_emulator', { host: 'rebound.example' })).status).toBe(403);
    });
    await withEmulator({ controlToken: 'open: sesame' }, async (emulator) => {
      const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` });
      const { status, headers, html } = await browse(emulator, '/_emulator');
      expect([status, headers['www-authenticate']]).toEqual([401, 'Basic realm="emulator"']);
      expect(html).not.toContain(emulator.team.name());
      expect((await browse(emulator, '/_emulator', basic('me:wrong'))).status).toBe(401);
      expect((await browse(emulator, '/_emulator', basic('me:open: sesame'))).status).toBe(200);
      const form = { act: 'fault-on', kind: 'html' };
      expect((await press(emulator, form)).status).toBe(401);
      expect((await press(emulator, form, basic('me:open: sesame'))).status).toBe(303);
      const foreign = { ...basic('me:open: sesame'), origin: 'https://elsewhere.example' };
      expect((await press(emulator, form, foreign)).status).toBe(403);
    });
  });
});
