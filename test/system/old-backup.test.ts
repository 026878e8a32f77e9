import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEmulator, type Emulator } from '../../src/emulator/create-emulator.ts';
import { parseFaults } from '../../src/emulator/faults/faults.ts';
import { createDatabase } from '../../src/mirror/db/database.ts';
import { openEmbedded } from '../../src/embedded/embedded.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { runMusterd } from './run-musterd.ts';

/** D16: an old copy of the data directory, put in place of a newer mirror. */
describe('a mirror restored from an old backup', () => {
  let emulator: Emulator;
  let mirror:
    | { sql(text: string): Promise<readonly (readonly unknown[])[]>; stop(): Promise<void> }
    | undefined;
  const root = mkdtempSync(join(tmpdir(), 'musterd-backup-'));
  // The server may run as another account than the tests.
  chmodSync(root, 0o755);
  const dataDir = join(root, 'mirror');
  /** With owners and modes, as a backup keeps them. */
  const copy = (from: string, to: string) => {
    rmSync(to, { recursive: true, force: true });
    expect(spawnSync('cp', ['-a', from, to]).status).toBe(0);
  };
  beforeAll(async () => {
    emulator = await createEmulator({ http: true, users: 30, tags: 5, fields: 3, ratePerMinute: 0 });
    await start();
    expect((await reconcile()).code).toBe(0);
  });
  afterAll(async () => {
    await mirror?.stop();
    await emulator.close();
    rmSync(root, { recursive: true, force: true });
  });
  const reconcile = (quietPeriodMs = 600_000) =>
    runMusterd(['reconcile', '--json'], {
      ...emulator.environment,
      MUSTERD_DATA_DIR: dataDir,
      MUSTERD__rate__perMinute: '100000',
      MUSTERD__push__quietPeriodMs: String(quietPeriodMs),
    });
  /** Starts the server; the processes of the test attach to it. */
  const start = async () => {
    const embedded = await openEmbedded({ dataDir });
    const db = createDatabase({ url: embedded.url, applicationName: 'musterd test' });
    mirror = {
      sql: async (text) => (await runSqlText(db, text)).rows,
      stop: async () => {
        mirror = undefined;
        await db.close();
        await embedded.close();
      },
    };
  };
  const sql = (text: string) => mirror?.sql(text);
  const takeBackup = async () => {
    await mirror?.stop();
    copy(dataDir, join(root, 'old'));
    await start();
  };
  const restoreBackup = async () => {
    await mirror?.stop();
    copy(join(root, 'old'), dataDir);
    await start();
    emulator.clearRequests();
  };
  const sent = () => emulator.requests.filter(({ path }) => path === '/v1/users/update');
  /** Two users whom no other test has touched. */
  const twoUsers = (test: number) => {
    const [one, two] = emulator.team
      .users()
      .filter(({ email }) => email !== null)
      .slice(2 * test);
    if (one === undefined || two === undefined) throw new Error('no such users');
    return [one.id, two.id] as const;
  };
  /** Decides a conflict for the service. */
  const giveIn = async (user: number) => {
    await sql(`update mirror.users set email = 'later@example.com' where id = ${user}`);
    expect((await reconcile()).code).toBe(0);
    emulator.team.editUser(user, { email: `later${user}@example.com` });
    expect((await reconcile()).code).toBe(0);
  };

  it('reverts nothing on the service, and catches up', async () => {
    const [pushed, pulled] = twoUsers(0);
    await takeBackup();

    await sql(`update mirror.users set email = 'pushed@example.com' where id = ${pushed}`);
    emulator.team.editUser(pulled, { phone: '15550155' });
    expect((await reconcile()).code).toBe(0);
    expect(emulator.team.user(pushed).email).toBe('pushed@example.com');

    await restoreBackup();
    const before = emulator.team.users();
    expect((await reconcile()).code).toBe(0);
    expect(sent()).toEqual([]);
    expect(emulator.team.users()).toEqual(before);
    expect(await sql(`select email from mirror.users where id = ${pushed}`)).toEqual([
      ['pushed@example.com'],
    ]);
    expect(await sql(`select phone from mirror.users where id = ${pulled}`)).toEqual([['15550155']]);
  });

  it('settles an edit that was pending in it and arrived since, and holds one that was overtaken', async () => {
    const [arrived, overtaken] = twoUsers(1);
    await sql(`update mirror.users set email = id || '@example.com' where id in (${arrived}, ${overtaken})`);
    await takeBackup();
    expect((await reconcile()).code).toBe(0);
    expect(emulator.team.user(overtaken).email).toBe(`${overtaken}@example.com`);
    emulator.team.editUser(overtaken, { email: 'later@example.com' });
    expect((await reconcile()).code).toBe(0);

    await restoreBackup();
    const before = emulator.team.users();
    // A field waits for a person.
    expect((await reconcile()).code).toBe(3);
    expect(sent()).toEqual([]);
    expect(emulator.team.users()).toEqual(before);
    expect(
      await sql('select user_id, reason, mirror_value #>> array[]::text[] as mine from sync.held_fields'),
    ).toEqual([[BigInt(overtaken), 'conflict', `${overtaken}@example.com`]]);
    expect(await sql(`select user_id from sync.changes where kind = 'settle'`)).toEqual([[BigInt(arrived)]]);
    await giveIn(overtaken);
  });

  it('sends an edit again that was pending in it and was taken back on the service since', async () => {
    const [taken, also] = twoUsers(3);
    const before = emulator.team.user(taken).email;
    await sql(`update mirror.users set email = id || '@example.com' where id in (${taken}, ${also})`);
    await takeBackup();
    expect((await reconcile()).code).toBe(0);
    emulator.team.editUser(taken, { email: before });

    await restoreBackup();
    expect((await reconcile()).code).toBe(0);
    expect(sent()).toHaveLength(1);
    expect(emulator.team.user(taken).email).toBe(`${taken}@example.com`);
    expect(await sql('select user_id from report.held')).toEqual([]);
  });

  it('reads a push back that was open in it, and never sends it again for what it finds', async () => {
    const [arrived, overtaken] = twoUsers(2);
    await sql(`update mirror.users set email = id || '@example.com' where id in (${arrived}, ${overtaken})`);
    // The first update goes alone, the second after it; both are answered with an error and arrive later.
    for (const fault of parseFaults(['late,answer=504,requests=1000,path=/v1/users/update,times=2']))
      emulator.addFault(fault);
    expect((await reconcile()).code).toBe(1);
    const openPushes = `select user_id from sync.changes where state = 'open' order by 1`;
    expect(await sql(openPushes)).toEqual([[BigInt(arrived)], [BigInt(overtaken)]]);
    await takeBackup();
    emulator.applyLateWrites();
    expect((await reconcile()).code).toBe(0);
    emulator.team.editUser(overtaken, { email: 'later@example.com' });
    expect((await reconcile()).code).toBe(0);

    await restoreBackup();
    const before = emulator.team.users();
    expect((await reconcile()).code).toBe(1);
    // One is seen; the other may still be under way, for all that the backup knows.
    expect(await sql(openPushes)).toEqual([[BigInt(overtaken)]]);
    expect((await reconcile(0)).code).toBe(3);
    expect(await sql(openPushes)).toEqual([]);
    expect(
      await sql(
        `select user_id, outcome ->> 'email' as o from sync.changes where kind = 'push' and user_id in (${arrived}, ${overtaken}) order by 1`,
      ),
    ).toEqual([
      [BigInt(arrived), 'confirmed'],
      [BigInt(overtaken), 'changed'],
    ]);
    expect(sent()).toEqual([]);
    expect(emulator.team.users()).toEqual(before);
  });
});
