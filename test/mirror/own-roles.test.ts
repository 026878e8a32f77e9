import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

const suffix = randomBytes(4).toString('hex');
const cookbook = readFileSync(new URL('../../docs/sql-cookbook.md', import.meta.url), 'utf8');
const [, recipe = ''] = /```sql\n(create role team_reader[^`]*)```/.exec(cookbook) ?? [];

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  await runSqlText(
    database.db,
    recipe.replaceAll(/team_(?:reader|editor)/g, (name) => `${name}_${suffix}`),
  );
});
afterAll(async () => {
  const roles = `team_editor_${suffix}, team_reader_${suffix}`;
  await runSqlText(database.db, `drop owned by ${roles}; drop role ${roles}`);
  await database.close();
});

it('a role of one’s own, made as the cookbook says, reads every view of report', async () => {
  const { rows } = await runSqlText(
    database.db,
    `select c.relname from pg_class c where c.relnamespace = 'report'::regnamespace and c.relkind = 'v' order by 1`,
  );
  expect(rows.length).toBeGreaterThan(5);
  for (const [view] of rows)
    await runSqlText(
      database.db,
      `set local role team_editor_${suffix}; select * from report.${String(view)} limit 1`,
    );
});
