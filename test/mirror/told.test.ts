import { sql } from 'kysely';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { readTeamsNow, replaceNotice } from '../../src/mirror/runs/told.ts';
import type { Notice } from '../../src/model/notices.ts';
import { oldestServer } from '../support/servers.ts';
import { useDatabase } from '../support/use-database.ts';

const notice: Notice = {
  stands: true,
  id: 'a',
  reminder: false,
  sinceMs: 1_700_000_000_123,
  madeAtMs: 5,
  doneAtMs: null,
  nextTryMs: 6.5,
};

describe.each([oldestServer()])('readTeamsNow on $name', (server) => {
  const database = useDatabase({ server });
  beforeAll(() =>
    database.force(`insert into sync.teams (team, team_id) values ('north', 41), ('south', 42);
      insert into mirror.teams (team_id, name) values (41, 'N'), (42, 'S');
      insert into mirror.users (team_id, id, name, first_name, resolved, gone_at)
        values (41, 1, 'One', 'One', true, null), (41, 2, 'Two', 'Two', true, now())`),
  );
  afterEach(() =>
    database.rows('truncate sync.runs, sync.due, sync.learned, sync.held_fields, sync.absences cascade'),
  );
  const now = () => readTeamsNow(database.db, ['north', 'south']);

  type Ended = readonly [
    outcome: string,
    errorCode: string | null,
    more?: { command?: string; groups?: string },
  ];
  /** Runs of the team, the oldest first; each ends at the second of its number. */
  const addRuns = async (team: string, ended: readonly Ended[]) => {
    for (const [at, [outcome, errorCode, { command = 'daemon', groups = '{users}' } = {}]] of ended.entries())
      await sql`insert into sync.runs (team, command, groups, outcome, error_code, finished_at, reasons)
        values (${team}, ${command}, ${groups}::text[], ${outcome}, ${errorCode}, to_timestamp(${at}), array['why'])`.execute(
        database.db.kysely,
      );
  };
  const refusedSince = async () => (await now()).refused.map(({ team, sinceMs }) => [team, sinceMs]);

  const refused = ['failed', 'credentials'] as const;
  it.each<[string, readonly Ended[], number | null]>([
    ['no run', [], null],
    ['a refused run', [refused], 0],
    ['two refused runs after a complete one', [['complete', null], refused, refused], 1_000],
    ['a refused run, then a complete one', [refused, ['complete', null]], null],
    ['a refused run, then a partial one', [refused, ['partial', null]], null],
    ['a refused run, then one with a held batch', [refused, ['refused', null]], null],
    ['a refused run, then one that did not reach the service', [refused, ['failed', 'service']], 0],
    ['a refused run, then a stopped one', [refused, ['partial', 'stopped']], 0],
    ['a refused run, then one whose process ended', [refused, ['failed', null]], 0],
    ['a refused run, then one of listings', [refused, ['complete', null, { groups: '{listings}' }]], null],
    ['a refused run, then a command of a person', [refused, ['complete', null, { command: 'resolve' }]], 0],
    ['a refused run after a good one', [refused, ['complete', null], ['failed', 'service'], refused], 3_000],
  ])('returns the time of the first refused run since an accepted run: %s', async (_, ended, sinceMs) => {
    await addRuns('north', ended);
    await addRuns('south', [['complete', null]]);
    await sql`insert into sync.runs (team, command) values ('north', 'daemon')`.execute(database.db.kysely);
    expect(await refusedSince()).toEqual(sinceMs === null ? [] : [['north', sinceMs]]);
  });

  it('returns the last run of each group whose last run did not complete', async () => {
    const { db } = database;
    await addRuns('north', [
      ['failed', 'service'],
      ['failed', 'mirror', { groups: '{users,counts}' }],
      ['partial', null, { groups: '{listings}' }],
      ['complete', null, { groups: '{counts}' }],
    ]);
    await sql`insert into sync.due (team, run_group, outcome)
      values ('north', 'users', 'failed'), ('north', 'listings', 'partial'), ('north', 'counts', 'complete')`.execute(
      db.kysely,
    );
    const { failedRuns, standings } = await now();
    expect(failedRuns.map(({ group, errorCode }) => [group, errorCode])).toEqual([
      ['listings', null],
      ['users', 'mirror'],
    ]);
    expect(standings.map(({ group, outcome }) => [group, outcome])).toEqual([
      ['counts', 'complete'],
      ['listings', 'partial'],
      ['users', 'failed'],
    ]);
  });

  it('counts the waiting batches and the held fields by team', async () => {
    const { kysely } = database.db;
    await sql`
      insert into sync.held_fields (team_id, user_id, field, reason, batch, decision, until, since) values
        (41, 1, 'email', 'limit', 'a', null, null, to_timestamp(5)), (41, 1, 'phone', 'limit', 'a', null, null, to_timestamp(4)),
        (41, 7, 'email', 'review', 'a', null, null, to_timestamp(6)), (41, 2, 'email', 'limit', 'a', null, null, to_timestamp(1)),
        (41, 8, 'email', 'limit', 'b', 'approved', null, to_timestamp(1)),
        (42, 18, 'phone', 'limit', 'c', null, null, to_timestamp(7)),
        (41, 1, 'name', 'conflict', null, null, null, to_timestamp(3)), (41, 9, 'name', 'limit', 'a', 'rejected', null, to_timestamp(2)),
        (41, 9, 'email', 'asked', null, null, now() + interval '1 h', to_timestamp(2))`.execute(kysely);
    await sql`insert into sync.absences (team_id, resource, id, missing_since, batch, detail, withheld_at)
      values (41, 'tags', 1, now(), 'd', 'why', to_timestamp(9)), (41, 'tags', 2, now(), 'd', 'why', to_timestamp(8)),
        (41, 'tags', 3, now(), null, null, null)`.execute(kysely);
    const { batches, held } = await now();
    expect(batches).toEqual([
      { team: 'north', hash: 'a', unit: 'users', count: 2, sinceMs: 4_000 },
      { team: 'north', hash: 'd', unit: 'tags', count: 2, sinceMs: 8_000 },
      { team: 'south', hash: 'c', unit: 'users', count: 1, sinceMs: 7_000 },
    ]);
    expect(held).toEqual([
      { team: 'north', state: 'held', reason: 'asked', inBatch: false, count: 1, sinceMs: 2_000 },
      { team: 'north', state: 'held', reason: 'conflict', inBatch: false, count: 1, sinceMs: 3_000 },
      { team: 'north', state: 'held', reason: 'limit', inBatch: true, count: 2, sinceMs: 4_000 },
      { team: 'north', state: 'held', reason: 'review', inBatch: true, count: 1, sinceMs: 6_000 },
      { team: 'north', state: 'rejected', reason: 'limit', inBatch: false, count: 1, sinceMs: 2_000 },
      { team: 'south', state: 'held', reason: 'limit', inBatch: true, count: 1, sinceMs: 7_000 },
    ]);
  });

  it('replaceNotice succeeds for only one of several processes that replace the same notice', async () => {
    const { db } = database;
    const key = { team: 'north', event: 'stale' } as const;
    const claims = async (before: Notice | undefined, ...ids: readonly string[]) => {
      const all = await Promise.all(ids.map((id) => replaceNotice(db, key, before, { ...notice, id })));
      return all.filter(Boolean).length;
    };
    expect(await claims(undefined, 'a', 'b', 'c')).toBe(1);
    const [first] = (await now()).told;
    expect(first).toEqual({ ...key, notice: { ...notice, id: first?.notice.id } });
    expect(await claims(undefined, 'd')).toBe(0);
    expect(await claims({ ...notice, id: 'unknown' }, 'd')).toBe(0);
    expect(await claims(first?.notice, 'e', 'f')).toBe(1);
    expect(await replaceNotice(db, { team: 'south', event: 'stale' }, undefined, notice)).toBe(true);
    expect(await replaceNotice(db, { team: 'north', event: 'failing' }, undefined, notice)).toBe(true);
    expect((await now()).told.map(({ team, event }) => `${team} ${event}`).toSorted()).toEqual([
      'north failing',
      'north stale',
      'south stale',
    ]);
    expect((await readTeamsNow(db, ['south'])).told).toEqual([{ team: 'south', event: 'stale', notice }]);
  });

  it('returns the present time by the clock of the database', async () => {
    const [clock] = (
      await sql<{ ms: number }>`select extract(epoch from clock_timestamp())::float8 * 1000 as ms`.execute(
        database.db.kysely,
      )
    ).rows;
    const { nowMs } = await now();
    expect(nowMs).toBeGreaterThanOrEqual(Math.floor(clock?.ms ?? Infinity));
    expect(Number.isInteger(nowMs)).toBe(true);
  });
});
