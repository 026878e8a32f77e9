import { afterAll, beforeAll, expect, it } from 'vitest';
import { writeHolds } from '../../src/mirror/holds.ts';
import { runSqlText } from '../../src/mirror/sql-text.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.close());
const sql = async (text: string) => (await runSqlText(database.db, text)).rows;

it('keeps who rejected an edit, and why, of a user who left and came back', async () => {
  await sql(`insert into sync.held_fields
    (team_id, user_id, field, reason, base_value, mirror_value, service_value, decided_at, decided_by, decided_why)
    values (41, 1, 'email', 'rejected', '"a@x.y"', '"b@x.y"', '"a@x.y"', now() - interval '1 hour', 'anne', 'no')`);
  const values = { base: 'a@x.y', mirror: 'b@x.y', service: 'a@x.y' };
  const hold = { field: 'email', reason: 'rejected', detail: 'no', ...values } as const;
  await database.db.kysely
    .transaction()
    .execute((tx) => writeHolds(tx, { teamId: 41n, runId: null }, [{ id: 1n, hold }]));
  expect(
    await sql('select reason, decided_by, decided_why, decided_at < now() from sync.held_fields'),
  ).toEqual([['rejected', 'anne', 'no', true]]);
});
