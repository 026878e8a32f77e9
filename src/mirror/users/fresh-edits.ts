/**
 * Finds edits that no push has handled yet, by their transaction id in `sync.edits`: a transaction can make an edit before
 * the table is read, and commit it later. Edits made while the triggers were off are found by a run that reads all users.
 */
import { type RawBuilder, sql } from 'kysely';
import type { FreshEdits } from '../../model/run-group.ts';
import type { Id } from '../../model/id.ts';
import type { KnownUser } from '../../model/plan.ts';
import { addressesOf } from './addresses.ts';
import { valuesOf } from '../db/field-sql.ts';
import type { Database, Queryable, Row } from '../db/database.ts';

/** Condition on the row d of `sync.due`: it has a mark (a snapshot of transaction ids) that was made on this server. */
const isOfHere = sql`coalesce(pg_snapshot_xmax(d.mark) <= pg_snapshot_xmax(pg_current_snapshot()), false)`;

/**
 * Condition on the row d of `sync.due`: all edits must be checked, because the mark of handled edits is absent, the last
 * push did not finish, or the mark has transaction ids of another server (after a restore).
 */
const looksAtAll = sql`coalesce(d.failures > 0 or not ${isOfHere}, true)`;

/** Rows of `sync.edits` that the snapshot `d.mark` lacks. Future transaction ids, of another server, do not count. */
const editsSince = (teamId: RawBuilder<unknown>) => sql`(
  select s.user_id from sync.edits s
  where s.team_id = ${teamId} and s.xid >= pg_snapshot_xmin(d.mark) and s.xid < pg_snapshot_xmax(pg_current_snapshot())
    and not pg_visible_in_snapshot(s.xid, d.mark))`;

/**
 * Condition on team t and the row d of `sync.due`: an edit was made since the last push began, and this push did not fail
 * as a whole. The next push is then due at once. A time is exact enough: an edit that the condition misses waits with the
 * earlier edits.
 */
const hasNews = sql`(d.outcome is distinct from 'failed' and exists (
  select from sync.edits l where l.team_id = t.team_id and l.ended_at is null and l.edited_at > d.started_at))`;

/** Condition on mirror u and base b: the user is not gone, and has an edit that has not reached the service. */
const isDirty = sql`
  u.gone_at is null and (${valuesOf('u')}) is distinct from (${valuesOf('b')})`;

/**
 * Reads users who are not gone and whose mirror differs from the base, with their addresses for lookups. If a mark can be
 * used, reads only users edited since the last push. If the role of such a user was edited, reads all users with an
 * edited role, because the limit on the last administrator is checked for all of them together.
 */
export async function readEditedUsers(db: Queryable, teamId: Id): Promise<readonly KnownUser[]> {
  // The two conditions with `exists` on `marked` and `since` are evaluated once, not for each user.
  const differingUsers = sql`
    select u.id, u.resolved from mirror.users u join sync.user_base b on b.team_id = u.team_id and b.id = u.id
    where u.team_id = ${teamId} and ${isDirty}`;
  const { rows } = await sql<KnownUser>`
    with marked as materialized (
      select d.mark from sync.due d join sync.teams t on t.team = d.team
      where t.team_id = ${teamId} and d.run_group = 'edits' and not ${looksAtAll}
    ),
    since as materialized (
      select u.id, u.resolved, u.role_id is distinct from b.role_id as has_role
      from (select distinct e.user_id as id from marked d cross join lateral ${editsSince(sql`${teamId}`)} e) s
      join mirror.users u on u.team_id = ${teamId} and u.id = s.id
      join sync.user_base b on b.team_id = ${teamId} and b.id = s.id
      where ${isDirty}
    ),
    edited as materialized (
      select id, resolved from since
      union
      ${differingUsers} and not exists (select from marked)
      union
      ${differingUsers} and u.role_id is distinct from b.role_id and exists (select from since where has_role)
    )
    select e.id, e.resolved, coalesce(a.emails, '{}') as emails, coalesce(a.phones, '{}') as phones
    from edited e left join (${addressesOf(teamId, sql`select id from edited`)}) a on a.id = e.id
    order by e.id`.execute(db);
  return rows;
}

/** Reads, for each of these teams, whether it has edits that the last push did not handle. */
export async function readFreshEdits(
  db: Queryable,
  teams: readonly string[],
): Promise<readonly FreshEdits[]> {
  const { rows } = await sql<FreshEdits & { team_id: Id; looks_at_all: boolean }>`
    select t.team_id, t.team, pg_current_snapshot()::text as mark, ${isOfHere} as "isMarked",
      ${looksAtAll} as looks_at_all, case when ${hasNews} then 0 else coalesce(d.failures, 0) end as failures,
      extract(epoch from clock_timestamp() - d.started_at)::float8 * 1000 as "triedForMs",
      not ${looksAtAll} and exists (
        select from ${editsSince(sql`t.team_id`)} e
        join mirror.users u on u.team_id = t.team_id and u.id = e.user_id
        join sync.user_base b on b.team_id = t.team_id and b.id = e.user_id
        where ${isDirty}
      ) as "isFresh"
    from sync.teams t left join sync.due d on d.team = t.team and d.run_group = 'edits'
    where t.team = any (${teams}::text[])`.execute(db);
  const all = rows.flatMap((row) => (row.looks_at_all ? [row.team_id] : []));
  const waiting = await readTeamsWithWaiting(db, all);
  return rows.map(({ team_id, team, mark, isMarked, triedForMs, failures, isFresh }) => ({
    team,
    mark,
    isMarked,
    triedForMs,
    failures,
    isFresh: isFresh || waiting.has(team_id),
  }));
}

/** Returns the teams that have an edit which the next run sends. */
async function readTeamsWithWaiting(db: Queryable, teamIds: readonly Id[]): Promise<ReadonlySet<Id>> {
  if (teamIds.length === 0) return new Set();
  const { rows } = await sql<Row<'sync.teams', 'team_id'>>`
    select distinct team_id from report.pending
    where team_id = any (${teamIds}::bigint[]) and state = 'waiting' and detail is null`.execute(db);
  return new Set(rows.map(({ team_id }) => team_id));
}

/**
 * Stores which edits a push has handled, so that edits that cannot be sent do not trigger a push again and again.
 * @param mark the mark of the handled edits; `null` if all waiting edits must be tried again
 * @param wasMarked true if there was a mark when the push began. If a decision removed it since, no mark is stored.
 */
export async function noteEdits(
  db: Database,
  team: string,
  mark: string | null,
  wasMarked = false,
): Promise<void> {
  await db.transaction((tx) =>
    tx
      .insertInto('sync.due')
      .values({ team, run_group: 'edits', mark })
      .onConflict((oc) => {
        const update = oc.columns(['team', 'run_group']).doUpdateSet({ mark });
        return wasMarked ? update.where('sync.due.mark', 'is not', null) : update;
      })
      .execute(),
  );
}
