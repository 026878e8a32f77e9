import { CompiledQuery } from 'kysely';
import { afterAll, beforeEach, expect, it } from 'vitest';
import {
  applyAbsences,
  applyWithheld,
  readAbsenceGrounds,
  readOverlap,
} from '../../src/mirror/users/absences.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { readUnseenUsers } from '../../src/mirror/users/users-read.ts';
import type { WithheldAbsence } from '../../src/model/absence.ts';
import { createTestDatabase } from '../support/database.ts';

const database = await createTestDatabase();
const { db } = database;
afterAll(() => database.close());
const team = 41n;
const run = { teamId: team, runId: 1n };
const scope = 'a1b2';
const sql = async (text: string) => (await runSqlText(db, text)).rows;
const read = (listed: readonly bigint[], of = scope) => readOverlap(db.kysely, team, listed, of);
const withheld: WithheldAbsence = { hash: 'abc', reason: 'replaced', ids: [2n, 3n] };
const withhold = (what = withheld, of = scope) =>
  db.transaction((tx) => applyWithheld(tx, run, 'users', what, of));

beforeEach(async () => {
  await db.transaction(async (tx) => {
    const write = (text: string) => tx.executeQuery<{ run_id: bigint }>(CompiledQuery.raw(text));
    await write(`select set_config('musterd.writing', 'on', true)`);
    for (const table of ['mirror.teams', 'mirror.users', 'sync.absences'])
      await write(`delete from ${table}`);
    const { rows } = await write(
      `insert into sync.runs (team, command) values ('north', 'reconcile') returning run_id`,
    );
    run.runId = rows[0]?.run_id ?? 0n;
    await write(`insert into mirror.teams (team_id, name) values (${team}, 'North'), (42, 'South')`);
    await write(`insert into mirror.users (team_id, id, name, first_name, last_name, resolved, gone_at) values
      (${team}, 1, '', '', '', true, null), (${team}, 2, '', '', '', true, null), (${team}, 3, '', '', '', true, null),
      (${team}, 4, '', '', '', true, now()), (42, 9, '', '', '', true, null)`);
  });
});

it('counts whom the mirror knows, gone or not, and names those of the team who are there and not listed', async () => {
  expect(await read([1n, 4n, 9n, 1n])).toEqual({
    known: 2,
    population: 3,
    unlisted: [2n, 3n],
    name: 'North',
  });
  expect(await read([])).toEqual({ known: 0, population: 3, unlisted: [1n, 2n, 3n], name: 'North' });
});

it('is news once, and again with other users, other words or other settings', async () => {
  expect(await withhold()).toBe(true);
  expect(await withhold()).toBe(false);
  expect(await withhold({ ...withheld, reason: 'other words' })).toBe(true);
  expect(await withhold({ ...withheld, reason: 'other words' }, 'other')).toBe(true);
  expect(await withhold({ ...withheld, hash: 'def', ids: [3n] })).toBe(true);
  expect(await sql(`select id, batch, detail, scope from sync.absences order by id`)).toEqual([
    [2n, null, null, null],
    [3n, 'def', 'replaced', scope],
  ]);
});

it('remembers what the settings asked for when nothing was in doubt, resource by resource', async () => {
  await sql(
    `insert into sync.teams (team, team_id) values ('north', 41), ('south', 42) on conflict do nothing`,
  );
  const nothing = { missing: [], gone: [], found: [], lost: [], withheld: null };
  const judge = (resource: 'users' | 'tags', of: string, scopeIsUsual: boolean) =>
    db.transaction((tx) => applyAbsences(tx, run, resource, { ...nothing, scope: of, scopeIsUsual }));
  const usual = async (resource: 'users' | 'tags', of = team) =>
    (await readAbsenceGrounds(db.kysely, of, resource)).scope;
  await judge('users', 'first', false);
  expect(await usual('users')).toBeNull();
  await judge('users', 'first', true);
  await judge('tags', 'of tags', true);
  await judge('users', 'second', false);
  expect([await usual('users'), await usual('tags'), await usual('users', 42n)]).toEqual([
    'first',
    'of tags',
    null,
  ]);
  await judge('users', 'second', true);
  expect(await usual('users')).toBe('second');
});

it('leaves those out who were approved to have left, for the same settings alone', async () => {
  await withhold();
  expect((await read([1n])).population).toBe(3);
  await sql(`select sync.approve('abc', '{2}', 'left')`);
  expect(await read([1n])).toMatchObject({ population: 2, unlisted: [3n] });
  expect(await read([1n, 2n])).toMatchObject({ known: 2, population: 2, unlisted: [3n] });
  expect(await read([1n], 'other settings')).toMatchObject({ population: 3, unlisted: [2n, 3n] });
  await sql(`update sync.absences set verdict_scope = null where id = 2`);
  expect(await read([1n], 'other settings')).toMatchObject({ population: 2 });
  await sql(`update sync.absences set resource = 'tags' where id = 2`);
  expect(await read([1n])).toMatchObject({ population: 3 });
});

it('is no complete pass that has missed them: the first one after it counts as the first', async () => {
  await withhold();
  const missing = async () =>
    (await readUnseenUsers(db.kysely, team, [1n], [])).map(({ id, missingForMs }) => [id, missingForMs]);
  expect(await missing()).toEqual([
    [2n, undefined],
    [3n, undefined],
  ]);
  const decision = {
    missing: [2n],
    gone: [],
    found: [],
    lost: [],
    withheld: null,
    scope,
    scopeIsUsual: false,
  };
  await db.transaction((tx) => applyAbsences(tx, run, 'users', decision));
  const [[, first] = []] = await missing();
  expect(first).toBeGreaterThanOrEqual(0);
  expect(first).toBeLessThan(3_600_000);
  await sql(`update sync.absences set missing_since = now() - interval '1 day' where id = 2`);
  await db.transaction((tx) => applyAbsences(tx, run, 'users', decision));
  expect((await missing())[0]?.[1]).toBeGreaterThan(3_600_000);
  // What was missing before is not asked about from the beginning.
  await withhold();
  expect((await missing())[0]?.[1]).toBeGreaterThan(3_600_000);
});
