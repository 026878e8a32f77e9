import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { embeddedServer, installedBindir, servers, type TestServer } from '../support/servers.ts';
import { freePort } from '../support/postgres-process.ts';
import { createTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import { ownFolder } from './own-folder.ts';
import { copyDatabase, createService, type MirrorAt, mirrorAt } from './mirror-at.ts';
import { type DaemonHere, startDaemon } from './daemon-here.ts';
import { loginAt } from './stage.ts';

type Service = Awaited<ReturnType<typeof createService>>;

let service: Service;
const folder = ownFolder();
const databases: TestDatabase[] = [];
const proxies: TcpProxy[] = [];

beforeAll(async () => {
  service = await createService();
});
afterAll(async () => {
  for (const proxy of proxies) await proxy.close();
  for (const database of databases) await database.close();
  await service.emulator.close();
});

async function createUrl(made: Promise<TestDatabase>): Promise<string> {
  const database = await made;
  databases.push(database);
  return database.url;
}
const createEmpty = (server = embeddedServer()) => createUrl(createTestDatabase({ server, empty: true }));
const createMigrated = (server = embeddedServer()) => createUrl(createTestDatabase({ server }));

const at = (url: string, settings: Readonly<Record<string, string>> = {}) =>
  mirrorAt(service.emulator, { DATABASE_URL: url }, settings);

/** A mirror that is at home, after its first run. */
async function createHome(server?: TestServer) {
  const url = await createMigrated(server);
  const mirror = at(url);
  expect((await mirror.musterd('reconcile')).code).toBe(0);
  return { url, mirror };
}

const aUser = (): number => {
  const { value } = service.users.next();
  if (value === undefined) throw new Error('no user is left');
  return value;
};

/** As it is said in `musterd status`, `check` and the note of each run. */
const shown = (url: string) => {
  const { port, pathname } = new URL(url);
  return `localhost:${port}${pathname}`;
};

const installed = installedBindir() === undefined ? undefined : servers()[1];

/** Into an empty database, by the programs of the installed Postgres. */
function carry(from: string, to: string): void {
  const file = join(folder, 'musterd.dump');
  for (const [name = '', ...args] of [
    ['pg_dump', '--format=custom', `--file=${file}`, from],
    ['pg_restore', '--dbname', to, '--exit-on-error', file],
  ]) {
    const { status, stderr } = spawnSync(join(installedBindir() ?? '', name), args, { encoding: 'utf8' });
    expect({ name, status, stderr }).toEqual({ name, status: 0, stderr: '' });
  }
}

/** The rows of each table, as digests, and where each sequence stands. */
async function contentOf(mirror: MirrorAt) {
  const tables = await mirror.sql(`select c.oid::regclass::text from pg_class c where c.relkind = 'r'
    and c.relnamespace in ('mirror'::regnamespace, 'sync'::regnamespace) order by 1`);
  const digests = tables.map(
    ([name]) =>
      `select '${String(name)}', count(*), md5(string_agg(r::text, '|' order by r::text collate "C")) from ${String(name)} r`,
  );
  return [
    await mirror.sql(digests.join(' union all ')),
    await mirror.sql(`select schemaname, sequencename, last_value from pg_sequences order by 1, 2`),
  ];
}

const copyOf = async (url: string): Promise<MirrorAt> => at(await createUrl(copyDatabase(url)));

const adopt = (mirror: MirrorAt, ...args: readonly string[]) =>
  mirror.musterd('adopt', '--reason', 'it has moved', '--as', 'kim', '--yes', ...args);

/** Reads, compares, plans and pulls, and sends nothing before somebody has said that it has moved. */
async function expectNothingSent(copy: MirrorAt): Promise<void> {
  const [edited, changed] = [aUser(), aUser()];
  const before = service.emailOf(edited);
  const email = `edited${edited}@example.com`;
  await copy.edit(edited, email);
  service.emulator.team.editUser(changed, { phone: '15550142' });
  const updates = service.updates();
  for (const turn of [1, 2]) {
    const { code, said } = await copy.json('reconcile');
    expect({ turn, code, said }).toMatchObject({
      code: 3,
      said: { outcome: 'complete', place: 'elsewhere' },
    });
    expect(said['warnings']).toEqual([expect.stringContaining('nothing is sent from here')]);
  }
  expect(await copy.sql(`select phone from mirror.users where id = ${changed}`)).toEqual([['15550142']]);
  const plan = await copy.musterd('plan');
  expect(plan.stdout).toContain(email);
  expect(await copy.sql('select count(*) from sync.held_fields')).toEqual([[0n]]);
  expect(await copy.sql(`select count(*) from sync.changes where state = 'open'`)).toEqual([[0n]]);
  expect((await copy.musterd('status')).stdout).toMatch(
    /^place +this mirror was at .* until .*Z, and is at /m,
  );
  const check = await copy.musterd('check');
  expect(check.code).toBe(1);
  expect(check.stdout).toMatch(/^FAIL\tplace\tthis mirror was at /m);
  expect(service.updates()).toBe(updates);
  expect(service.emailOf(edited)).toBe(before);

  expect((await adopt(copy)).code).toBe(0);
  expect((await copy.musterd('reconcile')).code).toBe(0);
  expect(service.emailOf(edited)).toBe(email);
  expect((await copy.musterd('check')).code).toBe(0);
}

describe('a mirror at a new address', () => {
  it('musterd sends no edit from a copy made with a Postgres template until musterd adopt (D19)', async () => {
    const { url } = await createHome();
    await expectNothingSent(await copyOf(url));
  });

  it.skipIf(installed === undefined)(
    'musterd sends no edit from a copy made by pg_restore until musterd adopt (needs Postgres) (D19)',
    async () => {
      const { url, mirror } = await createHome(installed);
      const to = await createEmpty(installed);
      await mirror.sql(
        `update mirror.users set first_name = E'Tab\\there \\\\. \\\\N' where id = ${aUser()}`,
      );
      carry(url, to);
      const copy = at(to);
      expect(await contentOf(copy)).toEqual(await contentOf(mirror));
      // The counter of the other cluster was ahead.
      await copy.sql(
        `update sync.edits set xid = (pg_current_xact_id()::text::bigint + 1000000)::text::xid8`,
      );
      const ahead = 'select count(*) from sync.edits where xid >= pg_snapshot_xmax(pg_current_snapshot())';
      expect(await copy.sql(ahead)).not.toEqual([[0n]]);

      await expectNothingSent(copy);
      expect(await copy.sql(ahead)).toEqual([[0n]]);
      const { said } = await copy.json('changes', '--kind', 'place');
      expect(said['changes']).toMatchObject([
        {
          user_id: null,
          kind: 'place',
          old_value: shown(url),
          new_value: shown(to),
          decided_by: 'kim, said by musterd',
          decided_why: 'it has moved',
        },
      ]);
      expect((await copy.musterd('changes', '--kind', 'place')).stdout).toContain('kim');
      expect((await copy.json('status')).said['place']).toMatchObject({
        verdict: 'here',
        at: shown(to),
        by: 'kim',
        why: 'it has moved',
      });
    },
  );
});

describe('the recorded address of a mirror', () => {
  it('musterd migrate records no address, and the first run records the address of its connection', async () => {
    const url = await createEmpty();
    const target = { host: '127.0.0.1', port: Number(new URL(url).port) };
    const proxy = await createTcpProxy(target);
    proxies.push(proxy);
    const named = new URL(url);
    named.port = String(proxy.port);
    expect((await at(named.href).musterd('migrate')).code).toBe(0);
    expect(await at(url).sql(`select value -> 'addresses' from sync.learned where topic = 'place'`)).toEqual([
      [[]],
    ]);
    expect((await at(url).musterd('reconcile')).code).toBe(0);
    expect((await at(url).json('status')).said['place']).toMatchObject({
      verdict: 'here',
      known_at: [shown(url)],
    });
    // What was migrated here and restored there was never at home there.
    expect((await at(named.href).musterd('reconcile')).code).toBe(3);
  });

  it('musterd sends from every address added by adopt --also, until adopt without --also replaces them', async () => {
    const { url, mirror } = await createHome();
    const proxy = await createTcpProxy({ host: '127.0.0.1', port: Number(new URL(url).port) });
    proxies.push(proxy);
    const named = new URL(url);
    named.port = String(proxy.port);
    const also = at(named.href);
    const [first, second, third] = [aUser(), aUser(), aUser()];
    await also.edit(first, 'first@example.com');
    const run = await also.musterd('reconcile');
    expect(run.code).toBe(3);
    expect(run.stdout).toContain('musterd adopt --also --reason …');
    const added = await also.musterd('adopt', '--also', '--reason', 'a pooler', '--yes');
    expect(added).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`${shown(url)} or ${shown(named.href)}`) as string,
    });
    expect((await also.musterd('reconcile')).code).toBe(0);
    expect(service.emailOf(first)).toBe('first@example.com');
    for (const [mirrorOf, user] of [
      [mirror, second],
      [also, third],
    ] as const) {
      await mirrorOf.edit(user, `also${user}@example.com`);
      expect((await mirrorOf.musterd('reconcile')).code).toBe(0);
      expect(service.emailOf(user)).toBe(`also${user}@example.com`);
    }
    // Alone, it replaces them.
    expect((await adopt(also)).code).toBe(0);
    expect((await mirror.musterd('reconcile')).code).toBe(3);
  });

  it('an approver can read the address, but only the owner can change the address (S15)', async () => {
    const { url, mirror } = await createHome();
    const approver = `test_place_${new URL(url).pathname.slice(-8)}`;
    const as = async (text: string) => {
      return await at(loginAt(url, approver, 'x')).sql(text);
    };
    await mirror.sql(`create role ${approver} login password 'x' in role musterd_approver`);
    try {
      expect(await as(`select mirror.known_place() #>> '{place,kind}'`)).toEqual([['home']]);
      const server = `select system_identifier::text from pg_control_system()`;
      expect(await mirror.sql(`select mirror.known_place() #>> '{place,identifier}' = (${server})`)).toEqual([
        [true],
      ]);
      const say = `select sync.keep_place(mirror.known_place() -> 'place', '{"kind": "copy"}', null)`;
      await expect(as(say)).rejects.toMatchObject({ code: '42501' });
      const write = `update sync.learned set value = '{"kind": "copy"}' where topic = 'place'`;
      await expect(as(write)).rejects.toMatchObject({ code: '42501' });
      expect(await mirror.sql(say)).toEqual([[true]]);
    } finally {
      await mirror.sql(`drop role ${approver}`);
    }
  });

  it('musterd adopt exits 64 without --reason or without a confirmation', async () => {
    const { url, mirror } = await createHome();
    const copy = await copyOf(url);
    expect((await copy.musterd('adopt', '--yes')).code).toBe(64);
    const asked = await copy.musterd('adopt', '--reason', 'x');
    expect(asked.code).toBe(64);
    expect(asked.stderr).toContain('Stop musterd elsewhere first.');
    expect(asked.stderr).toContain('add --yes to do this');
    expect((await copy.musterd('adopt', '--as-copy', '--also', '--reason', 'x', '--yes')).code).toBe(64);
    expect((await copy.musterd('reconcile')).code).toBe(3);
    const again = await mirror.musterd('adopt', '--reason', 'x');
    expect(again).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Nothing would change') as string,
    });
  });
});

describe('two daemons, one of them at a copied mirror', () => {
  const daemons: DaemonHere[] = [];
  afterEach(async () => {
    await Promise.all(daemons.splice(0).map((daemon) => daemon.stop()));
  });
  /** After its first run each does nothing but what it is told of. */
  const start = async (mirror: MirrorAt) => {
    const port = await freePort();
    daemons.push(startDaemon({ ...mirror.environment, MUSTERD__status__port: String(port) }));
    return async () => {
      const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
      return /^musterd_place\{state="(\w+)"\} 1$/m.exec(metrics)?.[1];
    };
  };
  const runs = async (mirror: MirrorAt, where: string) => {
    const [[count] = []] = await mirror.sql(
      `select count(*) from sync.runs where command = 'daemon' and outcome = 'complete' and ${where}`,
    );
    return Number(count);
  };

  it('the daemon of the copy sends nothing until musterd adopt, then sends the waiting edit (D19)', async () => {
    const { url, mirror } = await createHome();
    const copy = await copyOf(url);
    const [here, there, later] = [aUser(), aUser(), aUser()];
    const [, place] = [await start(mirror), await start(copy)];
    for (const one of [mirror, copy])
      await eventually('the first run', async () => (await runs(one, `'users' = any (groups)`)) === 1);
    await copy.edit(there, 'there@example.com');
    await mirror.edit(here, 'here2@example.com');
    await eventually('the edit at home is sent', () => service.emailOf(here) === 'here2@example.com');
    await eventually('the other edit is looked at', async () => (await runs(copy, `groups = '{edits}'`)) > 0);
    await eventually(
      'that run is over',
      async () => (await copy.sql('select from sync.leases')).length === 0,
    );
    expect(service.emailOf(there)).not.toBe('there@example.com');
    expect(await place()).toBe('elsewhere');
    expect((await copy.json('reconcile')).code).toBe(3);
    expect(await copy.sql(`select email from mirror.users where id = ${here}`)).toEqual([
      ['here2@example.com'],
    ]);

    expect((await adopt(copy)).code).toBe(0);
    await eventually('what waited is sent', () => service.emailOf(there) === 'there@example.com');
    expect(await place()).toBe('here');
    // Its own record says nothing of that: it goes on, and that is why somebody is told to stop it.
    await mirror.edit(later, 'later2@example.com');
    await eventually('the old one goes on', () => service.emailOf(later) === 'later2@example.com');
  });
});
