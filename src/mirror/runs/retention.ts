/**
 * Deletes rows past their retention, in small batches. It needs no lease, and runs continue in parallel, because it
 * deletes only rows that a run never writes. Rows that later decisions need are kept, however old they are.
 */
import { type RawBuilder, sql } from 'kysely';
import type { Id } from '../../model/id.ts';
import { type Ages, type Pruned, prunable, type Prunable } from '../../model/ages.ts';
import type { Database, Transaction } from '../db/database.ts';
import { readTeamId } from '../team/pinned-teams.ts';

/** Rows per batch: about 0.2 s of the database's time. */
const rowsPerBatch = 5000;
/** The number of a team's newest runs that are always kept, because the notices need to know since when runs fail. */
const runsAtLeast = 200;

interface Target {
  readonly team: string;
  readonly teamId: Id;
  readonly days: number;
}

/** `batch` selects the next rows after the cursor; its column is_over marks the rows that `remove` deletes. */
interface PrunePart {
  readonly batch: RawBuilder<unknown>;
  readonly remove: RawBuilder<unknown>;
}

const agoOf = ({ days }: Target) => sql`(clock_timestamp() - ${days}::float8 * interval '1 day')`;

/**
 * A change is kept if it is the last pull or the last confirmed push of its field. Later pushes of the field are kept,
 * too, because they count as failed tries. Pushes of a role are kept until a later run has read all users, because they
 * show which role names are out of date. A rejection is kept as long as its field is held.
 */
function changesOf(target: Target, cursor: string): PrunePart {
  const { team, teamId } = target;
  const moves = (row: string) => sql`${sql.ref(`${row}.kind`)} in ('adopt', 'return', 'pull', 'settle')`;
  return {
    batch: sql`
      select b.change_id, b.change_id::text as cursor, row_number() over (order by b.change_id) as n,
        b.state = 'closed' and b.opened_at < ${agoOf(target)}
        and not (b.kind = 'reject' and exists (
          select from sync.held_fields h
          where h.team_id = ${teamId} and h.user_id = b.user_id and h.decision = 'rejected' and (b.edits ->> h.field)::bigint = h.edit_id))
        and not (b.kind = 'push' and b.new ? 'role_id' and b.opened_at >= coalesce((
          select max(r.started_at) from sync.runs r
          where r.team = ${team} and r.outcome = 'complete' and 'users' = any (r.groups)), 'infinity'))
        and not (b.user_id is not null and (b.kind = 'push' or ${moves('b')}) and exists (
          select from jsonb_object_keys(b.new) f (field)
          where not exists (
            select from sync.changes k
            where k.team_id = ${teamId} and k.user_id = b.user_id and k.change_id > b.change_id and k.new ? f.field
              and k.opened_at < ${agoOf(target)}
              and (k.kind = 'push' and k.outcome ->> f.field = 'confirmed' or b.kind <> 'push' and ${moves('k')})
          ))) as is_over
      from (
        select * from sync.changes where team_id = ${teamId} and change_id > ${cursor === '' ? '0' : cursor}::bigint
        order by change_id limit ${rowsPerBatch}
      ) b`,
    remove: sql`delete from sync.changes c using batch b where b.is_over and c.change_id = b.change_id`,
  };
}

/** An edit is kept until it has ended and the last push has handled it. */
function editsOf(target: Target, cursor: string): PrunePart {
  const { team, teamId } = target;
  return {
    batch: sql`
      select b.edit_id, b.edit_id::text as cursor, row_number() over (order by b.edit_id) as n,
        b.edited_at < ${agoOf(target)}
        and b.xid < coalesce((select pg_snapshot_xmin(d.mark) from sync.due d where d.team = ${team} and d.run_group = 'edits'), '18446744073709551615') as is_over
      from (
        select * from sync.edits
        where team_id = ${teamId} and ended_at is not null and edit_id > ${cursor === '' ? '0' : cursor}::bigint
        order by edit_id limit ${rowsPerBatch}
      ) b`,
    remove: sql`
      delete from sync.edits e using batch b
      where b.is_over and e.team_id = ${teamId} and e.ended_at is not null and e.edit_id = b.edit_id`,
  };
}

/**
 * A run is kept as long as a row of another table refers to it. The newest runs, and the last complete run that read all
 * users, are kept, too. So is one complete run per day that read the listings, to show that the tags were read that day.
 */
function runsOf(target: Target, cursor: string): PrunePart {
  const { team } = target;
  // Looks up the next run that the table refers to by index, and compares its id. With a plain `exists`, Postgres may scan
  // the whole table for each run.
  const leavesAlone = (table: string) =>
    sql`b.run_id is distinct from (select min(o.run_id) from ${sql.table(table)} o where o.run_id >= b.run_id)`;
  return {
    batch: sql`
      select b.run_id, b.run_id::text as cursor, row_number() over (order by b.run_id) as n,
        b.outcome <> 'running' and b.finished_at < ${agoOf(target)}
        and b.run_id < (select coalesce(min(l.run_id), 0) from (
          select run_id from sync.runs where team = ${team} order by run_id desc limit ${runsAtLeast}) l)
        and b.run_id is distinct from (
          select max(r.run_id) from sync.runs r where r.team = ${team} and r.outcome = 'complete' and 'users' = any (r.groups))
        and not (b.is_look and row_number() over (partition by b.is_look, (b.finished_at at time zone 'UTC')::date order by b.run_id) = 1)
        and ${leavesAlone('sync.user_periods')} and ${leavesAlone('sync.changes')} and ${leavesAlone('sync.held_fields')}
        as is_over
      from (
        select *, outcome = 'complete' and 'listings' = any (groups) as is_look from sync.runs
        where team = ${team} and run_id > ${cursor === '' ? '0' : cursor}::bigint order by run_id limit ${rowsPerBatch}
      ) b`,
    remove: sql`delete from sync.runs r using batch b where b.is_over and r.run_id = b.run_id`,
  };
}

/** A count is kept if it is the last count of its day, because report.contact_counts_daily shows that count. */
function countsOf(target: Target, cursor: string): PrunePart {
  const { teamId } = target;
  const [segment = '', countedAt = '-infinity'] = cursor === '' ? [] : (JSON.parse(cursor) as string[]);
  return {
    batch: sql`
      select b.segment, b.counted_at, json_build_array(b.segment, b.counted_at)::text as cursor,
        row_number() over (order by b.segment, b.counted_at) as n,
        d.ends_at < ${agoOf(target)} and exists (
          select from mirror.contact_counts c
          where c.team_id = ${teamId} and c.segment = b.segment and c.counted_at > b.counted_at and c.counted_at < d.ends_at) as is_over
      from (
        select segment, counted_at from mirror.contact_counts
        where team_id = ${teamId} and (segment, counted_at) > (${segment}, ${countedAt}::timestamptz)
        order by segment, counted_at limit ${rowsPerBatch}
      ) b
      cross join lateral (
        select ((b.counted_at at time zone 'UTC')::date + 1)::timestamp at time zone 'UTC'
      ) d (ends_at)`,
    remove: sql`
      delete from mirror.contact_counts c using batch b
      where b.is_over and c.team_id = ${teamId} and c.segment = b.segment and c.counted_at = b.counted_at`,
  };
}

/** Changes come first, because a run is kept as long as a change refers to it. */
const partOf: Readonly<Record<Prunable, (target: Target, cursor: string) => PrunePart>> = {
  changes: changesOf,
  edits: editsOf,
  runs: runsOf,
  counts: countsOf,
};

interface BatchEnd {
  readonly looked: number;
  readonly removed: number;
  readonly cursor: string | null;
}

/** Deletes one batch. It locks the team's row, because two processes that prune one team could deadlock otherwise. */
async function pruneBatch(tx: Transaction, teamId: Id, { batch, remove }: PrunePart): Promise<BatchEnd> {
  await sql`select set_config('musterd.writing', 'on', true)`.execute(tx);
  await sql`select from sync.teams where team_id = ${teamId} for no key update`.execute(tx);
  const { rows } = await sql<BatchEnd>`
    with batch as materialized (${batch}), removed as (${remove})
    select count(*)::int as looked, count(*) filter (where is_over)::int as removed,
      (array_agg(cursor order by n desc))[1] as cursor
    from batch`.execute(tx);
  return rows[0] ?? { looked: 0, removed: 0, cursor: null };
}

/**
 * Deletes rows past the retention of one team.
 * @param goesOn called before each batch. If it returns `false`, pruning stops, and the next call of `prune` continues.
 */
export async function prune(
  db: Database,
  team: string,
  ages: Ages,
  goesOn: () => Promise<boolean> = () => Promise.resolve(true),
): Promise<Pruned> {
  const pruned = { changes: 0, edits: 0, runs: 0, counts: 0 };
  const teamId = await readTeamId(db.kysely, team);
  if (teamId === null) return pruned;
  for (const part of prunable) {
    const days = ages[part];
    if (days === null) continue;
    let cursor: string | null = '';
    while (cursor !== null) {
      if (!(await goesOn())) return pruned;
      const from: string = cursor;
      const end = await db.transaction((tx) =>
        pruneBatch(tx, teamId, partOf[part]({ team, teamId, days }, from)),
      );
      pruned[part] += end.removed;
      cursor = end.looked < rowsPerBatch ? null : end.cursor;
    }
  }
  return pruned;
}

const topic = 'prune';
/** The ms between two prunings of a team. */
const everyMs = 86_400_000;
/** If the process that prunes reports nothing for this many ms, another process takes over. */
const patienceMs = 600_000;

/**
 * Claims the pruning of a team, so that only one of several daemons does it. Another daemon takes over if it dies.
 * @returns true if the claim succeeded
 */
export async function takePruneTurn(db: Database, team: string): Promise<boolean> {
  const { rows } = await db.transaction((tx) =>
    sql`
      insert into sync.learned as l (team, topic, value)
      select team, ${topic}, '{"done": false}' from sync.teams where team = ${team}
      on conflict (team, topic) do update set value = excluded.value, learned_at = clock_timestamp()
      where l.learned_at <= clock_timestamp()
        - case when l.value = '{"done": true}' then ${everyMs}::float8 else ${patienceMs}::float8 end * interval '1 ms'
      returning team`.execute(tx),
  );
  return rows.length > 0;
}

/** Records that the pruning of a team is still under way, or is done for today. */
export async function notePruneTurn(db: Database, team: string, done: boolean): Promise<void> {
  await db.transaction((tx) =>
    tx
      .updateTable('sync.learned')
      .set({ value: JSON.stringify({ done }), learned_at: sql`clock_timestamp()` })
      .where((eb) => eb.and({ team, topic }))
      .execute(),
  );
}
