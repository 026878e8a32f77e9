/** What reads edits, holds and the ledger of users leaves requests out, or shows them in words. */
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { showValue } from '../../src/model/field-values.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

type Row = Record<string, unknown>;

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.close());

const message = { inbox_id: 7, user_id: 1, execute_at: '2026-12-01T10:15:00Z' };
it.each([
  ['VIP', { tag: 'VIP' }],
  [
    '"Hello {{Plan}}" to 15550100, 2026-12-01 10:15 UTC',
    { ...message, text: 'Hello\n {{Plan}}', phone_number: '15550100' },
  ],
  [`"${'é'.repeat(60)}…" to list 3, 2026-12-01 10:15 UTC`, { ...message, text: 'é'.repeat(61), list_id: 3 }],
  [
    `"${'x'.repeat(60)}" to conversation 4, 2026-12-01 10:15 UTC`,
    { ...message, text: 'x'.repeat(60), conversation_id: 4 },
  ],
  ['template 12 to 15550100, 2026-12-01 10:15 UTC', { ...message, template_id: 12, targets: ['15550100'] }],
  [
    'attachments to 2 numbers, 2026-12-01 10:15 UTC',
    { ...message, text: '', attachments: [{}], targets: ['1555', '1556'] },
  ],
  ['15550100 in inbox 7', { inbox_id: 7, user_id: 1, target: '15550100' }],
  ['15550100 in inbox 7', { inbox_id: 7, user_id: 1, targets: ['15550100'] }],
  ['3 conversations in inbox 7', { inbox_id: 7, user_id: 1, targets: ['a', 'b', 'c'] }],
])('%s is what a person reads of such a request, in SQL and elsewhere', async (words, wanted) => {
  const { rows } = await sql<Row>`select mirror.field_text(${JSON.stringify(wanted)}::jsonb) as text`.execute(
    database.db.kysely,
  );
  expect([rows[0]?.['text'], showValue(wanted)]).toEqual([words, words]);
});
