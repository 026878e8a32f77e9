/** What the database tells of the time since a record was made. */
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Queryable } from '../../src/mirror/db/database.ts';
import {
  readListingRests,
  readRest,
  readRowHashes,
  readTaken,
  toResting,
} from '../../src/mirror/team/read-rest.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import type { RestingUsers } from '../../src/model/rest.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';

let databases: readonly TestDatabase[];
let db: TestDatabase['db'];
beforeAll(async () => {
  databases = await Promise.all([createTestDatabase(), createTestDatabase()]);
  db = (databases[0] as TestDatabase).db;
});
afterAll(() => Promise.all(databases.map((database) => database.close())));

const run = (text: string) => runSqlText(db, text);
/** Past the triggers. */
const write = (text: string) =>
  db.transaction(async (tx) => {
    await sql.raw(`set local session_replication_role = replica; ${text}`).execute(tx);
  });
const marksOf = async (on: Queryable) => [
  (await readRest(on, 7n)).mark,
  (await readListingRests(on, 7n)).get('tags')?.mark,
];

/** The rest of a mark is another one after each transaction, whoever's it is. */
const placeOf = (mark: string | undefined) => mark?.split(' ')[0];

const transactionOf = async (on: Queryable): Promise<bigint> => {
  const { rows } = await sql<{ id: string }>`select pg_current_xact_id()::text as id`.execute(on);
  return BigInt(rows[0]?.id ?? 0);
};

/**
 * Records the state as it is now, for users and listings. A transaction of another database that ends just now may count
 * as one of ours: then more is told than was written, and the mark is taken again.
 * @param open a transaction of this database that has not ended
 */
async function record(planned: readonly number[] = [], open: Queryable = db.kysely) {
  const oldest = await transactionOf(open);
  const mark = await eventually('a mark without transactions of other databases', async () => {
    const { mark: made } = await readRest(db.kysely, 7n);
    return BigInt(made.split(' ')[1] ?? 0) >= oldest && made;
  });
  const value = JSON.stringify({ mark, planned: planned.map(String) });
  await run(`insert into sync.learned (team, topic, value)
    select 'north', r || ' at rest', '${value}' from unnest('{users,tags,contact_fields}'::text[]) r
    on conflict (team, topic) do update set value = excluded.value`);
  return mark;
}

describe('Since a record was made', () => {
  beforeEach(async () => {
    await write(`truncate sync.teams, sync.learned, mirror.users, sync.user_base, mirror.tags, mirror.contact_fields;
      insert into sync.teams (team, team_id) values ('north', 7), ('south', 8);
      insert into mirror.users (team_id, id, resolved) select t, i, true from generate_series(7, 8) t, generate_series(1, 9) i;
      insert into sync.user_base (team_id, id, name, first_name, last_name) select t, i, i, i, '' from generate_series(7, 8) t, generate_series(1, 9) i;
      insert into mirror.tags (team_id, id, tag) values (7, 1, 'a'), (7, 2, 'b'), (8, 1, 'c')`);
  });

  const since = async () => {
    const { written, present } = await readRest(db.kysely, 7n);
    return [written.map(Number).toSorted((a, b) => a - b), present];
  };

  it.each<readonly [string, string, readonly number[], number]>([
    ['nothing', 'select', [], 9],
    ['a row of the mirror', 'update mirror.users set role = null where (team_id, id) = (7, 3)', [3], 8],
    ['a row of the base', 'update sync.user_base set phone = null where (team_id, id) = (7, 3)', [3], 8],
    [
      'both rows of a user, of another the mirror',
      'update mirror.users set role = null where team_id = 7 and id < 3; update sync.user_base set phone = null where (team_id, id) = (7, 2)',
      [1, 2],
      7,
    ],
    [
      'a new row of the mirror',
      'insert into mirror.users (team_id, id, resolved) values (7, 10, true)',
      [10],
      9,
    ],
    [
      'a new row of the base',
      'insert into sync.user_base (team_id, id, name, first_name, last_name) values (7, 10, 10, 10, 10)',
      [10],
      9,
    ],
    ['somebody as gone', 'update mirror.users set gone_at = now() where (team_id, id) = (7, 3)', [3], 8],
    ['another team', 'update mirror.users set role = null where team_id = 8', [], 9],
    ['a row of the mirror away', 'delete from mirror.users where (team_id, id) = (7, 3)', [], 8],
    ['a row of the base away', 'delete from sync.user_base where (team_id, id) = (7, 3)', [], 8],
    [
      'one row away and another one anew',
      'delete from mirror.users where (team_id, id) = (7, 3); insert into mirror.users (team_id, id, resolved) values (7, 10, true)',
      [10],
      8,
    ],
    [
      'everybody anew with the same values',
      'create temp table old as select * from mirror.users; delete from mirror.users; insert into mirror.users select * from old; drop table old',
      [1, 2, 3, 4, 5, 6, 7, 8, 9],
      0,
    ],
  ])('somebody wrote %s', async (_, text, written, present) => {
    await record();
    await write(text);
    expect(await since()).toEqual([written, present]);
  });

  it('those whom it leaves open do not count as present', async () => {
    await record([3, 4]);
    expect(await since()).toEqual([[], 7]);
    await write('update mirror.users set role = null where (team_id, id) = (7, 4)');
    expect(await since()).toEqual([[4], 7]);
  });

  it('those who were gone by then do not count as present, of listings neither', async () => {
    await write(`update mirror.users set gone_at = now() where (team_id, id) = (7, 4);
      update mirror.tags set gone_at = now() where (team_id, id) = (7, 1)`);
    await record();
    expect(await since()).toEqual([[], 8]);
    expect((await readListingRests(db.kysely, 7n)).get('tags')).toMatchObject({ present: 1 });
  });

  it('the hashes of that record are there, and of no other', async () => {
    const mark = await record();
    await run(`update sync.learned set hashes = '\\x01' where topic = 'users at rest'`);
    const hashesOf = (of: string) => readRowHashes(db.kysely, 7n, { mark: of } as RestingUsers);
    expect(await hashesOf(mark)).toEqual(Buffer.from([1]));
    expect(await hashesOf(`${mark}0`)).toBeNull();
    expect(await readRowHashes(db.kysely, 8n, { mark } as RestingUsers)).toBeNull();
  });

  it('after a first run whoever was written otherwise than by it is told', async () => {
    const take = (runId: number, ids: string) =>
      write(`update mirror.users set resolved = true where team_id = 7 and id in (${ids});
        update sync.user_base set phone = null where team_id = 7 and id in (${ids});
        insert into sync.changes (team_id, user_id, kind, run_id) select 7, i, 'adopt', ${runId} from unnest(array[${ids}]) i`);
    await take(5, '1, 2, 3');
    await take(5, '4, 5, 6, 7');
    await take(4, '8');
    const taken = async () => {
      const { mark, written } = await readTaken(db.kysely, 7n, 5n);
      return [mark.split(' ').length, written.map(Number).toSorted((a, b) => a - b)];
    };
    expect(await taken()).toEqual([2, [8, 9]]);
    await write('update mirror.users set role = null where (team_id, id) = (7, 2)');
    await write('update sync.user_base set phone = null where (team_id, id) = (7, 6)');
    expect(await taken()).toEqual([2, [2, 6, 8, 9]]);
  });

  it('whoever was written by a transaction that was open then is told, and by no later one whoever was written before', async () => {
    const within = async (on: Queryable, text: string) => void (await sql.raw(text).execute(on));
    await db.transaction(async (open) => {
      // It has a number from here on, and writes the users after the mark, one of them in a transaction of its own.
      await within(open, `select set_config('musterd.writing', 'on', true), pg_current_xact_id()`);
      await write('update mirror.users set role = null where (team_id, id) = (7, 4)');
      await record([], open);
      await within(open, `update sync.user_base set phone = '1' where (team_id, id) = (7, 3)`);
      await within(
        open,
        `savepoint one; update sync.user_base set phone = '1' where (team_id, id) = (7, 5); release one`,
      );
      expect(await since()).toEqual([[4], 8]);
    });
    expect(await since()).toEqual([[3, 4, 5], 6]);
    await record();
    expect(await since()).toEqual([[], 9]);
  });

  it('whoever was written in a transaction of its own within one that was open is told', async () => {
    await db.transaction(async (open) => {
      await sql`select set_config('musterd.writing', 'on', true)`.execute(open);
      await sql
        .raw(
          'savepoint one; update sync.user_base set phone = null where (team_id, id) = (7, 3); release one',
        )
        .execute(open);
      await write('update mirror.tags set tag = tag');
      await record([], open);
    });
    expect(await since()).toEqual([[3], 8]);
  });

  it('transactions of other databases are no reason to tell of more', async () => {
    await databases[1]?.db.transaction(async (open) => {
      await sql`select pg_current_xact_id()`.execute(open);
      await write('update mirror.users set role = null where (team_id, id) = (7, 4)');
      await record();
      expect(await since()).toEqual([[], 9]);
    });
  });

  it('nothing is told without a record, or by a mark of another database or of a time to come', async () => {
    const rest = await readRest(db.kysely, 7n);
    expect(rest).toMatchObject({ since: null, written: [], present: 0 });
    const mark = await record();
    expect(await readRest(db.kysely, 7n)).toMatchObject({ since: mark, present: 9 });
    const [place = '', state = ''] = mark.split(' ');
    const later = state.replaceAll(/\d+/g, (xid) => String(BigInt(xid) + 1_000_000n));
    for (const other of [`${BigInt(place) + 1n} ${state}`, `${place} ${later}`]) {
      await run(`update sync.learned set value = jsonb_set(value, '{mark}', '"${other}"')`);
      expect(await readRest(db.kysely, 7n)).toMatchObject({ since: null, written: [], present: 0 });
      expect((await readListingRests(db.kysely, 7n)).get('tags')).toMatchObject({ since: null });
    }
  });

  it('a listing has as many rows as are present, unless one of its own was written', async () => {
    const mark = await record();
    const tags = async () => (await readListingRests(db.kysely, 7n)).get('tags');
    const rest = { since: mark, present: 2, isLacking: false };
    expect(Object.fromEntries(await readListingRests(db.kysely, 7n))).toMatchObject({
      tags: rest,
      contact_fields: { ...rest, present: 0 },
    });
    await write(`insert into mirror.contact_fields (team_id, id) values (7, 1);
      update mirror.tags set tag = 'x' where team_id = 8;
      insert into sync.absences (team_id, resource, id, missing_since)
        values (7, 'contact_fields', 1, now()), (8, 'tags', 1, now())`);
    expect(Object.fromEntries(await readListingRests(db.kysely, 7n))).toMatchObject({
      tags: rest,
      contact_fields: { present: null, isLacking: true },
    });
    await write('delete from mirror.tags where (team_id, id) = (7, 1)');
    expect(await tags()).toMatchObject({ present: 1 });
    await write(`update mirror.tags set tag = 'b' where (team_id, id) = (7, 2)`);
    expect(await tags()).toMatchObject({ present: null });
    await record();
    expect(await tags()).toMatchObject({ present: 1 });
  });
});

it('The same state of another database has another mark', async () => {
  const [one = [], other = []] = await Promise.all(databases.map((of) => marksOf(of.db.kysely)));
  for (const [at, mark] of one.entries()) expect(placeOf(mark)).not.toBe(placeOf(other[at]));
});

it('Whoever is missing, open, held or shown with older values is noted as not at rest', async () => {
  await db.transaction(async (tx) => {
    await sql
      .raw(`
      insert into sync.absences (team_id, resource, id, missing_since) values (8, 'users', 1, now()), (8, 'tags', 9, now()), (9, 'users', 9, now());
      insert into sync.changes (team_id, user_id, kind, state, base, new) values (8, 2, 'push', 'open', '{}', '{}');
      insert into sync.held_fields (team_id, user_id, field, reason) values (8, 3, 'email', 'conflict'), (9, 9, 'email', 'conflict');
      insert into sync.stale_rows (team_id, id) values (8, 4), (9, 9)`)
      .execute(tx);
    expect(new Set((await readRest(tx, 8n)).noted)).toEqual(new Set([1n, 2n, 3n, 4n]));
  });
});

it('The server is told apart by whoever may, and by nobody else', async () => {
  const before = await db.transaction(marksOf);
  const since = await db.transaction(async (tx) => {
    await sql`revoke execute on function pg_control_system() from public`.execute(tx);
    await sql`set local role pg_read_all_data`.execute(tx);
    return await marksOf(tx);
  });
  expect(since).toHaveLength(2);
  for (const [at, mark] of before.entries()) expect(placeOf(mark)).not.toBe(placeOf(since[at]));
});

it('A record counts for a day, unless the clock was set back since', () => {
  const ofAge = (ageMs: number) => toResting(new Map([['users at rest', { value: 'it', ageMs }]]), 'users');
  expect([-1, 0, 86_399_999, 86_400_000].map(ofAge)).toEqual([null, 'it', 'it', null]);
  expect(toResting(new Map(), 'tags')).toBeNull();
});
