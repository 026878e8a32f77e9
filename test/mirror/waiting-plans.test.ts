import { copyFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { migrate } from '../../src/mirror/migrations.ts';
import { runSqlText } from '../../src/mirror/sql-text.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

let database: TestDatabase;
let folder: string;
beforeEach(async () => {
  database = await createTestDatabase({ empty: true });
  folder = mkdtempSync(join(tmpdir(), 'musterd-migrations-'));
});
afterEach(async () => {
  rmSync(folder, { recursive: true });
  await database.close();
});

test('what an earlier version wrote down as rejected is rejected still, and no other brake is', async () => {
  const all = readdirSync('migrations').filter((name) => name.endsWith('.sql'));
  const take = (names: readonly string[]) => {
    for (const name of names) copyFileSync(join('migrations', name), join(folder, name));
  };
  take(all.filter((name) => name < '0014'));
  await migrate(database.db, { folder });
  await runSqlText(
    database.db,
    `insert into sync.held_fields (team_id, user_id, field, reason, detail) values
       (41, 1, 'email', 'brake', 'rejected: not these'), (41, 1, 'phone', 'brake', 'user 2 has the same phone')`,
  );
  take(all);
  await migrate(database.db, { folder });
  const { rows } = await runSqlText(
    database.db,
    'select field, reason, detail from sync.held_fields order by field',
  );
  expect(rows).toEqual([
    ['email', 'rejected', 'not these'],
    ['phone', 'brake', 'user 2 has the same phone'],
  ]);
});
