/** Locks users' rows that are unchanged since they were read, and writes mirror and base from one stage. */
import { type RawBuilder, sql } from 'kysely';
import type { Id } from '../../model/id.ts';
import type { UserWrite } from '../../model/user-plan.ts';
import { columnNames, objectOf, setValues, stagedColumns, stagedValues, valuesOf } from '../db/field-sql.ts';
import { byKey, idArray } from '../db/by-key.ts';
import type { Row, Transaction } from '../db/database.ts';
import { type StageShape, toJsonField } from '../db/spool.ts';
import type { Staged } from '../db/stage.ts';
import { stagedTimes, timesOf } from '../db/timestamp.ts';

/** True if all values are taken from the service, because the user is new or has come back. */
const isTakenWhole = ({ expected, observed }: UserWrite): boolean =>
  expected === null || (expected.gone && observed.resolved);

export const writeShape: StageShape<UserWrite> = {
  name: 'writes',
  columns: [
    ['id', 'bigint'],
    ['is_new', 'boolean'],
    ['is_taken', 'boolean'],
    ['was_split', 'text'],
    ...stagedColumns('was_'),
    ['name_split', 'text'],
    ...stagedColumns(),
    ['name', 'text'],
    ['role', 'text'],
    ['resolved', 'boolean'],
    ['has_details', 'boolean'],
    ...stagedTimes,
    ['raw', 'jsonb'],
    ['base_name', 'text'],
    ...stagedColumns('base_'),
  ],
  values: (write) => cellsOf(write),
};

function cellsOf(write: UserWrite) {
  const { id, expected, mirror, observed, base } = write;
  return [
    id,
    expected === null,
    isTakenWhole(write),
    expected?.split,
    ...stagedValues(expected ?? undefined),
    mirror.split,
    ...stagedValues(mirror),
    observed.name,
    observed.role,
    observed.resolved,
    observed.details !== null,
    ...timesOf(observed.details),
    observed.details === null ? '{}' : toJsonField(observed.details.raw),
    base.joined,
    ...stagedValues(base),
  ];
}

/**
 * Locks the rows that are unchanged since they were read.
 * @returns the ids of rows that it could not lock: changed, locked by other sessions, or created meanwhile
 */
export async function lockUnchanged(tx: Transaction, teamId: Id, staged: Staged): Promise<ReadonlySet<Id>> {
  const { rows } = await sql<Row<'mirror.users', 'id'>>`
    with staged as materialized (select * from ${staged}),
    mine as materialized (
      select u.id from (select * from staged s where not s.is_new order by s.id) s
      cross join lateral (
        select m.id from mirror.users m where m.team_id = ${teamId} and m.id = s.id
          and (m.name_split, ${valuesOf('m')}) is not distinct from (s.was_split, ${valuesOf('s', 'was_')})
        for update skip locked
      ) u
    )
    select s.id from staged s
    except (
      select id from mine
      union all
      select s.id from staged s left join lateral ${byKey('mirror.users', teamId, sql`s.id`)} u on true
      where s.is_new and u.id is null
    )`.execute(tx);
  return new Set(rows.map(({ id }) => id));
}

interface TeamRun {
  readonly teamId: Id;
  readonly runId: bigint;
}

/** @param from a `from` clause with the staged rows as s */
const addToMirror = ({ teamId }: TeamRun, from: RawBuilder<unknown>) => sql`
  insert into mirror.users as u (team_id, id, name, name_split, ${columnNames}, role,
    resolved, created_at, updated_at, user_created_at, user_updated_at, raw)
  select ${teamId}, s.id, s.name, s.name_split, ${valuesOf('s')}, s.role,
    s.resolved, s.created_at, s.updated_at, s.user_created_at, s.user_updated_at, s.raw
  from ${from} where s.is_new`;

const changeInMirror = ({ teamId }: TeamRun, from: RawBuilder<unknown>) => sql`
  update mirror.users u set name = s.name, name_split = s.name_split, ${setValues((column) => sql.ref(`s.${column}`))},
    role = s.role, resolved = s.resolved, gone_at = null,
    created_at = case when s.has_details then s.created_at else u.created_at end,
    updated_at = case when s.has_details then s.updated_at else u.updated_at end,
    user_created_at = case when s.has_details then s.user_created_at else u.user_created_at end,
    user_updated_at = case when s.has_details then s.user_updated_at else u.user_updated_at end,
    raw = case when s.has_details then s.raw else u.raw end
  from ${from} where u.team_id = ${teamId} and u.id = s.id`;

/** The staged rows whose values differ from base, so that base must be written. */
const foundInBase = (teamId: Id, from: RawBuilder<unknown>) => sql`
  select s.id, s.base_name, ${valuesOf('s', 'base_')}, b.id is not null as is_known
  from ${from}
  left join lateral ${byKey('sync.user_base', teamId, sql`s.id`)} b on true
  where b.id is null or (b.name, ${valuesOf('b')}) is distinct from (s.base_name, ${valuesOf('s', 'base_')})`;

/** Inserts into base. Only for existing rows, `on conflict` must follow: without it, Postgres takes half the time. */
const addToBase = (teamId: Id, isKnown: boolean) => sql`
  insert into sync.user_base (team_id, id, name, ${columnNames})
  select ${teamId}, f.id, f.base_name, ${valuesOf('f', 'base_')}
  from found f where f.is_known = ${isKnown}`;

/** Records those users in the ledger whose values are all taken from the service. */
const addToLedger = ({ teamId, runId }: TeamRun, from: RawBuilder<unknown>) => sql`
  insert into sync.changes (team_id, user_id, run_id, kind, base, old, new, closed_at)
  select ${teamId}, s.id, ${runId}, case when s.is_new then 'adopt' else 'return' end, '{}',
    case when s.is_new then '{}' else ${objectOf('s', 'was_')} end,
    ${objectOf('s')}, clock_timestamp()
  from ${from} where s.is_taken`;

/**
 * Parts of a statement that write the rows of `taken` to mirror and base, and to the ledger if all values of a user are
 * taken from the service. Unchanged bases are not written.
 * @param inMirror the needed kinds of writes to the mirror, because each kind fires the triggers, even without rows
 */
function writesOf(run: TeamRun, inMirror: readonly (typeof addToMirror)[]): RawBuilder<unknown> {
  const { teamId } = run;
  const from = sql`taken s`;
  const parts = inMirror.map((write, at) => sql`in_mirror_${sql.raw(String(at))} as (${write(run, from)}),`);
  return sql`
    ${sql.join(parts, sql` `)}
    found as materialized (${foundInBase(teamId, from)}),
    added_to_base as (${addToBase(teamId, false)}),
    changed_in_base as (${addToBase(teamId, true)}
      on conflict (team_id, id) do update set name = excluded.name, ${setValues((column) => sql.ref(`excluded.${column}`))}, agreed_at = clock_timestamp()),
    in_ledger as (${addToLedger(run, from)})`;
}

/** Writes the locked users in one statement, so that the staged rows are sent and read only once. */
export async function writeUsers(
  tx: Transaction,
  run: TeamRun,
  staged: Staged,
  { writes, deferred }: { readonly writes: readonly UserWrite[]; readonly deferred: ReadonlySet<Id> },
): Promise<void> {
  const locked = writes.filter(({ id }) => !deferred.has(id));
  if (locked.length === 0) return;
  const news = locked.filter(({ expected }) => expected === null).length;
  const inMirror = [...(news > 0 ? [addToMirror] : []), ...(news < locked.length ? [changeInMirror] : [])];
  await sql`
    with taken as materialized (select * from ${staged} where s.id <> all (${idArray([...deferred])})),
    ${writesOf(run, inMirror)}
    select`.execute(tx);
  // Ends edits that both sides agree on. No trigger on the base does it if base already had the mirror's new value.
  const changed = locked.filter(({ expected }) => expected !== null).map(({ id }) => id);
  if (changed.length > 0) await sql`select sync.end_edits(${run.teamId}, ${idArray(changed)})`.execute(tx);
}
