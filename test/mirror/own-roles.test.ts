import { randomBytes } from 'node:crypto';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { migrate } from '../../src/mirror/migrations.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { createTestDatabase } from '../support/database.ts';
import { useDatabase } from '../support/use-database.ts';

const suffix = randomBytes(4).toString('hex');
const cookbook = readFileSync(new URL('../../docs/sql-cookbook.md', import.meta.url), 'utf8');
const [, recipe = ''] = /```sql\n(create role team_reader[^`]*)```/.exec(cookbook) ?? [];

const database = useDatabase();
beforeAll(() => database.rows(recipe.replaceAll(/team_(?:reader|editor)/g, (name) => `${name}_${suffix}`)));
afterAll(async () => {
  const roles = `team_editor_${suffix}, team_reader_${suffix}`;
  await database.rows(`drop owned by ${roles}; drop role ${roles}`);
});

it('a role made as docs/sql-cookbook.md describes can read every report view', async () => {
  const rows = await database.rows(
    `select c.relname from pg_class c where c.relnamespace = 'report'::regnamespace and c.relkind = 'v' order by 1`,
  );
  expect(rows.length).toBeGreaterThan(5);
  for (const [view] of rows)
    await database.rows(`set local role team_editor_${suffix}; select * from report.${String(view)} limit 1`);
});

it('an upgrade grants a new view to roles that could read similar views, and to no other role', async () => {
  const [ofTags, ofPeople] = [`tags_${suffix}`, `people_${suffix}`];
  const older = await createTestDatabase({ empty: true });
  const folder = mkdtempSync(join(tmpdir(), 'musterd-migrations-'));
  const sql = async (text: string) => (await runSqlText(older.db, text)).rows;
  const as = (role: string, query: string) => sql(`set local role ${role}; ${query}`);
  try {
    await sql(`create role ${ofTags}; create role ${ofPeople}`);
    // The tables as they were before the last numbered file.
    cpSync('migrations', folder, { recursive: true });
    for (const later of ['0003_requests.sql', '0004_direct_commands.sql', 'repeatable'])
      rmSync(join(folder, later), { recursive: true });
    await migrate(older.db, { folder });
    await sql(`grant usage on schema mirror, report to ${ofTags}, ${ofPeople};
      grant select on mirror.tags to ${ofTags}; grant select on mirror.users to ${ofPeople}`);
    await migrate(older.db);
    // The views as if the next version brought them.
    await sql(`grant select on report.tags to ${ofTags}; grant select on report.roster to ${ofPeople};
      drop view report.inboxes, report.surveys, report.teams, report.inbox_members, mirror.inbox_members;
      delete from sync.migrations where name ~ '^repeatable'`);
    await migrate(older.db);
    for (const table of ['report.inboxes', 'mirror.inboxes', 'mirror.inbox_members', 'report.surveys'])
      expect(await as(ofTags, `select * from ${table}`)).toEqual([]);
    expect(await as(ofTags, 'select team, members from report.teams')).toEqual([]);
    // Names and addresses of people, and what else the service says of the team.
    for (const query of ['* from report.inbox_members', 'email from mirror.users', 'raw from mirror.teams'])
      await expect(as(ofTags, `select ${query}`)).rejects.toThrow('permission denied');
    expect(await as(ofPeople, 'select * from report.inbox_members')).toEqual([]);
    for (const query of ['* from report.surveys', '* from mirror.inboxes'])
      await expect(as(ofPeople, `select ${query}`)).rejects.toThrow('permission denied');
  } finally {
    rmSync(folder, { recursive: true });
    await sql(`drop owned by ${ofTags}, ${ofPeople}; drop role ${ofTags}, ${ofPeople}`);
    await older.close();
  }
});
