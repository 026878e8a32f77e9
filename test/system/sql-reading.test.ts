import { existsSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Embedded, openEmbedded } from '../../src/embedded/embedded.ts';
import { readingUrl } from '../../src/embedded/reading-login.ts';
import { createDatabase, type Database } from '../../src/mirror/db/database.ts';
import { migrate } from '../../src/mirror/migrations.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { createTestDatabase } from '../support/database.ts';
import { ownFolder } from './own-folder.ts';
import { runMusterd } from './run-musterd.ts';
import { loginAt } from './stage.ts';

describe('musterd sql with the embedded Postgres', () => {
  let embedded: Embedded;
  let db: Database;
  const folder = ownFolder();
  const dataDir = join(folder, 'data');
  const proof = join(tmpdir(), `musterd-proof-${process.pid}`);
  const owner = async (text: string) => (await runSqlText(db, text)).rows;
  const sql = (...args: readonly string[]) => runMusterd(['sql', ...args], { MUSTERD_DATA_DIR: dataDir });
  beforeAll(async () => {
    embedded = await openEmbedded({ dataDir });
    db = createDatabase({ url: embedded.url, applicationName: 'musterd test' });
    await migrate(db);
    await owner(`
      set local musterd.writing = 'on';
      insert into sync.teams (team, team_id) values ('north', 41); delete from mirror.team_roles;
      insert into mirror.teams (team_id, name) values (41, 'North');
      create schema own; create table own.notes as select 'kept' as words`);
  });
  afterAll(async () => {
    await db.close();
    await embedded.close();
    rmSync(proof, { force: true });
  });

  it('connects without --write as a role that can only read, and that belongs only to reading roles', async () => {
    const asked = await sql(
      `select session_user::text as who, r.rolsuper or r.rolcreaterole or r.rolcreatedb or r.rolreplication as may,
         array(select m.rolname::text from pg_roles m where pg_has_role(m.oid, 'member') and m.rolname <> session_user order by 1) as of
       from pg_roles r where r.rolname = session_user`,
      '--json',
    );
    expect(asked).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(asked.stdout)).toEqual([
      { who: 'musterd_reading', may: false, of: ['musterd_reader', 'pg_read_all_data', 'pg_read_all_stats'] },
    ]);
  });

  it.each([
    [`copy (select 1) to program 'touch ${proof}'`],
    [`copy (select 1) to '${proof}'`],
    [`perform pg_read_file('/etc/passwd')`],
    [`perform lo_export(1, '${proof}')`],
    [`perform pg_terminate_backend(pid) from pg_stat_activity where usename = 'musterd'`],
    [`perform pg_reload_conf()`],
    ['set local role musterd'],
    ['set local session authorization musterd'],
    ['lock table mirror.users in share mode'],
  ])('denies a DO block that does more than read: %s (S46)', async (statement) => {
    for (const before of ['', 'reset role; ', 'reset session authorization; ']) {
      const { code, stderr } = await sql(`do $$ begin ${before}${statement}; end $$`);
      expect([code, stderr]).toEqual([1, expect.stringMatching(/ERROR: {2}permission denied/)]);
    }
    expect(existsSync(proof)).toBe(false);
    expect(await owner('select 1')).toEqual([[1]]);
  });

  it('reads rows of all teams in tables of every schema, and pg_stat_activity', async () => {
    const places = [
      'mirror.teams',
      'sync.teams',
      'sync.learned',
      'report.freshness',
      'report.roster',
      'own.notes',
      'pg_stat_activity',
    ];
    for (const place of places) {
      const [[seen] = []] = await owner(`select count(*) > 0 from ${place}`);
      expect([place, (await sql(`select count(*) > 0 as seen from ${place}`, '--json')).stdout]).toEqual([
        place,
        `[\n  {"seen":${String(seen)}}\n]\n`,
      ]);
    }
    expect((await sql('select * from sync.settled()')).code).toBe(0);
  });

  it('restores a dropped or changed reading role, even if three callers connect at the same time', async () => {
    const roles = () =>
      owner(`select rolsuper, rolcanlogin, rolbypassrls from pg_roles where rolname = 'musterd_reading'`);
    for (const change of [
      'drop role musterd_reading',
      'alter role musterd_reading superuser',
      'revoke pg_read_all_data from musterd_reading',
    ]) {
      await owner(change);
      const urls = await Promise.all([1, 2, 3].map(() => readingUrl(embedded.url)));
      expect(new Set(urls).size).toBe(1);
      expect(await roles()).toEqual([[false, true, true]]);
    }
    expect((await sql('select words from own.notes', '--format', 'csv')).stdout).toBe('words\nkept\n');
  });

  it('writes to a table with --write', async () => {
    expect((await sql(`insert into own.notes values ('more')`, '--write')).code).toBe(0);
    expect(await owner('select count(*)::int from own.notes')).toEqual([[2]]);
  });

  it('denies a login without privileges the advisory lock of the embedded server', async () => {
    await owner(`create role stranger login password 'stranger'`);
    const url = new URL(embedded.url);
    [url.username, url.password, url.pathname] = ['stranger', 'stranger', '/postgres'];
    const stranger = createDatabase({ url: url.href });
    await expect(runSqlText(stranger, 'select pg_advisory_lock(1836413796)')).rejects.toThrow(
      'permission denied for database "postgres"',
    );
    await stranger.close();
  });
});

it('musterd sql warns of a superuser in DATABASE_URL, but not of a read-only role or with --write', async () => {
  const database = await createTestDatabase();
  const role = `test_reading_${process.pid}`;
  await runSqlText(database.db, `create role ${role} login password 'secret' in role musterd_reader`);
  const warned = async (url: string, ...more: readonly string[]) => {
    const { code, stderr } = await runMusterd(['sql', 'select 1', ...more], { DATABASE_URL: url });
    return [code, stderr.includes('DATABASE_URL names a superuser')];
  };
  const own = loginAt(database.url, role);
  expect(await warned(database.url)).toEqual([0, true]);
  expect(await warned(own)).toEqual([0, false]);
  expect(await warned(database.url, '--write')).toEqual([0, false]);
  await runSqlText(database.db, `grant pg_execute_server_program to ${role}`);
  expect(await warned(own)).toEqual([0, true]);
  await runSqlText(database.db, `drop role ${role}`);
  await database.close();
});
