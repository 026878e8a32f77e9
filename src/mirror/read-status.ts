/** What `musterd status` shows of one team, read in a handful of statements. */
import { sql } from 'kysely';
import type { Id } from '../model/id.ts';
import { readWaitingAbsences, type WaitingAbsence } from './absences.ts';
import type { HeldBatch } from '../model/waiting.ts';
import { readBatches } from './held-batches.ts';
import { databaseTime, type Queryable, type Row } from './database.ts';
import { readTeamId } from './pinned-teams.ts';
import { isLetPass, isInBatch } from './holds.ts';
import { type RunRow, readLastRuns } from './runs.ts';

export interface TeamStatus {
  readonly team: string;
  readonly teamId: Id | null;
  readonly name: string | null;
  readonly lastAttempt: RunRow | null;
  readonly lastSuccess: RunRow | null;
  /** The run under way, if any. */
  readonly running: (Row<'sync.leases', 'host' | 'pid'> & { readonly since: Date }) | null;
  readonly rows: Readonly<Record<'users' | 'unresolved' | 'gone' | 'tags' | 'contact_fields', number>>;
  /** Edits not yet on the service, by state. */
  readonly pending: Readonly<Record<string, number>>;
  /** `pending` is of the users whose edit the triggers noted, and not of all. */
  readonly isNotedOnly: boolean;
  /** Fields that wait for a person, by reason. */
  readonly held: Readonly<Record<string, number>>;
  readonly openPushes: number;
  /** What the guard stopped and that waits for a person, the oldest first. */
  readonly batches: readonly HeldBatch[];
  /** Missing rows that are not called gone before a person agrees. */
  readonly withheld: readonly WaitingAbsence[];
  readonly counts: readonly Row<'mirror.contact_counts', 'segment' | 'counted_at' | 'count'>[];
}

/** To compare everybody takes longer than somebody who only looks should wait, where there are more users than this. */
const mostCompared = 20_000;

interface Counted {
  readonly rows: TeamStatus['rows'];
  readonly openPushes: number;
  /** Users who may have an edit that is not on the service. `null`: all may, to compare them takes no time. */
  readonly suspects: readonly Id[] | null;
}

/**
 * Counts all, and finds by an index of whom the mirror may differ from the base: who was ever edited, and who cannot be
 * read from the service, has a field held or a push open. Missing are those whom somebody edited with the triggers off.
 */
async function readRows(db: Queryable, teamId: Id, most: number): Promise<Counted> {
  const { rows } = await sql<TeamStatus['rows'] & { open_pushes: number; suspects: readonly Id[] | null }>`
    select n.users - u.gone as users, u.unresolved, u.gone,
      case when n.users > ${most} then array(
        select unnest(u.suspects)
        union select user_id from sync.held_fields where team_id = ${teamId} and user_id is not null
        union select user_id from sync.changes where team_id = ${teamId} and state = 'open'
      ) end as suspects,
      (select count(*)::int from mirror.tags where team_id = ${teamId} and gone_at is null) as tags,
      (select count(*)::int from mirror.contact_fields where team_id = ${teamId} and gone_at is null) as contact_fields,
      (select count(*)::int from sync.changes where team_id = ${teamId} and state = 'open') as open_pushes
    from (select count(*)::int as users from mirror.users where team_id = ${teamId}) n,
      (select count(*) filter (where gone_at is null and not resolved)::int as unresolved,
        count(*) filter (where gone_at is not null)::int as gone, array_agg(id) as suspects
      from mirror.users
      where team_id = ${teamId} and (edited_at is not null or not resolved or gone_at is not null)) u`.execute(
    db,
  );
  const [row] = rows;
  if (row === undefined) throw new Error('an aggregate without a group returned no row');
  const { open_pushes: openPushes, suspects, ...counts } = row;
  return { rows: counts, openPushes, suspects };
}

async function readTally(db: Queryable, query: ReturnType<typeof sql<{ word: string; count: number }>>) {
  const { rows } = await query.execute(db);
  return Object.fromEntries(rows.map(({ word, count }) => [word, count]));
}

/** The last count of each segment: one look at the index for each of them, however many counts there are. */
async function readLastCounts(db: Queryable, teamId: Id): Promise<TeamStatus['counts']> {
  const { rows } = await sql<TeamStatus['counts'][number]>`
    with recursive segments as (
      (select segment from mirror.contact_counts where team_id = ${teamId} order by segment limit 1)
      union all
      select (
        select c.segment from mirror.contact_counts c
        where c.team_id = ${teamId} and c.segment > s.segment order by c.segment limit 1
      ) from segments s where s.segment is not null
    )
    select s.segment, last.counted_at, last.count from segments s
    cross join lateral (
      select c.counted_at, c.count from mirror.contact_counts c
      where c.team_id = ${teamId} and c.segment = s.segment order by c.counted_at desc limit 1
    ) last
    order by s.segment`.execute(db);
  return rows;
}

export async function readStatus(
  db: Queryable,
  team: string,
  most: number = mostCompared,
): Promise<TeamStatus> {
  const teamId = await readTeamId(db, team);
  const { attempt, success } = await readLastRuns(db, team);
  const lease = await db
    .selectFrom('sync.leases')
    .select(['pid', 'taken_at as since', sql<string>`split_part(host, ' ', 1)`.as('host')])
    .where('team', '=', team)
    .where('expires_at', '>', databaseTime)
    .executeTakeFirst();
  const id = teamId ?? 0n;
  const { rows, openPushes, suspects } = await readRows(db, id, most);
  const mirrored = await db
    .selectFrom('mirror.teams')
    .select('name')
    .where('team_id', '=', id)
    .executeTakeFirst();
  const counts = await readLastCounts(db, id);
  return {
    team,
    teamId,
    name: mirrored?.name ?? null,
    lastAttempt: attempt,
    lastSuccess: success,
    running: lease ?? null,
    rows,
    pending: await readTally(
      db,
      sql`
        select state as word, count(*)::int as count from report.pending
        where team_id = ${id} and ${suspects === null ? sql`true` : sql`user_id = any (${suspects}::bigint[])`}
        group by state`,
    ),
    isNotedOnly: suspects !== null,
    held: await readTally(
      db,
      sql`
        select reason as word, count(*)::int as count from sync.held_fields h
        where team_id = ${id} and (reason = 'asked' or not ${isInBatch}) and not ${isLetPass} group by reason`,
    ),
    openPushes,
    batches: await readBatches(db, id),
    withheld: await readWaitingAbsences(db, id),
    counts,
  };
}
