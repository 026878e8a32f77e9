import fc from 'fast-check';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { createPruner } from '../../src/daemon/pruner.ts';
import { readEditedUsers, readFreshEdits } from '../../src/mirror/users/fresh-edits.ts';
import { readGuardHistory } from '../../src/mirror/users/held-batches.ts';
import { readRoles } from '../../src/mirror/users/import-read.ts';
import { readIntents } from '../../src/mirror/users/intents.ts';
import { readMovedFields } from '../../src/mirror/users/moved-fields.ts';
import { readEarlier } from '../../src/mirror/runs/push-history.ts';
import { notePruneTurn, prune, takePruneTurn } from '../../src/mirror/runs/retention.ts';
import { readLastRuns } from '../../src/mirror/runs/runs.ts';
import { readTeamsNow } from '../../src/mirror/runs/told.ts';
import type { Ages } from '../../src/model/ages.ts';
import { eventually } from '../support/eventually.ts';
import { useDatabase, watchSession } from '../support/use-database.ts';

const teamId = 41n;
const ages: Ages = { changes: 30, edits: 30, runs: 30, counts: 30 };
const none = { changes: 0, edits: 0, runs: 0, counts: 0 };
const database = useDatabase();
const { rows: query } = database;
const force = (text: string) => query(`begin; set local musterd.writing = 'on'; ${text}; commit`);
const ago = (days: number) => `clock_timestamp() - interval '${days} days'`;
const left = async (what: string) => (await query(`select ${what}`)).flat();

/** Of both teams: users who are as was agreed on. */
beforeEach(() =>
  force(`
    truncate sync.runs, sync.changes, sync.held_fields, sync.edits, sync.learned, sync.due, mirror.users,
      sync.user_base, mirror.contact_counts, sync.user_periods cascade;
    delete from sync.teams; insert into sync.teams (team, team_id) values ('main', 41), ('other', 42);
    insert into mirror.users (team_id, id, email, phone, role_id, role, resolved)
    select t, n, 'a@example.com', '15550100', 1, 'Agent', true from unnest('{41,42}'::bigint[]) t, generate_series(1, 3) n;
    insert into sync.user_base (team_id, id, name, first_name, last_name, email, phone, role_id)
    select team_id, id, name, first_name, last_name, email, phone, role_id from mirror.users`),
);

/** All that a run, or a person's command, decides by what can be removed. */
async function readGrounds(since: number) {
  const { kysely } = database.db;
  const asked = [1n, 2n, 3n].flatMap((userId) =>
    ['a@example.com', 'b@example.com'].map((email) => ({ userId, email })),
  );
  const intents = asked.map(({ userId, email }) => ({
    changeId: 1_000_000_000n,
    userId,
    sent: { email, roleId: 1n, phone: '15550100' },
  }));
  const earlier = [];
  for (const intent of intents) earlier.push(await readEarlier(kysely, teamId, [intent]));
  const recent = await query(
    `select run_id from sync.runs where team = 'main' and started_at > ${ago(since)} order by run_id`,
  );
  const undone = [];
  for (const [runId] of recent) undone.push(await readMovedFields(kysely, teamId, runId as bigint));
  const { nowMs, standings, ...told } = await readTeamsNow(database.db, ['main', 'other']);
  const fresh = await readFreshEdits(kysely, ['main', 'other']);
  return {
    earlier,
    undone,
    told,
    standings: standings.map(({ team, group, outcome }) => ({ team, group, outcome, isKnown: nowMs > 0 })),
    intents: (await readIntents(kysely, teamId)).map(({ changeId }) => changeId),
    guard: await readGuardHistory(kysely, teamId),
    roles: await readRoles(kysely, teamId),
    runs: await readLastRuns(kysely, 'main'),
    fresh: fresh.map(({ team, isFresh, failures }) => ({ team, isFresh, failures })),
    edited: await readEditedUsers(kysely, teamId),
  };
}

describe('pruning', () => {
  const days = fc.constantFrom(0, 1, 29, 31, 40, 60, 100);
  const value = fc.constantFrom('"a@example.com"', '"b@example.com"', 'null');
  const fields = fc.uniqueArray(fc.constantFrom('email', 'phone', 'role_id'), { minLength: 1, maxLength: 2 });
  const outcome = fc.constantFrom('confirmed', 'ineffective', 'missing', 'unanswered', 'unsent', 'refused');
  const change = fc.record({
    user: fc.integer({ min: 1, max: 3 }),
    kind: fc.constantFrom('adopt', 'return', 'pull', 'push', 'push', 'push', 'settle', 'hold', 'tombstone'),
    fields: fc.array(fc.tuple(fields, value, outcome), { minLength: 1, maxLength: 1 }),
    approved: fc.boolean(),
  });
  const run = fc.record({
    days,
    outcome: fc.constantFrom('complete', 'complete', 'partial', 'failed'),
    groups: fc.constantFrom('{users,listings,counts}', '{edits}', '{listings}'),
    changes: fc.array(change, { maxLength: 3 }),
  });
  const edit = fc.record({
    days,
    user: fc.integer({ min: 1, max: 3 }),
    email: fc.constantFrom('a@example.com', 'b@example.com'),
  });
  const history = fc.record({
    runs: fc.array(run, { maxLength: 12 }),
    edits: fc.array(edit, { maxLength: 4 }),
    open: fc.option(fc.integer({ min: 1, max: 3 })),
    marked: fc.boolean(),
  });

  it('prune removes nothing that a later run or command reads (random histories)', async () => {
    let removed = 0;
    await fc.assert(
      fc.asyncProperty(history, async ({ runs, edits, open, marked }) => {
        await force(
          `truncate sync.runs, sync.changes, sync.edits, sync.due cascade; update mirror.users set email = 'a@example.com'`,
        );
        // Edits and runs in the order in which they were made.
        for (const { days: age, user, email } of edits.toSorted((a, b) => b.days - a.days))
          await query(`update mirror.users set email = '${email}' where team_id = 41 and id = ${user};
            update sync.edits set edited_at = ${ago(age)} where edit_id = (select max(edit_id) from sync.edits)`);
        if (marked)
          await query(
            `insert into sync.due (team, run_group, mark) values ('main', 'edits', pg_current_snapshot())`,
          );
        if (marked && edits.length > 1)
          await query(`update mirror.users set email = 'c@example.com' where team_id = 41 and id = 1`);
        for (const { days: age, outcome: end, groups, changes } of runs.toSorted((a, b) => b.days - a.days)) {
          const [[id] = []] =
            await query(`insert into sync.runs (team, team_id, command, started_at, finished_at, outcome, groups)
            values ('main', 41, 'daemon', ${ago(age)}, ${ago(age)}, '${end}', '${groups}') returning run_id`);
          for (const { user, kind, fields: moved, approved } of changes)
            for (const [names, text, result] of moved) {
              const inField = (name: string, to: string) =>
                name === 'role_id' && to.includes('@') ? String(1 + Number(to.includes('b@'))) : to;
              const object = (to: string) =>
                `'{${names.map((name) => `"${name}": ${inField(name, to)}`).join(', ')}}'`;
              await query(`insert into sync.changes (team_id, user_id, run_id, kind, base, old, new, outcome, approved, opened_at, closed_at)
                values (41, ${user}, ${id as bigint}, '${kind}', '{}', ${kind === 'adopt' ? `'{}'` : object('"b@example.com"')}, ${object(text)},
                  ${kind === 'push' ? object(`"${result}"`) : `'{}'`}, ${approved}, ${ago(age)}, ${ago(age)})`);
            }
        }
        if (open !== null)
          await query(
            `insert into sync.changes (team_id, user_id, kind, state, new, opened_at) values (41, ${open}, 'push', 'open', '{"email": "b@example.com"}', ${ago(50)})`,
          );
        const before = await readGrounds(30);
        const first = await prune(database.db, 'main', { ...ages, runs: null });
        const { runs: gone } = await prune(database.db, 'main', ages);
        removed += first.changes + first.edits + gone;
        expect(await readGrounds(30)).toEqual(before);
        expect(await prune(database.db, 'main', ages)).toEqual(none);
      }),
      { numRuns: 5 },
    );
    expect(removed).toBeGreaterThan(0);
  });
});

describe('prune', () => {
  it('removes an old push without effect if a confirmed push follows, and keeps an open push', async () => {
    await force(`
      insert into sync.changes (team_id, user_id, kind, state, new, outcome, opened_at)
      select 41, 1, 'push', v.state, '{"email": "b@example.com"}', v.outcome::jsonb, ${ago(40)} from (values
        ('closed', '{"email": "ineffective"}'), ('open', '{}'), ('closed', '{"email": "confirmed"}'), ('closed', '{"email": "ineffective"}')
      ) v (state, outcome)`);
    expect(await prune(database.db, 'main', ages)).toEqual({ ...none, changes: 1 });
    expect(await left('state from sync.changes order by change_id')).toEqual(['open', 'closed', 'closed']);
  });

  it('keeps an old change whose value a recent change replaced, since undo reads the old change', async () => {
    await force(`
      insert into sync.changes (team_id, user_id, kind, new, outcome, opened_at)
      select 41, 1, 'push', '{"email": "b@example.com"}', '{"email": "confirmed"}', clock_timestamp() - d * interval '1 day'
      from unnest('{60,40,10}'::int[]) d`);
    expect(await prune(database.db, 'main', ages)).toEqual({ ...none, changes: 1 });
    expect(await left('current_date - opened_at::date from sync.changes order by 1')).toHaveLength(2);
  });

  it('keeps an old push of a role until a later run has read all users', async () => {
    const read = (days: number) =>
      force(`insert into sync.runs (team, team_id, command, started_at, finished_at, outcome)
        values ('main', 41, 'daemon', ${ago(days)}, ${ago(days)}, 'complete')`);
    await read(50);
    await force(`
      insert into sync.changes (team_id, user_id, kind, new, outcome, opened_at)
      select 41, 1, 'push', '{"role_id": 2}', '{"role_id": "confirmed"}', clock_timestamp() - d * interval '1 day'
      from unnest('{45,40}'::int[]) d`);
    expect(await prune(database.db, 'main', ages)).toEqual(none);
    await read(35);
    expect(await prune(database.db, 'main', ages)).toEqual({ ...none, changes: 1 });
  });

  it('removes old pushes, approvals and calls without a user', async () => {
    await force(`insert into sync.changes (team_id, kind, new, outcome, opened_at)
      select 41, k, '{"message": {}}', '{"message": "confirmed"}', ${ago(40)} from unnest('{push,approve,call}'::text[]) k`);
    expect(await prune(database.db, 'main', ages)).toEqual({ ...none, changes: 3 });
  });

  it('keeps the old record of a rejection while its edit is still rejected', async () => {
    await force(`
      insert into sync.held_fields (team_id, user_id, field, reason, decision, edit_id) values
        (41, 1, 'email', 'limit', 'rejected', 7), (41, 2, 'email', 'limit', null, 8);
      insert into sync.changes (team_id, user_id, kind, edits, opened_at)
      select 41, u, 'reject', jsonb_build_object('email', e), ${ago(40)} from (values (1, 6), (1, 7), (2, 8)) v (u, e)`);
    expect(await prune(database.db, 'main', ages)).toEqual({ ...none, changes: 2 });
    expect(await left(`edits from sync.changes`)).toEqual([{ email: 7 }]);
  });

  it('keeps an old edit that still waits, and an old edit that no push run has read yet', async () => {
    await force(`
      insert into sync.due (team, run_group, mark) values ('main', 'edits', '100:100:');
      update mirror.users set email = 'new@example.com' where team_id = 41 and id = 2;
      insert into sync.edits (xid, team_id, user_id, field, edited_at, edited_by, authors, ended_at, ended_how)
      select x::text::xid8, 41, u, 'email', ${ago(40)}, 'kim', '{kim}', e, case when e is not null then 'agreed' end
      from (values (50, 1, now()), (51, 2, null), (99, 3, now()), (100, 3, now())) v (x, u, e)`);
    expect(await prune(database.db, 'main', ages)).toEqual({ ...none, edits: 2 });
    expect(await left('xid::text from sync.edits order by 1')).toEqual(['100', '51']);
  });

  it('removes old runs without references, but keeps the last run of all users and one listing run a day', async () => {
    await force(`
      insert into sync.runs (team, team_id, command, started_at, finished_at, outcome, groups)
      select t, i, 'daemon', at, at, case n when 2 then 'failed' when 9 then 'running' else 'complete' end,
        case when n = 1 then '{users}' when n in (5, 6, 7) then '{listings}' else '{edits}' end::text[]
      from (values ('main', 41), ('other', 42)) v (t, i), generate_series(1, 10) n
      cross join lateral (select date_trunc('day', now()) - interval '40 days' - case when n < 7 then interval '2 days' else interval '0' end) d (at)
      order by t, n;
      insert into sync.runs (team, team_id, command, started_at, finished_at, outcome, groups)
      select 'main', 41, 'daemon', ${ago(35)}, ${ago(35)}, 'complete', '{edits}' from generate_series(1, 200);
      insert into sync.held_fields (team_id, user_id, field, reason, run_id) select 41, 1, 'email', 'conflict', min(run_id) + 2 from sync.runs;
      insert into sync.user_periods (team_id, user_id, valid_from, valid_to, present, run_id, name, first_name, last_name, resolved)
        select 41, 1, '2020-01-01Z', '2020-01-02Z', true, min(run_id) + 7, '', '', '', true from sync.runs`);
    const [first] = await left('min(run_id) from sync.runs');
    expect(await prune(database.db, 'main', { ...ages, changes: null, edits: null })).toEqual({
      ...none,
      runs: 4,
    });
    expect(
      await left(
        `(run_id - ${first as bigint} + 1)::int from sync.runs where team = 'main' order by run_id limit 6`,
      ),
    ).toEqual([1, 3, 5, 7, 8, 9]);
    expect(await left(`count(*)::int from sync.runs where team = 'other'`)).toEqual([10]);
    expect(await prune(database.db, 'other', ages)).toEqual(none);
    await query(
      `insert into sync.changes (team_id, user_id, kind, run_id) values (41, 1, 'hold', ${first as bigint})`,
    );
    await expect(query('delete from sync.runs')).rejects.toThrow('the ledger refers to run');
  });

  it('keeps only the last contact count of each old UTC day', async () => {
    const day = `date_trunc('day', now() at time zone 'UTC') at time zone 'UTC'`;
    await force(`
      insert into mirror.contact_counts (team_id, segment, counted_at, count)
      select t, s, ${day} - d * interval '1 day' - interval '1 microsecond' - h * interval '8 hours', h
      from unnest('{41,42}'::bigint[]) t, unnest('{all,new}'::text[]) s, unnest('{10,29,31,32,90}'::int[]) d, generate_series(0, 2) h`);
    const daily = `segment, day, count, change from report.contact_counts_daily where team_id = 41 order by 1, 2`;
    const before = await query(`select ${daily}`);
    expect(await prune(database.db, 'main', { ...ages, counts: null })).toEqual(none);
    expect(await prune(database.db, 'main', ages)).toEqual({ ...none, counts: 12 });
    expect(await query(`select ${daily}`)).toEqual(before);
    expect(await left('count(*)::int from mirror.contact_counts where team_id = 41 and count > 0')).toEqual([
      8,
    ]);
    expect(await left('count(*)::int from mirror.contact_counts where team_id = 42')).toEqual([30]);
  });

  it('removes rows in batches of 5,000, and stops between two batches on request', async () => {
    await force(`
      insert into sync.edits (xid, team_id, user_id, field, edited_at, edited_by, authors, ended_at, ended_how)
      select (1 + n / 7)::text::xid8, 41, 1, 'email', ${ago(40)}, 'kim', '{kim}', now(), 'agreed' from generate_series(1, 12000) n`);
    let batches = 0;
    const goesOn = () => {
      batches += 1;
      return Promise.resolve(batches < 2);
    };
    expect(await prune(database.db, 'main', { ...ages, changes: null }, goesOn)).toEqual({
      ...none,
      edits: 5000,
    });
    expect(await prune(database.db, 'main', ages)).toEqual({ ...none, edits: 7000 });
  });
});

it('prune looks up the periods of each run by an index, whatever the statistics', async () => {
  const run = () =>
    force(`insert into sync.runs (team, team_id, command, finished_at, outcome, groups)
      select 'main', 41, 'daemon', ${ago(40)}, 'complete', '{edits}' from generate_series(1, 1000)`);
  await run();
  await force(`
    insert into sync.user_periods (team_id, user_id, valid_from, valid_to, present, run_id, name, first_name, last_name, resolved)
    select 41, n, '2020-01-01Z', '2020-01-02Z', true, r.last - n % 100, '', '', '', true
    from generate_series(1, 20000) n, (select max(run_id) as last from sync.runs) r`);
  const watched = await watchSession(database.url);
  const pruneRuns = async () => {
    const { runs } = await prune(watched.db, 'main', { ...ages, changes: null, edits: null, counts: null });
    const steps = watched.take().flatMap((statement) => statement.steps);
    return {
      runs,
      looked: steps.reduce((n, { relation, rows }) => n + (relation === 'user_periods' ? rows : 0), 0),
    };
  };
  const { runs, looked } = await pruneRuns();
  expect([runs, looked < 2000]).toEqual([800, true]);
  await run();
  await query('analyze sync.user_periods; analyze sync.runs');
  const again = await pruneRuns();
  expect([again.runs, again.looked < 2000]).toEqual([900, true]);
});

it('the second of two prunes of a team waits for the first prune, and removes nothing', async () => {
  await force(`
    insert into sync.edits (xid, team_id, user_id, field, edited_at, edited_by, authors, ended_at, ended_how)
    select n::text::xid8, 41, 1, 'email', ${ago(40)}, 'kim', '{kim}', now(), 'agreed' from generate_series(1, 100) n`);
  const waiting = async (what: string) =>
    left(
      `count(*)::int from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and ${what}`,
    );
  const both = await database.db.transaction(async (tx) => {
    await sql`select from sync.edits where xid = '50' for update`.execute(tx);
    const pruning = [1, 2].map(() => prune(database.db, 'main', { ...ages, changes: null }));
    await eventually('one waits for the row, the other for it', async () => {
      const [all] = await waiting('true');
      const [turns] = await waiting(`query like '%from sync.teams%for no key update'`);
      return all === 2 && turns === 1;
    });
    return pruning;
  });
  const removed = await Promise.all(both);
  expect(removed.map(({ edits }) => edits).toSorted((a, b) => a - b)).toEqual([0, 100]);
});

describe('pruning by daemons', () => {
  const turn = () => takePruneTurn(database.db, 'main');
  const age = (interval: string) =>
    query(`update sync.learned set learned_at = learned_at - interval '${interval}'`);

  it('takePruneTurn gives one daemon the turn each day, or after 10 min if the last turn did not finish', async () => {
    expect((await Promise.all([turn(), turn(), turn()])).filter((mine) => mine)).toHaveLength(1);
    await age('9 minutes');
    expect(await turn()).toBe(false);
    await notePruneTurn(database.db, 'main', false);
    await age('9 minutes');
    expect(await turn()).toBe(false);
    await age('2 minutes');
    expect(await turn()).toBe(true);
    await notePruneTurn(database.db, 'main', true);
    await age('23 hours');
    expect(await turn()).toBe(false);
    await age('61 minutes');
    expect([await turn(), await takePruneTurn(database.db, 'nobody')]).toEqual([true, false]);
  });

  it('the daemon prunes each team by the settings of the team', async () => {
    await query(
      `insert into sync.changes (team_id, user_id, kind, opened_at, closed_at)
       select t, 1, 'hold', ${ago(20)}, ${ago(20)} from unnest('{41,42}'::bigint[]) t`,
    );
    const lines: unknown[] = [];
    const log = {
      info: (line: unknown) => void lines.push(line),
      warn: (line: unknown) => void lines.push(line),
    };
    const configs = () => [
      { team: 'other', retention: { changes: 'forever' } },
      { team: 'main', retention: { changes: '7d' } },
    ];
    const pruner = createPruner({ db: database.db, configs, log: log as never, everyMs: 1 });
    try {
      await eventually('both teams are done', async () => {
        const done = await left(
          `count(*)::int from sync.learned where topic = 'prune' and value = '{"done": true}'`,
        );
        return done[0] === 2;
      });
    } finally {
      await pruner.close();
    }
    expect(lines).toEqual([{ team: 'main', ...none, changes: 1 }]);
    expect(await left(`count(*)::int from sync.changes`)).toEqual([1]);
  });

  it('a daemon that is stopped while it prunes leaves its turn marked as unfinished', async () => {
    await query(`delete from sync.learned where topic = 'prune'`);
    const turns = () => left(`value::text from sync.learned where topic = 'prune'`);
    const configs = () => [{ team: 'main', retention: { changes: '7d' } }];
    let closed: Promise<void> | undefined;
    await database.db.transaction(async (tx) => {
      await sql`lock table sync.changes, sync.runs`.execute(tx);
      const log = { info: () => {}, warn: () => {} } as never;
      const pruner = createPruner({ db: database.db, configs, log, everyMs: 1 });
      await eventually('it has begun', async () => (await turns()).length > 0);
      closed = pruner.close();
    });
    await closed;
    expect(await turns()).toEqual(['{"done": false}']);
  });
});
