import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { migrate } from '../../src/mirror/migrations.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { servers } from '../support/servers.ts';
import { connectAs } from '../support/use-database.ts';

describe.each(servers())('migrate, with roles for people that lack rights, on $name', (server) => {
  let database: TestDatabase;
  beforeEach(async () => {
    database = await createTestDatabase({ server });
    await run(`revoke all on all tables in schema mirror, report from musterd_reader;
      revoke all on schema mirror, report from musterd_reader`);
  });
  afterEach(() => database.close());

  const run = (text: string) => runSqlText(database.db, text);
  const mayRead = async (role: string, place = 'report.changes') => {
    const { rows } = await run(
      `select has_schema_privilege('${role}', 'report', 'usage') and has_table_privilege('${role}', '${place}', 'select')`,
    );
    return rows[0]?.[0];
  };
  /** The transaction that wrote each right last. */
  const writers = async () => {
    const { rows } = await run(`
      select nspname::text, xmin::text from pg_namespace where nspname in ('mirror', 'report') union all
      select oid::regclass::text, xmin::text from pg_class
      where relnamespace in ('mirror'::regnamespace, 'report'::regnamespace) order by 1`);
    return rows;
  };

  it('grants the missing rights, and writes nothing at the second call', async () => {
    expect(await mayRead('musterd_reader')).toBe(false);
    expect(await migrate(database.db)).toEqual({ applied: [] });
    expect(await mayRead('musterd_reader')).toBe(true);
    const before = await writers();
    await migrate(database.db);
    expect(await writers()).toEqual(before);
  });

  it('grants the missing rights even if public may use the schema', async () => {
    await run('grant usage on schema mirror to public');
    await migrate(database.db);
    expect(await mayRead('musterd_reader')).toBe(true);
  });

  it('grants rights on the views of musterd, but not on a view that a user has added', async () => {
    await run('create view report.own as select email from mirror.users');
    await migrate(database.db);
    for (const place of ['report.inbox_members', 'report.teams', 'report.surveys', 'mirror.inboxes'])
      expect(await mayRead('musterd_reader', place)).toBe(true);
    expect(await mayRead('musterd_reader', 'report.own')).toBe(false);
  });

  it('does not restore a right that an administrator has revoked', async () => {
    await run('revoke select on report.changes from musterd_editor');
    await migrate(database.db);
    expect(await mayRead('musterd_editor')).toBe(false);
    expect(await mayRead('musterd_editor', 'report.roster')).toBe(true);
  });

  it('leaves the rights unchanged if another role than the owner migrates', async () => {
    const role = `test_other_${randomBytes(4).toString('hex')}`;
    await run(`create role ${role} login password 'secret';
      grant create on database ${new URL(database.url).pathname.slice(1)} to ${role};
      grant usage on schema mirror, sync, report to ${role};
      grant select, insert, update, delete on all tables in schema mirror, sync to ${role}`);
    const other = connectAs(database.url, role);
    try {
      expect(await migrate(other)).toEqual({ applied: [] });
      expect(await mayRead('musterd_reader')).toBe(false);
    } finally {
      await other.close();
      await run(`drop owned by ${role}; drop role ${role}`);
    }
  });
});
