import {
  existsSync,
  lchownSync,
  lstatSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { createEmulator, type Emulator } from '../../src/emulator/create-emulator.ts';
import { call, token } from './call.ts';
import { it, withEmulator } from './with-emulator.ts';

const directory = mkdtempSync(join(tmpdir(), 'emulator-test-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

describe('the emulator over HTTPS (interface.md, general rule 2)', () => {
  let emulator: Emulator;
  let trusting: Parameters<typeof call>[0];
  beforeAll(async () => {
    emulator = await createEmulator({ users: 20, tags: 12, fields: 5 });
    const authority = new Agent({ connect: { ca: emulator.authority ?? '' } });
    trusting = { ...emulator, dispatcher: authority };
  });
  afterAll(() => emulator.close());

  it('serves a certificate that a client rejects unless it trusts the generated authority', async () => {
    expect(emulator.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    expect((await call(trusting, 'GET /v1/users/get', {})).status).toBe(200);
    const byName = emulator.url.replace('127.0.0.1', 'localhost');
    expect((await call({ ...trusting, url: byName }, 'GET /v1/team')).status).toBe(200);
    await expect(call(emulator, 'GET /v1/team')).rejects.toThrow(/certificate/);
  });

  it('rejects plain HTTP, and resets a TLS connection for the fault reset-in', async () => {
    const plain = { url: emulator.url.replace('https', 'http'), environment: emulator.environment };
    await expect(call(plain, 'GET /v1/team')).rejects.toThrow();
    emulator.addFault({ kind: 'reset-in' });
    await expect(call(trusting, 'GET /v1/team')).rejects.toMatchObject({ code: 'ECONNRESET' });
  });

  it('fails to start with EADDRINUSE if its port is taken', async () => {
    const port = Number(new URL(emulator.url).port);
    await expect(createEmulator({ http: true, users: 1, tags: 1, port })).rejects.toThrow('EADDRINUSE');
  });

  it('when the emulator closes, keeps an authority file at a given path, but removes a temporary authority file', async () => {
    const authorityFile = join(directory, 'authority.pem');
    await withEmulator({ http: false, authorityFile }, async (emulator) => {
      expect(emulator.environment['NODE_EXTRA_CA_CERTS']).toBe(authorityFile);
      expect(readFileSync(authorityFile, 'utf8')).toBe(emulator.authority);
      await Promise.resolve();
    });
    expect(existsSync(authorityFile)).toBe(true);
    const own = await withEmulator({ http: false }, async (emulator) => {
      await Promise.resolve();
      return emulator.environment['NODE_EXTRA_CA_CERTS'] ?? '';
    });
    expect(own).not.toBe('');
    expect(existsSync(own)).toBe(false);
  });

  it('refuses to start with plain HTTP except on loopback', async () => {
    for (const host of ['0.0.0.0', '::', '192.0.2.1', 'example.invalid']) {
      await expect(createEmulator({ http: true, host, users: 1, tags: 1 })).rejects.toThrow('loopback only');
    }
    await withEmulator({ host: 'localhost' }, async (emulator) => {
      expect((await call(emulator, 'GET /v1/team')).status).toBe(200);
    });
  });
});

describe('errors and team settings of the emulator', () => {
  it('answers 413 with a JSON string to a body of 11 MiB', async ({ emulator, ask }) => {
    const large = JSON.stringify('x'.repeat(11 * 2 ** 20));
    expect(await ask('POST /v1/tags', large)).toMatchObject({
      status: 413,
      text: '"error"',
      headers: { 'x-emulator-reason': 'Request body is too large' },
    });
    expect(await ask('GET /v1/inboxes', large)).toMatchObject({
      status: 413,
      text: '"bad_data"',
    });
    expect(emulator.requests.map((request) => request.status)).toEqual([413, 413]);
  });

  it('applies a new team name, API key and rate limit while it runs', async ({ emulator, ask }) => {
    const { team } = emulator;
    team.rename('Renamed');
    team.setApiKey('key');
    expect((await ask('GET /v1/team', undefined, 'key')).json).toMatchObject({
      name: 'Renamed',
    });
    team.setApiKey(undefined);
    expect((await ask('GET /v1/team', undefined, 'key')).status).toBe(401);
    team.setRate(2);
    expect((await ask('GET /v1/team')).status).toBe(200);
    expect((await ask('GET /v1/team')).status).toBe(429);
    team.setRate(0);
    expect((await ask('GET /v1/team')).status).toBe(200);
  });
});

describe('an emulator with several teams', () => {
  it("returns to each secret only the users of its own team, and answers 400 to an update of another team's user", () =>
    withEmulator(
      { teams: [{ users: 3 }, { teamId: 7, name: 'Seven', users: 4, seed: 9 }] },
      async (emulator) => {
        expect(emulator.teams.map((team) => team.id)).toEqual([41, 42, 7]);
        const sizes: number[] = [];
        const ids = new Set<number>();
        for (const team of emulator.teams) {
          const answer = await call({ ...emulator, environment: team.environment }, 'GET /v1/team');
          const { id, members } = answer.json as { id: number; members: { id: number }[] };
          expect(id).toBe(team.id);
          sizes.push(members.length);
          for (const member of members) ids.add(member.id);
        }
        expect(sizes).toEqual([20, 3, 4]);
        expect(ids.size).toBe(27);
        expect(emulator.requests.map((request) => request.team)).toEqual([41, 42, 7]);
        const foreign = emulator.teams[1]?.users()[0]?.id;
        const body = { users: [{ id: foreign, role_id: 1 }] };
        expect((await call(emulator, 'POST /v1/users/update', body)).status).toBe(400);
      },
    ));

  it('refuses to start if two teams share an id or a secret, or if one team has three secrets', async () => {
    await expect(createEmulator({ http: true, users: 1, teams: [{ teamId: 41 }] })).rejects.toThrow(
      'the id 41',
    );
    const secrets = [{ id: 'same', key: '1' }];
    const teams = [{ secrets }];
    await expect(createEmulator({ http: true, users: 1, secrets, teams })).rejects.toThrow(
      'API Secret ID same',
    );
    const three = ['a', 'b', 'c'].map((id) => ({ id, key: id }));
    await expect(createEmulator({ http: true, users: 1, secrets: three })).rejects.toThrow('at most two');
  });
});

describe('the state file of the emulator', () => {
  it('the emulator restores its state after a restart, and lets only the owner read the file', async () => {
    const stateFile = join(directory, 'state.json');
    const given = { stateFile, teams: [{ users: 2 }], apiKey: 'legacy' };
    const before = await withEmulator(given, async (emulator) => {
      emulator.team.removeUser(emulator.team.users()[3]?.id ?? 0);
      emulator.team.addSecret({ id: 'second', key: 'k' });
      return await Promise.resolve(emulator.snapshot());
    });
    expect(statSync(stateFile).mode & 0o077).toBe(0);
    await withEmulator({ stateFile, users: 1, seed: 99 }, async (emulator) => {
      expect(emulator.snapshot()).toEqual(before);
      for (const bearer of ['legacy', token({ id: 'second', key: 'k' })])
        expect((await call(emulator, 'GET /v1/team', undefined, bearer)).status).toBe(200);
      const tags = emulator.team.tags().map((tag) => tag.id);
      const created = (await call(emulator, 'POST /v1/tag', { tag: 'Fresh id' })).json as { id: number };
      expect(tags).not.toContain(created.id);
      const { email } = emulator.team.users().find((user) => user.email !== null) ?? {};
      const found = await call(emulator, 'GET /v1/users/get', { email: [email] });
      expect(found.json).toMatchObject({ memberships: [{ email }] });
    });
  });

  it('the emulator refuses a state file whose content is not the state of an emulator', async () => {
    const stateFile = join(directory, 'other.json');
    writeFileSync(stateFile, '{"teams":[]}');
    await expect(createEmulator({ http: true, stateFile })).rejects.toThrow('not the state of an emulator');
  });

  it('the emulator writes its files through a symbolic link of its own user, but rejects a link of another user', async () => {
    const [stateFile, target] = [join(directory, 'led.json'), join(directory, 'target.json')];
    writeFileSync(target, 'theirs');
    symlinkSync(target, `${stateFile}.new`);
    const emulator = await createEmulator({ http: true, stateFile });
    await emulator.close();
    expect([readFileSync(target, 'utf8'), lstatSync(stateFile).isFile()]).toEqual(['theirs', true]);
    renameSync(stateFile, target);
    symlinkSync(target, stateFile);
    const led = await createEmulator({ http: true, stateFile });
    await led.close();
    expect([lstatSync(stateFile).isSymbolicLink(), statSync(target).mode & 0o077]).toEqual([true, 0]);
    if (process.getuid?.() !== 0) return;
    for (const to of [target, join(directory, 'nothing')]) {
      rmSync(stateFile);
      symlinkSync(to, stateFile);
      lchownSync(stateFile, 65_534, 65_534);
      for (const options of [
        { http: true, stateFile },
        { http: false, authorityFile: stateFile },
      ])
        await expect(createEmulator(options)).rejects.toThrow('is a link of another user');
    }
  });
});

describe('the control endpoint', () => {
  const control = (emulator: Emulator, operation: string, body?: unknown) =>
    call(emulator, operation.replace(' ', ' /_emulator/'), body, null);
  const statusOf = async (url: string, headers: Record<string, string>, body: string) => {
    const answer = await request(url, { method: 'POST', headers, body });
    await answer.body.dump();
    return answer.statusCode;
  };

  it('the control endpoint lists all requests except its own', async ({ emulator, ask }) => {
    await ask('GET /v1/team');
    await ask('POST /v1/tags', { limit: 1 });
    const all = (await control(emulator, 'GET requests')).json as { number: number; path: string }[];
    expect(all).toMatchObject([
      { number: 1, method: 'GET', path: '/v1/team', status: 200, team: 41 },
      { number: 2, method: 'POST', path: '/v1/tags', body: { limit: 1 }, status: 200 },
    ]);
    expect(JSON.stringify(all)).not.toContain(emulator.environment['MUSTERD_SECRET_KEY']);
    expect((await control(emulator, 'GET requests?since=1')).json).toHaveLength(1);
    expect((await control(emulator, 'GET requests?path=/v1/team')).json).toHaveLength(1);
    await control(emulator, 'DELETE requests');
    expect((await control(emulator, 'GET requests')).json).toEqual([]);
  });

  it('the emulator keeps its answers to the newest fifty requests, and drops older answers', () =>
    withEmulator({ ratePerMinute: 0 }, async (emulator) => {
      for (let at = 0; at < 53; at += 1) await call(emulator, 'POST /v1/contacts/count', {});
      const answers = emulator.requests.map(({ answer }) => answer);
      expect(answers).toEqual([...Array(3).fill(undefined), ...Array(50).fill('"312456"')]);
    }));

  it('the control endpoint sets and lists faults, variants and the clock', async ({ emulator, ask }) => {
    await control(emulator, 'POST faults', ['status,code=500', { kind: 'status', code: 502, at: 1 }]);
    expect((await control(emulator, 'GET faults')).json).toHaveLength(2);
    expect((await ask('GET /v1/team')).status).toBe(500);
    await control(emulator, 'POST faults', { kind: 'html' });
    expect((await ask('GET /v1/team')).json).toBeUndefined();
    await control(emulator, 'DELETE faults');
    expect((await control(emulator, 'POST faults', '"explode"')).json).toMatchObject({
      error: expect.stringContaining('no fault "explode"') as string,
    });
    await control(emulator, 'PATCH variants', { pages: 'ignored', 'limit-cap': 3 });
    expect(emulator.variants()).toMatchObject({ pages: 'ignored', 'limit-cap': 3 });
    expect((await control(emulator, 'GET variants')).json).toEqual(emulator.variants());
    expect((await control(emulator, 'PATCH variants', { pages: 'no' })).status).toBe(400);
    await control(emulator, 'POST clock', { advanceMs: 5000 });
    expect((await control(emulator, 'GET clock')).json).toMatchObject({ skewMs: 5000 });
  });

  it('the control endpoint edits users, tags, fields and contacts as the web app does', async ({
    emulator,
    ask,
  }) => {
    const { team } = emulator;
    const users = (await control(emulator, 'GET teams/41/users')).json as { id: number; first: string }[];
    expect(users).toEqual(JSON.parse(JSON.stringify(team.users())));
    const id = users[2]?.id ?? 0;
    await control(emulator, `PATCH teams/41/users/${id}`, { first: 'Web', email: null, listed: false });
    expect(team.user(id)).toMatchObject({ first: 'Web', email: null, listed: false });
    expect((await control(emulator, `GET teams/41/users/${id}`)).json).toMatchObject({ first: 'Web' });
    const { json } = await control(emulator, 'POST teams/41/users', { first: 'New', phone: '41791112233' });
    expect(team.user((json as { id: number }).id)).toMatchObject({ first: 'New', listed: true, roleId: 4 });
    await control(emulator, `DELETE teams/41/users/${id}`);
    expect(team.users().map((user) => user.id)).not.toContain(id);
    const tag = (await control(emulator, 'POST teams/41/tags', { tag: 'T', color: '#123456' })).json as {
      id: number;
    };
    await control(emulator, `PATCH teams/41/tags/${tag.id}`, { tag: 'U' });
    expect(team.tags().at(-1)).toMatchObject({ tag: 'U', color: '#123456', rev: 2 });
    await control(emulator, `DELETE teams/41/tags/${tag.id}`);
    const field = (await control(emulator, 'POST teams/41/fields', { title: 'F' })).json as { id: number };
    await control(emulator, `PATCH teams/41/fields/${field.id}`, { title: 'G' });
    expect(team.fields().at(-1)).toMatchObject({ title: 'G', rev: 2 });
    await control(emulator, `DELETE teams/41/fields/${field.id}`);
    await control(emulator, 'PUT teams/41/contacts', { count: 9, body: { archived: true } });
    expect((await ask('POST /v1/contacts/count', { archived: true })).json).toBe('9');
    for (const list of ['tags', 'fields', 'surveys', 'inboxes', 'schedules']) {
      expect(Array.isArray((await control(emulator, `GET teams/41/${list}`)).json)).toBe(true);
    }
    expect((await control(emulator, 'GET teams')).json).toEqual([{ id: 41, name: team.name(), users: 20 }]);
    for (const wrong of ['GET teams/1/users', 'GET teams/41/users/5', 'DELETE teams/41/tags/5']) {
      expect((await control(emulator, wrong)).status).toBe(400);
    }
    expect((await control(emulator, `PATCH teams/41/users/${users[1]?.id}`, { name: 'x' })).status).toBe(400);
    expect(emulator.requests.filter((request) => request.path.startsWith('/_emulator'))).toEqual([]);
  });

  it.each([
    [{}, 200],
    [{ host: 'localhost:80' }, 200],
    [{ host: '[::1]:80' }, 200],
    [{ host: 'rebound.example' }, 403],
    [{ host: '127.0.0.1.rebound.example' }, 403],
    [{ host: '127.0.0.1:80.rebound.example' }, 403],
    [{ origin: 'http://localhost:3000' }, 200],
    [{ origin: 'https://elsewhere.example' }, 403],
    [{ origin: 'https://localhost.example' }, 403],
    [{ origin: 'null' }, 403],
    [{ 'content-type': 'application/json; charset=utf-8' }, 200],
    [{ 'content-type': 'text/plain' }, 403],
    [{ 'content-type': 'application/x-www-form-urlencoded' }, 403],
    [{ 'content-type': 'text/plain; application/json' }, 403],
    [{ 'content-type': undefined }, 403],
  ])('answers 403 if a foreign web page could send the headers: %j gets %i (S67)', (given, status) =>
    withEmulator({}, async (emulator) => {
      const headers = Object.entries({ 'content-type': 'application/json', ...given }).filter(
        ([, value]) => value !== undefined,
      );
      const sent = Object.fromEntries(headers) as Record<string, string>;
      expect(await statusOf(`${emulator.url}/_emulator/clock`, sent, '{"advanceMs": 5000}')).toBe(status);
      const { json } = await control(emulator, 'GET clock');
      expect(json).toMatchObject({ skewMs: status === 403 ? 0 : 5_000 });
    }),
  );

  it('with a control token, accepts any host name, and answers 403 to a wrong token or a foreign origin', () =>
    withEmulator({ controlToken: 'open sesame' }, async (emulator) => {
      const url = `${emulator.url}/_emulator/clock`;
      const headers = { authorization: 'Bearer open sesame', 'content-type': 'application/json' };
      for (const [given, status] of [
        [{ host: 'emulator:8080' }, 200],
        [{ origin: 'https://elsewhere.example' }, 403],
        [{ authorization: 'Bearer wrong' }, 403],
        [{ authorization: '' }, 403],
      ] as const)
        expect(await statusOf(url, { ...headers, ...given }, '{"advanceMs": 0}')).toBe(status);
    }));
});

describe('a team without users and rows', () => {
  it('the emulator answers each listing with an empty list, and the count of contacts with "0"', () =>
    withEmulator({ users: 0, tags: 0, fields: 0, surveys: 0, inboxes: 0, contacts: 0 }, async (emulator) => {
      expect((await call(emulator, 'GET /v1/team')).json).toMatchObject({ members: [] });
      expect((await call(emulator, 'GET /v1/users/get', {})).json).toEqual({ memberships: [] });
      for (const path of ['tags', 'contact-fields', 'surveys']) {
        expect((await call(emulator, `POST /v1/${path}`)).json).toEqual([]);
      }
      expect((await call(emulator, 'POST /v1/contacts/count')).json).toBe('0');
    }));
});
