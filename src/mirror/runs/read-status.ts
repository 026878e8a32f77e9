/** The data of `musterd status` for one team, in a handful of statements. */
import { sql } from 'kysely';
import type { EditState, HeldReason } from '../../model/edit-state.ts';
import type { Id } from '../../model/id.ts';
import type { NameSafety } from '../../model/intent.ts';
import { readWaitingAbsences, type WaitingAbsence } from '../users/absences.ts';
import type { HeldBatch } from '../../model/waiting.ts';
import { listedResources } from '../../model/listed-resources.ts';
import { readBatches } from '../users/held-batches.ts';
import { type Database, databaseTime, type Queryable, type Row } from '../db/database.ts';
import { readNameSafety } from '../team/name-safety.ts';
import { idsOfSuspects, pendingOf, readNotAtRest } from '../users/not-at-rest.ts';
import { readTeamId } from '../team/pinned-teams.ts';
import { type RunRow, readLastRuns } from './runs.ts';
import { segmentsOf } from '../listings/segments.ts';

export interface TeamStatus {
  readonly team: string;
  readonly teamId: Id | null;
  readonly name: string | null;
  readonly lastAttempt: RunRow | null;
  readonly lastSuccess: RunRow | null;
  /** The groups of tables, such as listings, whose last run was not complete: its outcome and its reasons. */
  readonly incomplete: readonly {
    readonly group: string;
    readonly outcome: string;
    readonly last_success: Date | null;
    /** The last run of the group that has ended. */
    readonly run_id: bigint | null;
    readonly reasons: readonly string[];
  }[];
  /** The current run, if any. */
  readonly running: (Row<'sync.leases', 'host' | 'pid'> & { readonly since: Date }) | null;
  /** The number of present rows of each listed resource, and of users. */
  readonly rows: Readonly<Record<'users' | 'unresolved' | 'gone', number> & Record<string, number>>;
  /** Edits not yet on the service, by state. */
  readonly pending: Readonly<Partial<Record<EditState, number>>>;
  /** True if `pending` counts only edits that the triggers recorded, not edits made while the triggers were off. */
  readonly isNotedOnly: boolean;
  /** The number of held fields by reason, in and outside of batches. */
  readonly held: Readonly<Partial<Record<HeldReason, number>>>;
  readonly openPushes: number;
  readonly batches: readonly HeldBatch[];
  /** Missing rows that are not marked as gone until a person approves that. */
  readonly withheld: readonly WaitingAbsence[];
  readonly names: NameSafety;
  /** The last contact count of each segment. */
  readonly counts: readonly Row<'mirror.contact_counts', 'segment' | 'counted_at' | 'count'>[];
}

/** If a team has more users than this, comparing all of them would take too long for a status command. */
const mostCompared = 20_000;

async function readListed(db: Queryable, teamId: Id) {
  const counts = listedResources.map(
    ({ name }) =>
      sql`(select count(*)::int from ${sql.table(`mirror.${name}`)} where team_id = ${teamId} and gone_at is null) as ${sql.ref(name)},`,
  );
  const { rows } = await sql<Readonly<Record<string, number>> & { openPushes: number }>`
    select ${sql.join(counts, sql` `)}
      (select count(*)::int from sync.changes where team_id = ${teamId} and state = 'open') as "openPushes"`.execute(
    db,
  );
  const [row] = rows;
  if (row === undefined) throw new Error('a select without a table returned no row');
  return row;
}

async function readIncomplete(db: Queryable, team: string): Promise<TeamStatus['incomplete']> {
  const { rows } = await sql<TeamStatus['incomplete'][number]>`
    select d.run_group as group, d.outcome, d.complete_at as last_success, r.run_id, coalesce(r.reasons, '{}') as reasons
    from sync.due d
    left join lateral (
      select run_id, reasons from sync.runs where team = d.team and d.run_group = any (groups) and outcome <> 'running'
      order by run_id desc limit 1
    ) r on true
    where d.team = ${team} and d.run_group <> 'edits' and d.outcome <> 'complete' order by d.run_group`.execute(
    db,
  );
  return rows;
}

async function readTally(db: Queryable, query: ReturnType<typeof sql<{ word: string; count: number }>>) {
  const { rows } = await query.execute(db);
  return Object.fromEntries(rows.map(({ word, count }) => [word, count]));
}

/** The last count of each segment: one index lookup per segment, however many counts there are. */
async function readLastCounts(db: Queryable, teamId: Id): Promise<TeamStatus['counts']> {
  const { rows } = await sql<TeamStatus['counts'][number]>`
    with recursive ${segmentsOf(teamId)}
    select s.segment, last.counted_at, last.count from segments s
    cross join lateral (
      select c.counted_at, c.count from mirror.contact_counts c
      where c.team_id = ${teamId} and c.segment = s.segment order by c.counted_at desc limit 1
    ) last
    order by s.segment`.execute(db);
  return rows;
}

/** Reads all parts of the status in one snapshot. */
export async function readStatus(
  db: Database,
  team: string,
  most: number = mostCompared,
): Promise<TeamStatus> {
  return await db.transaction((tx) => readStatusIn(tx, team, most), { isolationLevel: 'repeatable read' });
}

async function readStatusIn(db: Queryable, team: string, most: number): Promise<TeamStatus> {
  const teamId = await readTeamId(db, team);
  const { attempt, success } = await readLastRuns(db, team);
  const lease = await db
    .selectFrom('sync.leases')
    .select(['pid', 'taken_at as since', sql<string>`split_part(host, ' ', 1)`.as('host')])
    .where('team', '=', team)
    .where('expires_at', '>', databaseTime)
    .executeTakeFirst();
  const id = teamId ?? 0n;
  const [counted] = await readNotAtRest(db, [id]);
  const { present = 0, left = 0, edited = [], unresolved = [] } = counted ?? {};
  const { openPushes, ...listed } = await readListed(db, id);
  const mirrored = await db
    .selectFrom('mirror.teams')
    .select('name')
    .where('team_id', '=', id)
    .executeTakeFirst();
  const suspects = edited.length + unresolved.length + left;
  const isNotedOnly = present + left > most && suspects <= mostCompared;
  return {
    team,
    teamId,
    name: mirrored?.name ?? null,
    lastAttempt: attempt,
    lastSuccess: success,
    incomplete: await readIncomplete(db, team),
    running: lease ?? null,
    rows: { users: present, unresolved: unresolved.length, gone: left, ...listed },
    pending: await readTally(
      db,
      sql`
        select state as word, count(*)::int as count
        from (${isNotedOnly ? sql`select p.state from ${pendingOf(id, idsOfSuspects(id))}` : sql`select state from report.pending where team_id = ${id}`}) p
        group by state`,
    ),
    isNotedOnly,
    held: await readTally(
      db,
      sql`
        select reason as word, count(*)::int as count from report.held where team_id = ${id} and state = 'held' group by reason`,
    ),
    openPushes,
    batches: await readBatches(db, id),
    withheld: await readWaitingAbsences(db, id),
    names: await readNameSafety(db, id),
    counts: await readLastCounts(db, id),
  };
}
