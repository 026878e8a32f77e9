import tags from '../../src/model/listed/tags.ts';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readLookups } from '../../src/mirror/users/addresses.ts';
import type { Transaction } from '../../src/mirror/db/database.ts';
import { noteEnd, wakeForEdits } from '../../src/mirror/team/due.ts';
import { noteEdits } from '../../src/mirror/users/fresh-edits.ts';
import { readLastEdit, readOpenPush } from '../../src/mirror/users/explain-read.ts';
import { markSent } from '../../src/mirror/users/intents.ts';
import { takeLease } from '../../src/mirror/team/lease.ts';
import { publishListing, tableOf, writeRejectedRows } from '../../src/mirror/listings/listings.ts';
import { withSpool } from '../../src/mirror/db/spool.ts';
import { hasRun } from '../../src/mirror/users/moved-fields.ts';
import { checkTeam, pinTeam, readTeamId } from '../../src/mirror/team/pinned-teams.ts';
import { countPresentUsers } from '../../src/mirror/users/present-users.ts';
import { readStatus } from '../../src/mirror/runs/read-status.ts';
import { finishRun, noteTeam } from '../../src/mirror/runs/runs.ts';
import { readName } from '../../src/mirror/users/users-read.ts';
import { readSnapshot } from '../../src/mirror/users/verify-read.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

/** Two teams that have everything alike: a statement about one of them must leave the other alone. */
let database: TestDatabase;
const write = <R>(work: (tx: Transaction) => Promise<R>) =>
  database.db.transaction(async (tx) => {
    await sql`select set_config('musterd.writing', 'on', true)`.execute(tx);
    return work(tx);
  });
const rowsOf = async (query: string) =>
  (await sql<Record<string, unknown>>`${sql.raw(query)}`.execute(database.db.kysely)).rows.map((row) =>
    Object.values(row).join(' '),
  );

beforeAll(async () => {
  database = await createTestDatabase();
  await write(async (tx) => {
    for (const statement of [
      `insert into sync.teams (team, team_id) values ('one', 41), ('two', 42)`,
      `insert into mirror.teams (team_id, name) values (41, 'First'), (42, 'Second')`,
      `insert into mirror.users (team_id, id, name, first_name, resolved, gone_at, edited_at, edited_by) values
         (41, 1, 'Anne', 'Anne', true, null, '2026-03-01', 'anne'), (41, 2, 'Bert', 'Bert', true, null, null, null),
         (41, 3, 'Carl', 'Carl', true, now(), null, null), (42, 1, 'Dora', 'Dora', true, null, null, null)`,
      `insert into mirror.user_lookups (team_id, email) values (41, 'one@example.com'), (42, 'two@example.com')`,
      `insert into sync.runs (team, team_id, command) values ('one', 41, 'daemon'), ('one', 41, 'daemon'), ('two', 42, 'daemon')`,
      `insert into sync.changes (team_id, user_id, run_id, kind, state, request_id) values
         (41, 1, 2, 'push', 'open', 'mine'), (41, 2, 2, 'push', 'open', 'other'), (42, 1, 3, 'push', 'open', 'theirs'),
         (41, 1, 1, 'push', 'closed', 'over')`,
      `insert into sync.due (team, run_group, failures, mark) select team, run_group, 2, '7:9:8'
         from unnest('{one,two}'::text[]) team, unnest('{users,counts,edits}'::text[]) run_group`,
    ])
      await sql.raw(statement).execute(tx);
  });
});
afterAll(() => database.close());

it('publishes a listing and keeps its rejected rows apart from those of other listings and teams', async () => {
  await write(async (tx) => {
    const all = sql`unnest('{41,42}'::bigint[]) t, unnest('{tags,contact_fields}'::text[]) r`;
    await sql`insert into sync.absences (team_id, resource, id, missing_since)
      select t, r, i, now() from ${all}, unnest('{1,2}'::bigint[]) i`.execute(tx);
    await sql`insert into sync.rejected_rows (team_id, run_id, resource, reason, excerpt)
      select t, 1, r, 'before', '' from ${all}`.execute(tx);
    const tag = {
      id: 1n,
      teamId: 41n,
      tag: 'a',
      color: null,
      rev: null,
      created: null,
      updated: null,
      raw: {},
    };
    const run = { teamId: 41n, runId: 1n };
    await withSpool(tableOf(tags), [tag], (spool) => publishListing(tx, run, spool));
    await writeRejectedRows(tx, run, 'tags', [{ resource: 'tags', id: null, reason: 'now', excerpt: '' }]);
  });
  expect(await rowsOf('select team_id, resource, id from sync.absences order by 1, 2, 3')).toEqual([
    '41 contact_fields 1',
    '41 contact_fields 2',
    '41 tags 2',
    '42 contact_fields 1',
    '42 contact_fields 2',
    '42 tags 1',
    '42 tags 2',
  ]);
  expect(await rowsOf('select team_id, resource, reason from sync.rejected_rows order by 1, 2')).toEqual([
    '41 contact_fields before',
    '41 tags now',
    '42 contact_fields before',
    '42 tags before',
  ]);
});

it('notes and forgets the edits of one team', async () => {
  const due = () => rowsOf('select team, run_group, mark, failures from sync.due order by 1, 2');
  const others = ['one users 7:9:8 2', 'two counts 7:9:8 2', 'two edits 7:9:8 2', 'two users 7:9:8 2'];
  await noteEdits(database.db, 'one', '7:7:');
  expect(await due()).toEqual(['one counts 7:9:8 2', 'one edits 7:7: 2', ...others]);
  await write((tx) => wakeForEdits(tx, 'one'));
  expect(await due()).toEqual(['one counts 7:9:8 2', 'one edits  2', ...others]);
  const ended = sql`select 'one' as team, '{users}'::text[] as groups`;
  await write((tx) => noteEnd(ended, 'complete').execute(tx));
  expect(await due()).toEqual([
    'one counts 7:9:8 2',
    'one edits  0',
    'one users 7:9:8 0',
    ...others.slice(1),
  ]);
});

it('ends a run once, and only that one', async () => {
  const waiting = { teamId: 43n, departures: 2, atLeast: 1 };
  const end = {
    outcome: 'partial',
    reasons: ['a'],
    counts: { pulled: 1 },
    waiting,
    requests: 3,
    endpoints: {},
  } as const;
  await noteTeam(database.db, 1n, 43n);
  await write((tx) => finishRun(tx, 1n, { ...end, requestIds: ['x'] }));
  await write((tx) => finishRun(tx, 1n, { ...end, outcome: 'failed', requestIds: ['y'] }));
  expect(
    await rowsOf(`select run_id, team_id, outcome, reasons, waiting, requests, request_ids,
                         counts ->> 'pulled' as pulled, finished_at is not null as ended from sync.runs order by 1`),
  ).toEqual(['1 43 partial a 2 3 x 1 true', '2 41 running  0 0   false', '3 42 running  0 0   false']);
  expect(await hasRun(database.db.kysely, 'one', 3n)).toBe(false);
  expect(await hasRun(database.db.kysely, 'one', 2n)).toBe(true);
});

it('reads of one user and one team', async () => {
  const { kysely } = database.db;
  expect(await readLookups(kysely, 41n)).toEqual({ emails: ['one@example.com'], phones: [] });
  expect(await countPresentUsers(kysely, 41n)).toBe(2);
  expect(await readName(kysely, 42n, 1n)).toEqual({ first: 'Dora', last: '' });
  expect(await readName(kysely, 42n, 2n)).toBeNull();
  expect(await readLastEdit(kysely, 41n, 1n)).toEqual({ at: new Date('2026-03-01'), by: 'anne' });
  expect(await readLastEdit(kysely, 42n, 1n)).toBeNull();
  expect(await readLastEdit(kysely, 42n, 2n)).toBeNull();
  expect(await readOpenPush(kysely, 41n, 1n)).toMatchObject({ runId: 2n, requestId: 'mine' });
  expect(await readOpenPush(kysely, 41n, 2n)).toMatchObject({ requestId: 'other' });
  expect(await readOpenPush(kysely, 42n, 1n)).toMatchObject({ requestId: 'theirs' });
  expect(await readOpenPush(kysely, 42n, 2n)).toBeNull();
});

it('marks the push of one user', async () => {
  await write((tx) => markSent(tx, 41n, [1n]));
  expect(await rowsOf('select request_id from sync.changes where sent_at is not null')).toEqual(['mine']);
});

it('pins a team to one name, and a name to one team', async () => {
  const { db } = database;
  await expect(checkTeam(db.kysely, 'three', 41n)).rejects.toMatchObject({ code: 'wrong-team' });
  await expect(pinTeam(db, 'one', 43n)).rejects.toMatchObject({ code: 'wrong-team' });
  await pinTeam(db, 'three', 43n);
  await pinTeam(db, 'three', 43n);
  expect(await readTeamId(db.kysely, 'three')).toBe(43n);
  expect(await readTeamId(db.kysely, 'one')).toBe(41n);
});

it('tells by the lease which team has a run under way', async () => {
  const { db } = database;
  const running = async (team: string, teamId: bigint) => [
    (await readStatus(db, team)).name,
    (await readStatus(db, team)).running?.pid,
    (await readSnapshot(db, team, teamId)).team?.name,
    (await readSnapshot(db, team, teamId)).isRunning,
  ];
  const pid = BigInt(process.pid);
  const [one, two] = [
    await takeLease(db, 'one', { ttlMs: 60_000 }),
    await takeLease(db, 'two', { ttlMs: 60_000 }),
  ];
  await two.release();
  expect(await running('one', 41n)).toEqual(['First', pid, 'First', true]);
  expect(await running('two', 42n)).toEqual(['Second', undefined, 'Second', false]);
  await one.check();
  await sql`update sync.leases set expires_at = clock_timestamp() where team = 'one'`.execute(db.kysely);
  await expect(one.check()).rejects.toMatchObject({ code: 'lease-lost' });
  expect(await running('one', 41n)).toEqual(['First', undefined, 'First', false]);
  await one.release();
  expect(await rowsOf('select team from sync.leases')).toEqual([]);
});
