/** Where and how the database lets anybody decide about edits, whoever they are. */
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import type { MusterdError } from '../../src/errors.ts';
import type { Transaction } from '../../src/mirror/db/database.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { asPerson, type PlaceMove, readPlacing, writePlace } from '../../src/mirror/team/known-place.ts';
import { underLease } from '../../src/mirror/team/lease.ts';
import type { KnownPlace } from '../../src/model/place.ts';
import { useDatabase } from '../support/use-database.ts';

const database = useDatabase();
beforeEach(() => database.rows(`delete from sync.learned`));

const home: KnownPlace = {
  kind: 'home',
  identifier: null,
  database: null,
  addresses: [],
  since: '2026-03-01T00:00:00.000Z',
  by: null,
  why: null,
};
/** This very database, as a place that is on record. */
async function placeHere(): Promise<KnownPlace> {
  const { here } = await readPlacing(database.db);
  return { ...home, identifier: here.identifier, database: here.database, addresses: [here.address] };
}
const keep = (was: KnownPlace | null, place: KnownPlace, move: PlaceMove | null = null) =>
  database.db.transaction((tx) => writePlace(tx, was, place, move));
const decide = (isolation = 'read committed') =>
  runSqlText(
    database.db,
    `begin isolation level ${isolation}; select * from sync.approve('0123456789ab'); commit`,
  ).catch(async (error: unknown) => {
    await database.rows('rollback');
    return (error as Error).message;
  });

describe('a decision in SQL', () => {
  it.each([
    ['in the recorded database', {}, 'There is no held batch'],
    ['in a copy', { kind: 'copy' }, 'Nothing can be decided in a copy'],
    ['in another database', { database: '1' }, 'This mirror is recorded at another place'],
    ['on another server', { identifier: '1' }, 'This mirror is recorded at another place'],
  ] as const)('sync.approve decides only in the recorded database: %s', async (_, differs, answer) => {
    await keep(null, { ...(await placeHere()), ...differs });
    expect(await decide()).toContain(answer);
  });

  it.each([
    ['read committed', 'There is no held batch'],
    ['repeatable read', 'sees the pushes of other transactions'],
    ['serializable', 'sees the pushes of other transactions'],
  ])('sync.approve requires read committed: a %s transaction gets "%s"', async (isolation, answer) => {
    expect(await decide(isolation)).toContain(answer);
  });
});

it('asPerson fails with the error "copy" if the mirror becomes a copy while asPerson runs', async () => {
  const here = await placeHere();
  await keep(null, here);
  const work = async (tx: Transaction) => {
    await keep(here, { ...here, kind: 'copy' });
    return await sql`select * from sync.approve('0123456789ab')`.execute(tx);
  };
  await expect(asPerson(database.db, work)).rejects.toMatchObject({ code: 'copy' });
});

it.each([
  ['at the recorded place', 'done', 'done', {}],
  ['at another address', 'done', 'copy', { addresses: [{ at: 'db-2:5432/muster', machine: null }] }],
  ['in a copy', 'copy', 'copy', { kind: 'copy' }],
] as const)('%s, asPerson returns "%s" and underLease returns "%s"', async (_, person, leased, differs) => {
  await keep(null, { ...(await placeHere()), ...differs });
  await database.rows(`delete from sync.due;
    insert into sync.due (team, run_group, mark) values ('north', 'edits', pg_current_snapshot())`);
  const done = () => Promise.resolve('done');
  const code = (error: MusterdError) => error.code;
  expect(await asPerson(database.db, done).catch(code)).toBe(person);
  const lease = { team: 'north', lease: { ttlMs: 60_000 } };
  expect(await underLease(database.db, lease, done).catch(code)).toBe(leased);
  expect(await database.rows('select mark is null from sync.due')).toEqual([[leased === 'done']]);
});

it('writePlace replaces the recorded database only if the caller has read the latest record', async () => {
  const [first, second, third] = [
    { ...home, database: '1' },
    { ...home, database: '2' },
    { ...home, database: '3' },
  ];
  expect(await keep(null, first)).toBe(true);
  expect(await keep(null, second)).toBe(false);
  expect(await keep(first, second)).toBe(true);
  expect(await keep(first, third)).toBe(false);
  expect((await readPlacing(database.db)).known).toEqual(second);
  await database.rows(`insert into sync.teams (team, team_id) values ('north', 41), ('south', 42)`);
  expect(await keep(second, third, { from: '2', to: '3', why: 'moved' })).toBe(true);
  const moves = await database.rows('select team_id, kind, decided_why from sync.changes order by 1');
  expect(moves).toEqual([41n, 42n].map((team) => [team, 'place', 'moved']));
});
