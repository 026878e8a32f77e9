import { spawnSync } from 'node:child_process';
import { appendFileSync, chownSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { runReconcile } from '../../src/runs/sync/reconcile-team.ts';
import { createEmulator, type Emulator } from '../../src/emulator/create-emulator.ts';
import { createLog } from '../../src/log.ts';
import { createDatabase, type Database } from '../../src/mirror/db/database.ts';
import { openEmbedded } from '../../src/embedded/embedded.ts';
import { migrate } from '../../src/mirror/migrations.ts';
import { createListener } from '../../src/mirror/team/listen.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { eventually } from '../support/eventually.ts';
import { ownerOf, type PostgresProcess, startPostgres } from '../support/postgres-process.ts';
import { createTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import { ownFolder } from './own-folder.ts';
import { runMusterd } from './run-musterd.ts';
import { configFor, onService } from './stage.ts';

/** One side of a pair of servers. */
interface Side {
  readonly server: PostgresProcess;
  readonly url: string;
  readonly db: Database;
  sql(text: string): Promise<readonly (readonly unknown[])[]>;
}

/** D10 D11: a primary, and a standby that is always a little behind. */
describe('a mirror database with a standby server', () => {
  let emulator: Emulator;
  let primary: Side;
  let standby: Side;
  let users: readonly number[];
  /** Runs reach both by one address, as by a name that moves along with the primary. */
  const answering = { host: '127.0.0.1', port: 0 };
  let proxy: TcpProxy;
  const root = ownFolder();
  const silent = createLog({ level: 'silent' });
  const reconcile = (side: Side) => {
    answering.port = side.server.port;
    return reconcileAt(proxy.port);
  };
  const hostsAt = (...ports: readonly number[]) =>
    `${primary.url.replace(/@[^/]*/, `@${ports.map((port) => `127.0.0.1:${port}`).join()}`)}&target_session_attrs=read-write`;
  const reconcileAt = async (...ports: readonly number[]) => {
    const db = createDatabase({ url: hostsAt(...ports), applicationName: 'musterd test' });
    try {
      return await runReconcile(db, configFor(emulator.environment), 'reconcile', { log: silent });
    } finally {
      await db.close();
    }
  };

  const start = async (data: string, url: string): Promise<Side> => {
    const server = await startPostgres(data);
    const own = new URL(url);
    own.port = String(server.port);
    const db = createDatabase({ url: own.href, applicationName: 'musterd test' });
    const sql = async (text: string) => (await runSqlText(db, text)).rows;
    await eventually('the server takes questions', () =>
      sql('select 1').then(
        () => true,
        () => false,
      ),
    );
    return { server, url: own.href, db, sql };
  };

  /** A mirror of a service, and a cold copy of it that follows from then on. */
  beforeAll(async () => {
    emulator = await createEmulator({ http: true, users: 30, tags: 3, fields: 2, ratePerMinute: 0 });
    proxy = await createTcpProxy(answering);
    users = emulator.team.users().flatMap(({ id, email }) => (email === null ? [] : [id]));
    const dataDir = join(root, 'primary');
    const embedded = await openEmbedded({ dataDir });
    await embedded.close();
    const [data, copy] = [join(dataDir, 'cluster', 'data'), join(root, 'standby')];
    expect(spawnSync('cp', ['-a', data, copy]).status).toBe(0);
    primary = await start(data, embedded.url);
    const { username, password } = new URL(embedded.url);
    const conninfo = `host=127.0.0.1 port=${primary.server.port} user=${username} password=${password}`;
    appendFileSync(join(copy, 'postgresql.auto.conf'), `primary_conninfo = '${conninfo}'\n`);
    writeFileSync(join(copy, 'standby.signal'), '');
    const { uid, gid } = ownerOf(copy);
    chownSync(join(copy, 'standby.signal'), uid, gid);
    standby = await start(copy, embedded.url);
    await migrate(primary.db);
    answering.port = primary.server.port;
    expect(await reconcileAt(standby.server.port, proxy.port)).toMatchObject({ outcome: 'complete' });
  });
  afterAll(async () => {
    for (const { db, server } of [standby, primary]) {
      await db.close();
      await server.stop('SIGQUIT');
    }
    await proxy.close();
    await emulator.close();
  });

  const caughtUp = () =>
    eventually('the standby has all there is', async () => {
      const [[position] = []] = await primary.sql('select pg_current_wal_lsn()::text as at');
      const [[done] = []] = await standby.sql(
        `select pg_last_wal_replay_lsn() >= '${String(position)}'::pg_lsn as done`,
      );
      return done === true;
    });
  const edit = (user: number | undefined, email: string) =>
    primary.sql(`update mirror.users set email = '${email}' where id = ${user}`);

  it('refuses runs and writes on the standby, answers queries on the standby, and sends no request (D10)', async () => {
    await edit(users[0], 'before@example.com');
    await caughtUp();
    emulator.clearRequests();
    const { code, stderr } = await runMusterd(['reconcile'], {
      ...emulator.environment,
      DATABASE_URL: standby.url,
    });
    expect(stderr).toContain('is read-only');
    expect(code).toBe(1);
    const sql = (...args: readonly string[]) => runMusterd(['sql', ...args], { DATABASE_URL: standby.url });
    const asked = 'select name from report.runs join mirror.teams using (team_id) limit 1';
    expect(await sql(asked)).toMatchObject({ code: 0, stdout: expect.stringMatching(/^name\n./) as string });
    expect(await sql(String.raw`\d held`)).toMatchObject({ code: 0 });
    expect(await sql('delete from mirror.users', '--write')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('is read-only') as string,
    });
    await expect(reconcile(standby)).rejects.toThrow(/is not read-write/);
    expect(emulator.requests).toEqual([]);
  });

  it('pulls the values that a fail-over lost in the mirror, and reverts nothing on the service (D11)', async () => {
    // Replicated: the edit of the first user, which was not pushed yet. Lost: all that follows.
    await standby.sql(`alter system set primary_conninfo = ''`);
    await standby.sql('select pg_reload_conf()');
    await eventually('nothing is received any more', async () => {
      const [[receivers] = []] = await standby.sql('select count(*) from pg_stat_wal_receiver');
      return receivers === 0n;
    });
    await edit(users[1], 'pushed@example.com');
    emulator.team.editUser(users[2] ?? 0, { email: 'there@example.com' });
    emulator.clearRequests();
    expect(await reconcile(primary)).toMatchObject({
      outcome: 'complete',
      counts: { pushed: 2, pulled: 1 },
    });
    await edit(users[3], 'lost@example.com');
    await primary.server.stop('SIGQUIT');
    expect(await standby.sql('select pg_promote()')).toEqual([[true]]);

    const before = emulator.team.users();
    const sent = emulator.requests.filter(({ path }) => path === '/v1/users/update').length;
    expect(await standby.sql(`select email from mirror.users where id = ${users[1]}`)).not.toEqual([
      ['pushed@example.com'],
    ]);
    for (const counts of [{ pulled: 2, settled: 1 }, {}])
      expect(await reconcile(standby)).toMatchObject({ outcome: 'complete', waiting: 0, counts });
    expect(emulator.requests.filter(({ path }) => path === '/v1/users/update')).toHaveLength(sent);
    expect(emulator.team.users()).toEqual(before);
    const rows = await standby.sql('select id, email from mirror.users');
    expect(new Map(rows.map(([id, email]) => [Number(id), email ?? '']))).toEqual(
      new Map([...onService({ emulator })].map(([id, [, , email]]) => [id, email])),
    );
    expect(
      await standby.sql(
        'select count(*) from mirror.users u join sync.user_base b using (team_id, id) where u.email is distinct from b.email',
      ),
    ).toEqual([[0n]]);
  });

  it('connects to the second host of the database address after a fail-over, and sends edits from there (D19)', async () => {
    await standby.sql(`update mirror.users set email = 'next@example.com' where id = ${users[5]}`);
    const report = await reconcileAt(primary.server.port, standby.server.port);
    expect(report).toMatchObject({ outcome: 'complete', sendBlock: null, counts: { pushed: 1 } });
    expect(emulator.team.user(users[5] ?? 0).email).toBe('next@example.com');
  });

  it('listens at the host that accepts writes, and names every host in the error if none is the demanded standby', async () => {
    const url = hostsAt(primary.server.port, standby.server.port);
    const heard = Promise.withResolvers<void>();
    const listener = createListener({
      url,
      onEdit: () => {},
      onListening: heard.resolve,
      onLost: heard.reject,
    });
    onTestFinished(() => listener.close());
    await heard.promise;
    const { code, stderr } = await runMusterd(['sql', 'select 1'], {
      DATABASE_URL: url.replace('read-write', 'standby'),
    });
    expect(stderr).toMatch(/127\.0\.0\.1:\d+: connect ECONNREFUSED .*; 127\.0\.0\.1:\d+ is not standby/);
    expect(code).toBe(1);
  });
});
