import { sql as kyselySql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  registerGroups,
  noteBegin as begun,
  noteEnd as ended,
  setNextTime,
  readDue,
  readNextDueMs,
  readStandings,
} from '../../src/mirror/team/due.ts';
import type { RunGroup, RunOutcome } from '../../src/model/run-group.ts';
import { useDatabase } from '../support/use-database.ts';

describe('due times of run groups', () => {
  const database = useDatabase();
  beforeEach(() => database.rows('delete from sync.due').then(() => undefined));

  const hour = 3_600_000;
  const users = (team: string, schedule = '*/5 * * * * UTC', delayMs = hour) =>
    ({ team, group: 'users', schedule, delayMs, staleAfterMs: 3 * hour }) as const;
  const due = async (...teams: readonly string[]) =>
    [...(await readDue(database.db.kysely, teams))].map(
      ([team, groups]) => `${team}: ${groups.map(({ group }) => group).join(' ')}`,
    );
  /** What a run of the users takes up now, and sets again when it is over. */
  const takeUp = async (team: string) => {
    const groups = (await readDue(database.db.kysely, [team])).get(team) ?? [];
    return async (delayMs = hour) => {
      const users = groups.filter(({ group }) => group === 'users');
      await setNextTime(
        database.db,
        team,
        users.map((one) => ({ ...one, delayMs })),
      );
    };
  };
  const noteBegin = (...of: Parameters<typeof begun>) => begun(...of).execute(database.db.kysely);
  const noteEnd = (team: string, groups: readonly RunGroup[], outcome: RunOutcome) =>
    ended(kyselySql`select ${team}::text as team, ${groups}::text[] as groups`, outcome).execute(
      database.db.kysely,
    );
  const run = async (team: string, outcome: 'complete' | 'failed' | 'partial' = 'complete') => {
    await noteBegin(team, ['users']);
    await noteEnd(team, ['users'], outcome);
  };
  const standing = async (team: string) =>
    (await readStandings(database.db.kysely, [team])).find(({ group }) => group === 'users');
  const sql = (text: string) => database.rows(text);

  it('registerGroups makes new groups due at once, and keeps the due time of known groups after a restart', async () => {
    await registerGroups(database.db, [users('a'), users('b'), { ...users('a'), group: 'counts' }], false);
    expect((await due('a', 'b', 'stranger')).toSorted()).toEqual(['a: counts users', 'b: users']);
    expect(await due('b')).toEqual(['b: users']);
    const postponeUsers = await takeUp('a');
    await run('a');
    await postponeUsers();
    await registerGroups(database.db, [users('a'), users('b')], false);
    expect((await due('a', 'b')).toSorted()).toEqual(['a: counts', 'b: users']);
    await registerGroups(database.db, [users('a')], true);
    expect(await due('a')).toEqual(['a: counts users']);
    await registerGroups(database.db, [{ ...users('a'), staleAfterMs: hour }], false);
    expect(await due('a')).toEqual(['a: counts users']);
  });

  it('registerGroups reschedules a group with a changed schedule, and makes a group due that had only a one-shot run', async () => {
    await registerGroups(database.db, [users('a')], false);
    await registerGroups(database.db, [users('a', '0 * * * * UTC')], false);
    expect(await due('a')).toEqual([]);
    expect(await readNextDueMs(database.db.kysely, ['a'])).toBeGreaterThan(hour / 2);
    await run('once');
    expect(await due('once')).toEqual([]);
    expect(await readNextDueMs(database.db.kysely, ['once'])).toBeNull();
    await registerGroups(database.db, [users('once')], false);
    expect(await due('once')).toEqual(['once: users']);
  });

  it('readDue lists groups in the order in which they became due', async () => {
    await registerGroups(database.db, [users('a'), users('b'), users('c')], false);
    await sql(`update sync.due set due_at = clock_timestamp() - interval '1 hour' where team = 'c'`);
    await sql(`update sync.due set due_at = clock_timestamp() - interval '1 minute' where team = 'a'`);
    await sql(`update sync.due set due_at = clock_timestamp() - interval '2 minutes' where team = 'b'`);
    expect(await due('a', 'b', 'c')).toEqual(['c: users', 'b: users', 'a: users']);
  });

  it('setNextTime postpones a group without a recorded run, and keeps a due time that was set after the read', async () => {
    await registerGroups(database.db, [users('a')], false);
    const setUsers = await takeUp('a');
    for (const delayMs of [hour, -hour]) {
      await setUsers(delayMs);
      expect(await due('a')).toEqual([]);
    }
  });

  it('readDue finds a due group after the clock was set back, and setNextTime postpones the group (R8)', async () => {
    await registerGroups(database.db, [users('a')], false);
    await run('a');
    await sql(
      `update sync.due set due_at = clock_timestamp() + interval '2 days', started_at = clock_timestamp() + interval '1 day'`,
    );
    expect(await due('a')).toEqual(['a: users']);
    const postponeUsers = await takeUp('a');
    await run('a');
    await postponeUsers();
    expect(await due('a')).toEqual([]);
    expect(await readNextDueMs(database.db.kysely, ['a'])).toBeLessThan(hour + 1);
  });

  it('readStandings returns the last outcome and the last success, and counts failures in a row', async () => {
    await run('a');
    const complete = (await standing('a'))?.completeAt;
    await run('a', 'failed');
    await run('a', 'failed');
    expect(await standing('a')).toMatchObject({ outcome: 'failed', failures: 2, completeAt: complete });
    await run('a', 'partial');
    expect(await standing('a')).toMatchObject({ outcome: 'partial', failures: 0, completeAt: complete });
    // One that its process did not live to end.
    await noteBegin('a', ['users']);
    await noteBegin('a', ['users']);
    expect(await standing('a')).toMatchObject({ failures: 1 });
    await noteEnd('a', ['users'], 'complete');
    expect((await standing('a'))?.completeAt?.getTime()).toBeGreaterThan(complete?.getTime() ?? Infinity);
  });

  it('readDue never lists the group "edits", even if the last start of the group lies in the future', async () => {
    await run('a');
    await sql(
      `insert into sync.due (team, run_group, started_at) values ('a', 'edits', clock_timestamp() + interval '1 day')`,
    );
    expect(await due('a')).toEqual([]);
    expect(await readNextDueMs(database.db.kysely, ['a'])).toBeNull();
  });

  it('readStandings counts a partial or failed run of the group "users" as a failure of the group "edits"', async () => {
    const edits = async () => {
      const standings = await readStandings(database.db.kysely, ['a']);
      return standings.flatMap(({ group, failures, outcome }) =>
        group === 'edits' ? [failures, outcome] : [],
      );
    };
    await run('a', 'partial');
    expect(await edits()).toEqual([1, 'partial']);
    await run('a', 'failed');
    expect(await edits()).toEqual([2, 'failed']);
    await noteBegin('a', ['edits']);
    await noteEnd('a', ['edits'], 'partial');
    expect(await edits()).toEqual([3, 'partial']);
    await run('a');
    expect((await edits())[0]).toBe(0);
  });
});
