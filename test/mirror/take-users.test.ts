import fc from 'fast-check';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type KnownTeam, readKnownTeam } from '../../src/mirror/team/known-team.ts';
import { takeLease } from '../../src/mirror/team/lease.ts';
import { createMirror } from '../../src/mirror/mirror.ts';
import type { Id } from '../../src/model/id.ts';
import { hasUnreadable, type ServiceUser } from '../../src/model/user.ts';
import { takeNew } from '../../src/reconcile/apply-users.ts';
import { holdAll, anyService, member, shown } from '../reconcile/states.ts';
import { planUser } from '../../src/reconcile/merge/plan-user.ts';
import { unknownUser } from '../../src/reconcile/look.ts';
import { eventually } from '../support/eventually.ts';
import { beginRun, useDatabase } from '../support/use-database.ts';

const database = useDatabase();
const { rows: query } = database;
let runId: bigint;
let release: () => Promise<void>;
let mirrorOf: (teamId: Id, known?: KnownTeam) => ReturnType<typeof createMirror>;

beforeAll(async () => {
  const lease = await takeLease(database.db, 'taken', { ttlMs: 60_000 });
  release = () => lease.release();
  runId = await beginRun(database, 'taken', null);
  mirrorOf = (teamId, known) => createMirror(database.db, lease, teamId, runId, known);
});
afterAll(() => release());

/** All that is written of a team's users, but for its number and the time. */
async function rowsOf(teamId: Id) {
  const of = async (table: string, left: string) =>
    (
      await query(
        `select to_jsonb(t) - array[${left}] from ${table} t where team_id = ${teamId} order by to_jsonb(t) - array[${left}]`,
      )
    ).map(([row]) => row);
  return {
    mirror: await of('mirror.users', `'team_id'`),
    base: await of('sync.user_base', `'team_id', 'agreed_at'`),
    ledger: await of('sync.changes', `'team_id', 'change_id', 'opened_at', 'closed_at'`),
    periods: await of('sync.user_periods', `'team_id', 'valid_from'`),
  };
}

/** Such texts are rejected before anybody is compared. */
const storable = (value: unknown) =>
  typeof value === 'string' ? value.replaceAll('\0', '').toWellFormed() : value;
const users = fc.array(
  anyService
    .filter((user) => !hasUnreadable(user))
    .map((user) => Object.fromEntries(Object.entries(user).map(([name, value]) => [name, storable(value)]))),
  { minLength: 1, maxLength: 30 },
);

it('learnRoles records the role of a user whom takeUsers has just added', async () => {
  const known = { ...(await readKnownTeam(database.db.kysely, 'taken')), mayLackRoles: false };
  const mirror = mirrorOf(99n, known);
  await mirror.takeUsers([takeNew({ ...shown, roleId: 77n }, 'new role')].values());
  await mirror.learnRoles();
  expect(await query('select role_id, name from mirror.roles where team_id = 99')).toEqual([
    [77n, 'new role'],
  ]);
});

it('takeUsers does not write a user who already has base values, and returns the id of the user', async () => {
  await query(
    "insert into sync.user_base (team_id, id, name, first_name, last_name) values (98, 2, '', '', '')",
  );
  const fresh = [1n, 2n, 3n].map((id) => takeNew({ ...shown, id }, null));
  expect(await mirrorOf(98n).takeUsers(fresh.values())).toEqual(new Set([2n]));
  expect(await query('select id from mirror.users where team_id = 98 order by id')).toEqual([[1n], [3n]]);
  expect(await query('select user_id, run_id from sync.changes where team_id = 98 order by 1')).toEqual([
    [1n, runId],
    [3n, runId],
  ]);
});

it('two calls of takeUsers write at the same time, without waiting for each other', async () => {
  const mirror = mirrorOf(96n);
  const part = (first: number) =>
    mirror.takeUsers(
      Array.from({ length: 3000 }, (_, at) => takeNew({ ...shown, id: BigInt(first + at) }, null)).values(),
    );
  const parts = await database.db.transaction(async (tx) => {
    await sql`lock table sync.user_base in share mode`.execute(tx);
    const underWay = [part(1), part(3001)];
    await eventually('both wait for the table', async () => {
      const [[waiting] = []] = await query(
        `select count(*) from pg_locks l join pg_database d on d.oid = l.database and d.datname = current_database()
          where not l.granted and l.relation = 'sync.user_base'::regclass`,
      );
      return waiting === 2n;
    });
    return { underWay };
  });
  expect(await Promise.all(parts.underWay)).toEqual([new Set(), new Set()]);
  expect(
    await query(`select (select count(*) from mirror.users where team_id = 96) as mirror,
      (select count(*) from sync.user_base where team_id = 96) as base,
      (select count(*) from sync.changes where team_id = 96) as ledger,
      (select count(*) from sync.user_periods where team_id = 96) as periods`),
  ).toEqual([[6000n, 6000n, 6000n, 6000n]]);
});

it('a run in the ledger cannot be deleted', async () => {
  await mirrorOf(97n).takeUsers([takeNew(shown, null)].values());
  await expect(query(`delete from sync.runs where run_id = ${runId}`)).rejects.toThrow(
    `the ledger refers to run ${runId}`,
  );
});

it('takeUsers writes the same rows as applyUsers with a plan for each user', async () => {
  let teamId = 100n;
  let written = 0;
  await fc.assert(
    fc.asyncProperty(
      users,
      fc.array(fc.nat(29), { maxLength: 3 }),
      fc.constantFrom(1, 100),
      async (some, there, copies) => {
        // Enough of them go by COPY, and a few as JSON.
        const shown = Array.from({ length: copies }, () => some)
          .flat()
          .map((user, index) => ({ ...user, id: BigInt(index + 1) }) as ServiceUser);
        const known = there.map((index) => index + 1).filter((id) => id <= shown.length);
        const [decided, taken] = [teamId, teamId + 1n];
        teamId += 2n;
        for (const team of [decided, taken])
          await query(`begin; select set_config('musterd.writing', 'on', true);
          insert into mirror.users (team_id, id, first_name, resolved) select ${team}, n, 'Eva', true from unnest('{${[...new Set(known)].join(',')}}'::bigint[]) n; commit`);
        const roleOf = (id: Id) => (id % 2n === 0n ? 'agent' : null);
        const plans = shown.map((user) =>
          planUser(unknownUser(user.id, user), { ...member, id: user.id, role: roleOf(user.id) }, holdAll),
        );
        const deferred = await mirrorOf(decided).applyUsers(plans);
        const late = await mirrorOf(taken).takeUsers(
          shown.values().map((user) => takeNew(user, roleOf(user.id))),
        );
        expect(late).toEqual(new Set(deferred));
        expect(late.size).toBe(new Set(known).size);
        const rows = await rowsOf(taken);
        expect(rows).toEqual(await rowsOf(decided));
        written += rows.ledger.length;
      },
    ),
    { numRuns: 12 },
  );
  expect(written).toBeGreaterThan(0);
});
