/** What stands for rows, and for where they are. */
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Queryable } from '../../src/mirror/database.ts';
import { readListingRests, readRest } from '../../src/mirror/read-rest.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

let databases: readonly TestDatabase[];
beforeAll(async () => {
  databases = await Promise.all([createTestDatabase(), createTestDatabase()]);
});
afterAll(() => Promise.all(databases.map((database) => database.close())));

const printsOf = async (db: Queryable) => [
  (await readRest(db, 1n, null)).versions,
  (await readListingRests(db, 1n)).get('tags')?.print,
];

it('The same rows in another database are others', async () => {
  const [one = [], other = []] = await Promise.all(databases.map(({ db }) => printsOf(db.kysely)));
  for (const [at, print] of one.entries()) expect(print).not.toBe(other[at]);
});

it('The server is told apart by whoever may, and by nobody else', async () => {
  const db = databases[0]?.db;
  const before = await db?.transaction(printsOf);
  const since = await db?.transaction(async (tx) => {
    await sql`revoke execute on function pg_control_system() from public`.execute(tx);
    await sql`set local role pg_read_all_data`.execute(tx);
    return await printsOf(tx);
  });
  expect(since).toHaveLength(2);
  for (const [at, print] of before?.entries() ?? []) expect(print).not.toBe(since?.[at]);
});
