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
  (await readListingRests(db, 1n)).tags.print,
];

it('The same rows in another database are others', async () => {
  const [one = [], other = []] = await Promise.all(databases.map(({ db }) => printsOf(db.kysely)));
  for (const [at, print] of one.entries()) expect(print).not.toBe(other[at]);
});

it('What stands for one listing is not moved by another', async () => {
  const db = databases[0]?.db;
  const after = async (tx: Queryable, statement: string) => {
    await sql.raw(statement).execute(tx);
    return await readListingRests(tx, 7n);
  };
  await db?.transaction(async (tx) => {
    const [before, tagged, lacking] = [
      await after(tx, `select set_config('musterd.writing', 'on', true)`),
      await after(tx, `insert into mirror.tags (team_id, id, tag) values (7, 1, 'a')`),
      await after(
        tx,
        `insert into sync.absences (team_id, resource, id, missing_since) values (7, 'contact_fields', 1, now())`,
      ),
    ];
    expect(tagged.tags.print).not.toBe(before.tags.print);
    expect(tagged.contact_fields).toEqual(before.contact_fields);
    expect(lacking.tags).toEqual(tagged.tags);
    expect(lacking.contact_fields).toEqual({ ...before.contact_fields, isLacking: true });
  });
});

it('Whoever is missing, open, held or shown with older values is noted as not at rest', async () => {
  await databases[0]?.db.transaction(async (tx) => {
    await sql
      .raw(`
      insert into sync.absences (team_id, resource, id, missing_since) values (8, 'users', 1, now()), (8, 'tags', 9, now()), (9, 'users', 9, now());
      insert into sync.changes (team_id, user_id, kind, state, base, new) values (8, 2, 'push', 'open', '{}', '{}');
      insert into sync.held_fields (team_id, user_id, field, reason) values (8, 3, 'email', 'conflict'), (9, 9, 'email', 'conflict');
      insert into sync.stale_rows (team_id, id) values (8, 4), (9, 9)`)
      .execute(tx);
    expect(new Set((await readRest(tx, 8n, null)).restless)).toEqual(new Set([1n, 2n, 3n, 4n]));
  });
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
