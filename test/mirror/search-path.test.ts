import { randomBytes } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runPlan, runReconcile } from '../../src/runs/sync/reconcile-team.ts';
import { checkDatabase } from '../../src/runs/set-up/check/check-database.ts';
import { createReport } from '../../src/runs/set-up/check/check-report.ts';
import { createEmulator, type Emulator } from '../../src/emulator/create-emulator.ts';
import { createLog } from '../../src/log.ts';
import { createDatabase, type Database } from '../../src/mirror/db/database.ts';
import { migrate } from '../../src/mirror/migrations.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { createTestDatabase } from '../support/database.ts';
import { servers } from '../support/servers.ts';
import { castShadows } from '../support/shadows.ts';
import { configFor } from '../system/stage.ts';

const silent = { log: createLog({ level: 'silent' }) };
const path = 'pg_catalog, pg_temp';

it('only the demo and `musterd sql` send SQL text as a person typed it (S54)', () => {
  const src = fileURLToPath(new URL('../../src', import.meta.url));
  const files = globSync('**/*.ts', { cwd: src }).toSorted();
  const naming = (word: string) =>
    files.filter((name) => readFileSync(join(src, name), 'utf8').includes(word));
  expect(naming('asTyped')).toEqual(['mirror/db/database.ts', 'mirror/db/sql-text.ts']);
  expect(naming('runSqlText(')).toEqual(['mirror/db/sql-text.ts', 'runs/rehearse/demo-database.ts']);
});

describe.each(servers())('the search_path on $name', (server) => {
  it('each function of musterd sets search_path to pg_catalog and pg_temp (S56)', async () => {
    const database = await createTestDatabase({ server });
    const { rows } = await runSqlText(
      database.db,
      `select p.oid::regprocedure::text from pg_proc p
       where p.pronamespace::regnamespace::text in ('mirror', 'sync', 'report') and p.prosqlbody is null
         and not coalesce(p.proconfig, '{}') @> array['search_path=${path}']`,
    );
    await database.close();
    const advice = `write "set search_path = ${path}" into these functions (or give them a body of "begin atomic"), with a schema before every name that is not of pg_catalog`;
    expect(rows, advice).toEqual([]);
  });

  it('each statement of musterd sets search_path to pg_catalog, and restores the path of the session (S57)', async () => {
    const database = await createTestDatabase({ server });
    const db = createDatabase({ url: database.url, maxConnections: 1 });
    const read = sql<{ path: string }>`select current_setting('search_path') as path`;
    const pathOf = async (by: Parameters<typeof read.execute>[0]) => (await read.execute(by)).rows[0]?.path;
    expect(await pathOf(db.kysely)).toBe(path);
    expect(await pathOf(db.asTyped)).toBe('"$user", public');
    expect(await db.transaction(pathOf)).toBe(path);
    expect(await pathOf(db.asTyped)).toBe('"$user", public');
    await expect(sql`select 1 / 0`.execute(db.kysely)).rejects.toThrow('division by zero');
    expect(await pathOf(db.asTyped)).toBe('"$user", public');
    await db.close();
    await database.close();
  });
});

/** A role that may do nothing but create in `public`: the default of all databases made before Postgres 15. */
describe.each(servers())('a hostile role with functions in public on $name', (server) => {
  const suffix = randomBytes(4).toString('hex');
  const [owner, hostile, name] = [`test_owner_${suffix}`, `test_hostile_${suffix}`, `musterd_test_${suffix}`];
  let emulator: Emulator;
  let admin: Database;
  let asOwner: Database;

  const connect = (role: string) => {
    const url = new URL(server.url);
    [url.username, url.password, url.pathname] = [role, 'secret', `/${name}`];
    return createDatabase({ url: url.href, applicationName: 'musterd test' });
  };

  beforeAll(async () => {
    emulator = await createEmulator({ http: true, users: 6, tags: 3, fields: 2, ratePerMinute: 0 });
    admin = createDatabase({ url: server.url });
    await runSqlText(admin, `create role ${owner} login password 'secret'`);
    await runSqlText(admin, `create role ${hostile} login password 'secret'`);
    await runSqlText(admin, `create database ${name} owner ${owner} template template0`);
    asOwner = connect(owner);
    await runSqlText(asOwner, `grant create on schema public to ${hostile}`);
    const asHostile = connect(hostile);
    await castShadows(asHostile);
    await asHostile.close();
  });
  afterAll(async () => {
    await Promise.all([asOwner.close(), emulator.close()]);
    await runSqlText(admin, `drop database ${name} with (force)`);
    await runSqlText(admin, `drop role ${owner}, ${hostile}`);
    await admin.close();
  });

  it('a session with the default search_path calls the hostile functions', async () => {
    for (const call of [`concat('a'::text, 'b'::text)`, `1::bigint < 1::numeric`, `1::bigint || 'b'::text`])
      await expect(runSqlText(asOwner, `select ${call}`)).rejects.toThrow('a shadow was called');
  });

  it('migrations, runs and edits never call the hostile functions (S16)', async () => {
    await migrate(asOwner);
    const config = configFor(emulator.environment);
    const run = () => runReconcile(asOwner, config, 'reconcile', silent);
    expect(await run()).toMatchObject({ outcome: 'complete' });
    const [[id] = []] = (await runSqlText(asOwner, 'select id from mirror.users order by id limit 1')).rows;
    await runSqlText(
      asOwner,
      `update mirror.users set first_name = 'Robin', last_name = 'Reed', email = 'robin@example.com', phone = '15550111' where id = ${id}`,
    );
    emulator.team.editUser(Number(id) + 1, { phone: '15550112' });
    expect(await runPlan(asOwner, config, silent)).toMatchObject({});
    expect(await run()).toMatchObject({ outcome: 'complete' });
    expect(emulator.team.users().map(({ phone }) => phone)).toContain('15550111');
    const { rows } = await sql`
      select pg_describe_object(d.classid, d.objid, d.objsubid) from pg_depend d
      where d.refclassid = 'pg_proc'::regclass and d.classid <> 'pg_operator'::regclass
        and d.refobjid in (select p.oid from pg_proc p where p.pronamespace = 'public'::regnamespace)`.execute(
      asOwner.kysely,
    );
    expect(rows).toEqual([]);
  });

  it('check reports the schema public until only its owner can create objects there (S17)', async () => {
    const finding = async () => {
      const report = createReport();
      expect(await checkDatabase(asOwner, report)).toBe(true);
      return report.findings.find(({ check }) => check === 'search_path');
    };
    await migrate(asOwner);
    const detail = expect.stringContaining('revoke create on schema public from') as string;
    expect(await finding()).toMatchObject({ verdict: 'note', detail });
    await runSqlText(
      asOwner,
      `revoke create on schema public from ${hostile}; grant create on schema public to public`,
    );
    expect(await finding()).toMatchObject({ verdict: 'note', detail });
    await runSqlText(asOwner, 'revoke create on schema public from public');
    expect(await finding()).toMatchObject({ verdict: 'ok' });
  });
});
