import { execFile } from 'node:child_process';
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
import { request } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEmulator, type Emulator } from '../../src/emulator/create-emulator.ts';
import { call, secretOf, token } from './call.ts';
import { createPlainClient } from './plain-client.ts';
import { withEmulator } from './with-emulator.ts';

const directory = mkdtempSync(join(tmpdir(), 'emulator-test-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

describe('HTTPS (interface.md, general rule 2)', () => {
  let emulator: Emulator;
  beforeAll(async () => {
    emulator = await createEmulator({ users: 20, tags: 12, fields: 5 });
  });
  afterAll(() => emulator.close());

  it('verifies against the authority that was made on the spot, and against no other', async () => {
    expect(emulator.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    const secret = secretOf(emulator.environment);
    const trusting = createPlainClient({ baseUrl: emulator.url, secret, authority: emulator.authority });
    expect((await trusting.send('GET /v1/users/get', {})).status).toBe(200);
    const byName = emulator.url.replace('127.0.0.1', 'localhost');
    const named = createPlainClient({ baseUrl: byName, secret, authority: emulator.authority });
    expect((await named.send('GET /v1/team')).status).toBe(200);
    const distrusting = createPlainClient({ baseUrl: emulator.url, secret });
    await expect(distrusting.send('GET /v1/team')).rejects.toThrow(/certificate/);
  });

  it('the emulator serves a process that is started with its environment', async () => {
    const bearer = token(secretOf(emulator.environment));
    const program = `fetch(process.env.MUSTERD_BASE_URL + '/v1/team', { headers: { authorization: 'Bearer ${bearer}' } })
        .then((answer) => console.log(answer.status))`;
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', program], {
      env: { ...process.env, ...emulator.environment },
    });
    expect(stdout.trim()).toBe('200');
  });

  it('fails over plain HTTP, and can be reset like any connection', async () => {
    const plain = { url: emulator.url.replace('https', 'http'), environment: emulator.environment };
    await expect(call(plain, 'GET /v1/team')).rejects.toThrow();
    emulator.addFault({ kind: 'reset-in' });
    const code = await new Promise((resolve) => {
      const authorization = `Bearer ${token(secretOf(emulator.environment))}`;
      const sent = httpsRequest(`${emulator.url}/v1/team`, {
        ca: emulator.authority,
        headers: { authorization },
      });
      sent.on('error', (error: NodeJS.ErrnoException) => resolve(error.code));
      sent.on('response', (response) => {
        response.on('error', (error: NodeJS.ErrnoException) => resolve(error.code));
        response.on('end', () => resolve('ended'));
        response.resume();
      });
      sent.end();
    });
    expect(code).toBe('ECONNRESET');
  });

  it('a port that is taken is an error', async () => {
    const port = Number(new URL(emulator.url).port);
    await expect(createEmulator({ http: true, users: 1, tags: 1, port })).rejects.toThrow('EADDRINUSE');
  });

  it('the emulator leaves a file behind only at the path that it was given', async () => {
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

  it('refuses plain HTTP except on loopback', async () => {
    for (const host of ['0.0.0.0', '::', '192.0.2.1', 'example.invalid']) {
      await expect(createEmulator({ http: true, host, users: 1, tags: 1 })).rejects.toThrow('loopback only');
    }
    await withEmulator({ host: 'localhost' }, async (emulator) => {
      expect((await call(emulator, 'GET /v1/team')).status).toBe(200);
    });
  });
});

describe('errors and settings of the emulator itself', () => {
  it('a body that is too large is refused with a JSON string', () =>
    withEmulator({}, async (emulator) => {
      const large = JSON.stringify('x'.repeat(11 * 2 ** 20));
      expect(await call(emulator, 'POST /v1/tags', large)).toMatchObject({ status: 413, text: '"error"' });
      expect(await call(emulator, 'GET /v1/inboxes', large)).toMatchObject({
        status: 413,
        text: '"bad_data"',
      });
      expect(emulator.requests.map((request) => request.status)).toEqual([413, 413]);
    }));

  it('the settings of a team change while it runs', () =>
    withEmulator({}, async (emulator) => {
      const { team } = emulator;
      team.rename('Renamed');
      team.setApiKey('key');
      expect((await call(emulator, 'GET /v1/team', undefined, 'key')).json).toMatchObject({
        name: 'Renamed',
      });
      team.setApiKey(undefined);
      expect((await call(emulator, 'GET /v1/team', undefined, 'key')).status).toBe(401);
      team.setRate(2);
      expect((await call(emulator, 'GET /v1/team')).status).toBe(200);
      expect((await call(emulator, 'GET /v1/team')).status).toBe(429);
      team.setRate(0);
      expect((await call(emulator, 'GET /v1/team')).status).toBe(200);
    }));
});

describe('several teams at once', () => {
  it('several teams keep their own secrets, limits and ids', () =>
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

  it('several teams must not share an id or a secret, nor have three secrets', async () => {
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

describe('a state file', () => {
  it('a state file restores the teams exactly', async () => {
    const stateFile = join(directory, 'state.json');
    const options = { stateFile, teams: [{ users: 2 }], apiKey: 'legacy' };
    const look = await withEmulator(options, async (emulator) => {
      const [user] = emulator.team.users();
      await call(emulator, 'POST /v1/users/update', {
        users: [{ id: user?.id, first_name: 'Kept', last_name: '' }],
      });
      await call(emulator, 'POST /v1/tag', { tag: 'Kept too' });
      emulator.team.setContacts(5, { filter: 'x' });
      emulator.team.addSecret({ id: 'second', key: 'k' });
      emulator.team.removeUser(emulator.team.users()[3]?.id ?? 0);
      return emulator.teams.map((team) => [
        team.users(),
        team.tags(),
        team.fields(),
        team.environment['MUSTERD_SECRET_KEY'],
      ]);
    });
    expect(statSync(stateFile).mode & 0o077).toBe(0);
    await withEmulator({ stateFile, users: 1, seed: 99 }, async (emulator) => {
      expect(
        emulator.teams.map((team) => [
          team.users(),
          team.tags(),
          team.fields(),
          team.environment['MUSTERD_SECRET_KEY'],
        ]),
      ).toEqual(look);
      expect((await call(emulator, 'GET /v1/team', undefined, 'legacy')).status).toBe(200);
      expect(
        (await call(emulator, 'GET /v1/team', undefined, token({ id: 'second', key: 'k' }))).status,
      ).toBe(200);
      expect((await call(emulator, 'POST /v1/contacts/count', { filter: 'x' })).json).toBe('5');
      const tags = emulator.team.tags().map((tag) => tag.id);
      const created = (await call(emulator, 'POST /v1/tag', { tag: 'Fresh id' })).json as { id: number };
      expect(tags).not.toContain(created.id);
      const { email } = emulator.team.users().find((user) => user.email !== null) ?? {};
      const found = await call(emulator, 'GET /v1/users/get', { email: [email] });
      expect(found.json).toMatchObject({ memberships: [{ email }] });
    });
  });

  it('a state file fails to load without the state of an emulator in it', async () => {
    const stateFile = join(directory, 'other.json');
    writeFileSync(stateFile, '{"teams":[]}');
    await expect(createEmulator({ http: true, stateFile })).rejects.toThrow('not the state of an emulator');
  });

  it('a state file leaves files alone that links of another user point to', async () => {
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
  type Answered = { readonly status: number; readonly json: unknown };
  const control = async (
    url: string,
    operation: string,
    body?: unknown,
    bearer?: string,
  ): Promise<Answered> => {
    const [method = '', path = ''] = operation.split(' ');
    const answer = await fetch(`${url}/_emulator/${path}`, {
      method,
      headers: {
        ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: answer.status, json: await answer.json() };
  };

  it('the control endpoint shows the requests, and none of its own', () =>
    withEmulator({}, async (emulator) => {
      await call(emulator, 'GET /v1/team');
      await call(emulator, 'POST /v1/tags', { limit: 1 });
      const all = (await control(emulator.url, 'GET requests')).json as { number: number; path: string }[];
      expect(all).toMatchObject([
        { number: 1, method: 'GET', path: '/v1/team', status: 200, team: 41 },
        { number: 2, method: 'POST', path: '/v1/tags', body: { limit: 1 }, status: 200 },
      ]);
      expect(JSON.stringify(all)).not.toContain(emulator.environment['MUSTERD_SECRET_KEY']);
      expect((await control(emulator.url, 'GET requests?since=1')).json).toHaveLength(1);
      expect((await control(emulator.url, 'GET requests?path=/v1/team')).json).toHaveLength(1);
      await control(emulator.url, 'DELETE requests');
      expect((await control(emulator.url, 'GET requests')).json).toEqual([]);
    }));

  it('keeps the answers to the newest fifty requests', () =>
    withEmulator({ ratePerMinute: 0 }, async (emulator) => {
      for (let at = 0; at < 53; at += 1) await call(emulator, 'POST /v1/contacts/count', {});
      const answers = emulator.requests.map(({ answer }) => answer);
      expect(answers).toEqual([...Array(3).fill(undefined), ...Array(50).fill('"312456"')]);
    }));

  it('sets up faults, variants and the clock', () =>
    withEmulator({}, async (emulator) => {
      await control(emulator.url, 'POST faults', ['status,code=500', { kind: 'status', code: 502, at: 1 }]);
      expect((await control(emulator.url, 'GET faults')).json).toHaveLength(2);
      expect((await call(emulator, 'GET /v1/team')).status).toBe(500);
      await control(emulator.url, 'POST faults', { kind: 'html' });
      expect((await call(emulator, 'GET /v1/team')).json).toBeUndefined();
      await control(emulator.url, 'DELETE faults');
      expect((await control(emulator.url, 'POST faults', 'explode')).json).toMatchObject({
        error: expect.stringContaining('no fault "explode"') as string,
      });
      await control(emulator.url, 'PATCH variants', { pages: 'ignored', 'limit-cap': 3 });
      expect(emulator.variants()).toMatchObject({ pages: 'ignored', 'limit-cap': 3 });
      expect((await control(emulator.url, 'GET variants')).json).toEqual(emulator.variants());
      expect((await control(emulator.url, 'PATCH variants', { pages: 'no' })).status).toBe(400);
      await control(emulator.url, 'POST clock', { advanceMs: 5000 });
      expect((await control(emulator.url, 'GET clock')).json).toMatchObject({ skewMs: 5000 });
    }));

  it('the control endpoint edits users, tags, fields and contacts as the web app does', () =>
    withEmulator({}, async (emulator) => {
      const { url, team } = emulator;
      const users = (await control(url, 'GET teams/41/users')).json as { id: number; first: string }[];
      expect(users).toEqual(JSON.parse(JSON.stringify(team.users())));
      const id = users[2]?.id ?? 0;
      await control(url, `PATCH teams/41/users/${id}`, { first: 'Web', email: null, listed: false });
      expect(team.user(id)).toMatchObject({ first: 'Web', email: null, listed: false });
      expect((await control(url, `GET teams/41/users/${id}`)).json).toMatchObject({ first: 'Web' });
      const { json } = await control(url, 'POST teams/41/users', { first: 'New', phone: '41791112233' });
      expect(team.user((json as { id: number }).id)).toMatchObject({ first: 'New', listed: true, roleId: 4 });
      await control(url, `DELETE teams/41/users/${id}`);
      expect(team.users().map((user) => user.id)).not.toContain(id);
      const tag = (await control(url, 'POST teams/41/tags', { tag: 'T', color: '#123456' })).json as {
        id: number;
      };
      await control(url, `PATCH teams/41/tags/${tag.id}`, { tag: 'U' });
      expect(team.tags().at(-1)).toMatchObject({ tag: 'U', color: '#123456', rev: 2 });
      await control(url, `DELETE teams/41/tags/${tag.id}`);
      const field = (await control(url, 'POST teams/41/fields', { title: 'F' })).json as { id: number };
      await control(url, `PATCH teams/41/fields/${field.id}`, { title: 'G' });
      expect(team.fields().at(-1)).toMatchObject({ title: 'G', rev: 2 });
      await control(url, `DELETE teams/41/fields/${field.id}`);
      await control(url, 'PUT teams/41/contacts', { count: 9, body: { archived: true } });
      expect((await call(emulator, 'POST /v1/contacts/count', { archived: true })).json).toBe('9');
      for (const list of ['tags', 'fields', 'surveys', 'inboxes', 'schedules']) {
        expect(Array.isArray((await control(url, `GET teams/41/${list}`)).json)).toBe(true);
      }
      expect((await control(url, 'GET teams')).json).toEqual([{ id: 41, name: team.name(), users: 20 }]);
      for (const wrong of ['GET teams/1/users', 'GET teams/41/users/5', 'DELETE teams/41/tags/5']) {
        expect((await control(url, wrong)).status).toBe(400);
      }
      expect((await control(url, `PATCH teams/41/users/${users[1]?.id}`, { name: 'x' })).status).toBe(400);
      expect(emulator.requests.filter((request) => request.path.startsWith('/_emulator'))).toEqual([]);
    }));

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
  ])('takes from a browser only requests that no foreign page can send: %j (S67)', (given, status) =>
    withEmulator({}, async (emulator) => {
      const headers = Object.entries({ 'content-type': 'application/json', ...given }).filter(
        ([, value]) => value !== undefined,
      );
      const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
      const options = { method: 'POST', headers: Object.fromEntries(headers) as Record<string, string> };
      request(`${emulator.url}/_emulator/clock`, options, (response) => {
        resolve(response.statusCode);
        response.resume();
      })
        .on('error', reject)
        .end('{"advanceMs": 5000}');
      expect(await promise).toBe(status);
      const { json } = await control(emulator.url, 'GET clock');
      if (status === 403) expect((json as { skewMs: number }).skewMs).toBe(0);
      else expect((json as { skewMs: number }).skewMs).toBe(5_000);
    }),
  );

  it('refuses a page that knows its token, and takes any other name with it', () =>
    withEmulator({ controlToken: 'open sesame' }, async (emulator) => {
      const statusOf = async (more: Record<string, string>) => {
        const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
        const headers = { authorization: 'Bearer open sesame', ...more };
        request(`${emulator.url}/_emulator/teams`, { headers }, (response) => {
          resolve(response.statusCode);
          response.resume();
        })
          .on('error', reject)
          .end();
        return await promise;
      };
      expect(await statusOf({ host: 'emulator:8080' })).toBe(200);
      expect(await statusOf({ origin: 'https://elsewhere.example' })).toBe(403);
    }));

  it('the control endpoint answers 403 without its token, if it has one', () =>
    withEmulator({ controlToken: 'open sesame' }, async (emulator) => {
      expect((await control(emulator.url, 'GET teams')).status).toBe(403);
      expect((await control(emulator.url, 'GET teams', undefined, 'wrong')).status).toBe(403);
      expect((await control(emulator.url, 'GET teams', undefined, 'open sesame')).status).toBe(200);
    }));
});

describe('a team of any size', () => {
  it('serves 100,000 users and 20,000 tags', () =>
    withEmulator({ users: 100_000, tags: 20_000, ratePerMinute: 0 }, async (emulator) => {
      const { members } = (await call(emulator, 'GET /v1/team')).json as { members: unknown[] };
      expect(members).toHaveLength(100_000);
      const pages = await Promise.all(
        Array.from({ length: 20 }, (_, page) => call(emulator, 'POST /v1/tags', { limit: 1000, page })),
      );
      const ids = pages.flatMap((page) => (page.json as { id: number }[]).map(({ id }) => id));
      expect(new Set(ids).size).toBe(20_000);
    }));

  it('may be empty', () =>
    withEmulator({ users: 0, tags: 0, fields: 0, surveys: 0, inboxes: 0, contacts: 0 }, async (emulator) => {
      expect((await call(emulator, 'GET /v1/team')).json).toMatchObject({ members: [] });
      expect((await call(emulator, 'GET /v1/users/get', {})).json).toEqual({ memberships: [] });
      for (const path of ['tags', 'contact-fields', 'surveys']) {
        expect((await call(emulator, `POST /v1/${path}`)).json).toEqual([]);
      }
      expect((await call(emulator, 'POST /v1/contacts/count')).json).toBe('0');
    }));
});
