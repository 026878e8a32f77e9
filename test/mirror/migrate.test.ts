import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CompiledQuery, sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createDatabase } from '../../src/mirror/db/database.ts';
import { migrate, pendingMigrations } from '../../src/mirror/migrations.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { failureOf } from '../support/failure-of.ts';
import { dumpSchema } from '../support/schema-dump.ts';
import { servers } from '../support/servers.ts';
import { connectAs } from '../support/use-database.ts';

describe.each(servers())('migrate on $name', (server) => {
  let database: TestDatabase;
  let folder: string;

  beforeEach(async () => {
    database = await createTestDatabase({ server, empty: true });
    folder = mkdtempSync(join(tmpdir(), 'musterd-migrations-'));
  });
  afterEach(async () => {
    rmSync(folder, { recursive: true, force: true });
    await database.close();
  });

  const write = (name: string, body: string) => writeFileSync(join(folder, name), body);
  const applied = async () =>
    (
      await sql<{
        name: string;
      }>`select name from sync.migrations where name !~ '^repeatable' order by timestamp, name`.execute(
        database.db.kysely,
      )
    ).rows.map(({ name }) => name);
  const exists = async (relation: string) => {
    const { rows } = await sql<{
      there: boolean;
    }>`select to_regclass(${relation}) is not null as there`.execute(database.db.kysely);
    return rows[0]?.there === true;
  };
  test('applies the migrations of musterd, and applies nothing at the second call', async () => {
    const pending = await pendingMigrations(database.db);
    expect(pending.length).toBeGreaterThan(0);
    expect(await exists('sync.migrations')).toBe(false);
    expect(await migrate(database.db)).toEqual({ applied: pending });
    expect(await applied()).toEqual([
      '0001_baseline',
      '0002_listings',
      '0003_requests',
      '0004_direct_commands',
    ]);
    expect(await exists('mirror.users')).toBe(true);
    expect(await pendingMigrations(database.db)).toEqual([]);
    expect(await migrate(database.db)).toEqual({ applied: [] });
  });

  test('applies new files in the order of the file names, also files with several statements', async () => {
    write('0002_b.sql', 'alter table public.a add column more text; insert into public.a values (2);');
    write('0001_a.sql', 'create table public.a (id int); insert into public.a values (1);');
    write('notes.md', 'no migration');
    expect(await migrate(database.db, { folder })).toEqual({ applied: ['0001_a', '0002_b'] });
    write('0003_c.sql', 'insert into public.a values (3)');
    expect(await pendingMigrations(database.db, { folder })).toEqual(['0003_c']);
    expect(await migrate(database.db, { folder })).toEqual({ applied: ['0003_c'] });
    const { rows } = await sql`select id from public.a order by id`.execute(database.db.kysely);
    expect(rows).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }]);
  });

  test('applies nothing from an empty folder', async () => {
    expect(await migrate(database.db, { folder })).toEqual({ applied: [] });
  });

  test('records a file without a statement as applied', async () => {
    write('0001_a.sql', '-- nothing\n');
    expect(await migrate(database.db, { folder })).toEqual({ applied: ['0001_a'] });
  });

  test('reports file and line of a mistake in SQL, and rolls back all files', async () => {
    write('0001_a.sql', 'create table public.a (id int);');
    write(
      '0002_b.sql',
      'create table public.b (id int);\n-- é🎉\nalter table public.b\n  add column c no_such_type;\n',
    );
    const error = await failureOf(migrate(database.db, { folder }));
    expect(error.code).toBe('mirror');
    expect(error.message).toContain('0002_b.sql:4');
    expect(error.message).toContain('no_such_type');
    expect(await exists('public.a')).toBe(false);
    expect(await exists('sync.migrations')).toBe(false);
    write('0002_b.sql', 'create table public.b (id int)');
    expect(await migrate(database.db, { folder })).toEqual({ applied: ['0001_a', '0002_b'] });
  });

  test('reports message and hint of an error that a do block raises', async () => {
    write('0001_a.sql', "do $$ begin raise exception 'stop here' using hint = 'think'; end $$;");
    const error = await failureOf(migrate(database.db, { folder }));
    expect(error.message).toMatch(/0001_a\.sql.*stop here.*think/s);
  });

  test('rejects a database with a migration that this version does not have (D13)', async () => {
    write('0001_a.sql', 'create table public.a (id int)');
    write('0002_b.sql', 'create table public.b (id int)');
    await migrate(database.db, { folder });
    rmSync(join(folder, '0002_b.sql'));
    for (const attempt of [migrate, pendingMigrations]) {
      const error = await failureOf(attempt(database.db, { folder }));
      expect(error.message).toMatch(/newer than this musterd.*0002_b/);
      expect(error.hint).toMatch(/Update/);
    }
  });

  test('rejects a file that was changed after it was applied, but accepts other line endings', async () => {
    write('0001_a.sql', 'create table public.a (id int);\n-- end\n');
    await migrate(database.db, { folder });
    write('0001_a.sql', 'create table public.a (id int);\r\n-- end\r\n');
    expect(await migrate(database.db, { folder })).toEqual({ applied: [] });
    write('0001_a.sql', 'create table public.a (id bigint);\n-- end\n');
    for (const attempt of [migrate, pendingMigrations]) {
      expect((await failureOf(attempt(database.db, { folder }))).message).toMatch(/0001_a was changed/);
    }
  });

  test('rejects a new file with a lower number than an applied file', async () => {
    write('0002_b.sql', 'create table public.b (id int)');
    await migrate(database.db, { folder });
    write('0001_a.sql', 'create table public.a (id int)');
    for (const attempt of [migrate, pendingMigrations])
      expect((await failureOf(attempt(database.db, { folder }))).message).toMatch(
        /0001_a comes before 0002_b/,
      );
    expect(await exists('public.a')).toBe(false);
  });

  test('rejects a file without a number, and a missing folder', async () => {
    write('create_a.sql', 'create table public.a (id int)');
    expect((await failureOf(migrate(database.db, { folder }))).message).toMatch(/create_a\.sql/);
    const nowhere = join(folder, 'nowhere');
    expect((await failureOf(migrate(database.db, { folder: nowhere }))).message).toMatch(/missing/);
  });

  test('fails with a hint at the missing grant if the role lacks rights', async () => {
    const role = `musterd_guest_${process.pid}_${server.major}`;
    await sql`create role ${sql.id(role)} login password 'secret'`.execute(database.db.kysely);
    const guest = connectAs(database.url, role);
    try {
      expect(await failureOf(migrate(guest))).toMatchObject({
        code: 'denied',
        hint: expect.stringMatching(/grant create/),
      });
      await migrate(database.db);
      expect((await failureOf(pendingMigrations(guest))).hint).toMatch(/role in DATABASE_URL/);
    } finally {
      await guest.close();
      await sql`drop role ${sql.id(role)}`.execute(database.db.kysely);
    }
  });

  test('does not wait for a lock of sync.migrations if all files are applied', async () => {
    write('0001_a.sql', 'create table public.a (id int)');
    await migrate(database.db, { folder });
    await database.db.transaction(async (tx) => {
      await sql`lock table sync.migrations in exclusive mode`.execute(tx);
      expect(await migrate(database.db, { folder })).toEqual({ applied: [] });
    });
  });

  test('applies all repeatable files again, in order, if one of them changes', async () => {
    mkdirSync(join(folder, 'repeatable'));
    write('0001_a.sql', 'create table public.a (id int);');
    write(
      'repeatable/01_f.sql',
      'create or replace function public.f() returns int language sql as $$ select public.g() $$;',
    );
    write('repeatable/02_g.sql', 'create or replace function public.g() returns int language sql return 1;');
    const all = ['repeatable/01_f', 'repeatable/02_g'];
    expect(await migrate(database.db, { folder })).toEqual({ applied: ['0001_a', ...all] });
    expect(await migrate(database.db, { folder })).toEqual({ applied: [] });
    const value = async () => (await sql`select public.f() as f`.execute(database.db.kysely)).rows;
    expect(await value()).toEqual([{ f: 1 }]);
    const second = 'create or replace function public.g() returns int language sql return 2;';
    write('repeatable/02_g.sql', second);
    write('0002_b.sql', 'create table public.b (id int);');
    expect(await pendingMigrations(database.db, { folder })).toEqual(['0002_b', 'repeatable/02_g']);
    // What fails leaves nothing of the others.
    write('repeatable/03_h.sql', 'create or replace view public.h as select nothing;');
    const error = await failureOf(migrate(database.db, { folder }));
    expect(error.message).toContain('repeatable/03_h.sql:1');
    expect([await exists('public.b'), await value()]).toEqual([false, [{ f: 1 }]]);
    rmSync(join(folder, 'repeatable/03_h.sql'));
    // Each of them is applied, whichever changed: one may have taken away what another made.
    await sql`drop function public.f()`.execute(database.db.kysely);
    expect(await migrate(database.db, { folder })).toEqual({ applied: ['0002_b', 'repeatable/02_g'] });
    expect(await value()).toEqual([{ f: 2 }]);
    // A new table may need them as well.
    await sql`drop function public.f()`.execute(database.db.kysely);
    write('0003_c.sql', 'select 1');
    expect(await migrate(database.db, { folder })).toEqual({ applied: ['0003_c'] });
    expect(await value()).toEqual([{ f: 2 }]);
  });

  test('rejects an older text of a repeatable file, since the schema is newer', async () => {
    mkdirSync(join(folder, 'repeatable'));
    for (const text of ['select 1', 'select 2']) {
      write('repeatable/01_f.sql', text);
      await migrate(database.db, { folder });
    }
    write('repeatable/01_f.sql', 'select 1');
    for (const attempt of [migrate, pendingMigrations])
      expect((await failureOf(attempt(database.db, { folder }))).message).toMatch(
        /newer than this musterd.*a newer text of repeatable\/01_f/,
      );
    write('repeatable/01_f.sql', 'select 3');
    expect(await migrate(database.db, { folder })).toEqual({ applied: ['repeatable/01_f'] });
  });

  test('musterd takes no advisory lock, which any role could take too (S47)', () => {
    const folders = ['src/mirror', 'src/runs', 'src/daemon', 'migrations'];
    const texts = folders.flatMap((place) =>
      readdirSync(place, { recursive: true, encoding: 'utf8' })
        .filter((name) => /\.(?:ts|sql)$/.test(name))
        .map((name) => readFileSync(join(place, name), 'utf8')),
    );
    expect(texts.length).toBeGreaterThan(100);
    expect(texts.filter((one) => /pg_(?:try_)?advisory/.test(one))).toEqual([]);
  });

  test.each([
    ['the database is empty', 'create schema sync', 'transactionid'],
    ['the schema exists', 'lock table sync.migrations in share row exclusive mode', 'relation'],
  ])('three processes at once apply each file once: %s (D13)', async (_, hold, waitsFor) => {
    if (waitsFor === 'relation') {
      write('0000_before.sql', 'select 1');
      await migrate(database.db, { folder });
    }
    write('0001_a.sql', 'create table public.a (id int); insert into public.a values (1);');
    const others = [1, 2, 3].map(() => createDatabase({ url: database.url }));
    const running = await database.db.transaction(async (tx) => {
      await tx.executeQuery(CompiledQuery.raw(hold));
      const all = others.map((one) => migrate(one, { folder }));
      await eventually('all of them are at it', async () => {
        const { rows } = await sql`
          select from pg_locks join pg_stat_activity using (pid)
          where datname = current_database() and locktype = ${waitsFor} and not granted`.execute(
          database.db.kysely,
        );
        return rows.length === 3;
      });
      return { all };
    });
    const outputs = await Promise.all(running.all);
    expect(outputs.flatMap((output) => output.applied)).toEqual(['0001_a']);
    for (const one of others) await one.close();
    const { rows } = await sql`select id from public.a`.execute(database.db.kysely);
    expect(rows).toEqual([{ id: 1 }]);
  });

  test('rejects a schema from before 0.1.0, and hints at how to move its data', async () => {
    const migrated = await createTestDatabase({ server });
    onTestFinished(() => migrated.close());
    await sql`
      truncate sync.migrations;
      insert into sync.migrations (name, timestamp) values ('0001_mirror', '2026-01-01'), ('0070_known_rows', '2026-03-04')`.execute(
      migrated.db.kysely,
    );
    const before = await dumpSchema(migrated.db);
    for (const attempt of [migrate, pendingMigrations]) {
      const { message, hint } = await failureOf(attempt(migrated.db));
      expect([message, hint]).toEqual([
        'The schema was made by a musterd before 0.1.0: its last migration is 0070_known_rows.',
        expect.stringContaining('restore the dump into an empty database with musterd 0.1.0'),
      ]);
    }
    expect(await dumpSchema(migrated.db)).toBe(before);
  });

  test('leaves nothing behind and releases its lock if its connection is killed (D13)', async () => {
    write('0001_a.sql', 'create table public.a (id int); select pg_sleep(60);');
    const other = createDatabase({ url: database.url, applicationName: 'musterd victim' });
    const attempt = failureOf(migrate(other, { folder }));
    const pid = await eventually('it is at work', async () => {
      const { rows } = await sql<{ pid: number }>`
        select pid from pg_stat_activity
         where application_name = 'musterd victim' and datname = current_database() and wait_event = 'PgSleep'`.execute(
        database.db.kysely,
      );
      return rows[0]?.pid;
    });
    await sql`select pg_terminate_backend(${pid})`.execute(database.db.kysely);
    expect((await attempt).code).toBe('mirror');
    await other.close();
    write('0001_a.sql', 'create table public.a (id int);');
    expect(await migrate(database.db, { folder })).toEqual({ applied: ['0001_a'] });
  });
});
