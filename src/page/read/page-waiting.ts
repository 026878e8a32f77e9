/** Reads the edits that wait for a person: a list per batch (edits of one editor that one run held), else per reason. */
import { sql } from 'kysely';
import { isUp } from '../../model/daemons.ts';
import type { HeldReason } from '../../model/edit-state.ts';
import { columnOf } from '../../model/fields.ts';
import type { Id } from '../../model/id.ts';
import { ownKey } from '../../model/waiting-page.ts';
import type { Transaction } from '../../mirror/db/database.ts';
import { idArray } from '../../mirror/db/by-key.ts';
import { readDaemons } from '../../mirror/team/known-daemons.ts';
import { actFor } from '../../mirror/users/decide-edits.ts';
import { readOwnEdits } from '../../mirror/users/last-edits.ts';
import { waitsForPerson } from '../../mirror/users/waiting-fields.ts';
import { matches, type Searched } from './page-people.ts';
import type { PageReader } from './page-reader.ts';

export interface FieldOnHold {
  readonly teamId: Id;
  readonly userId: Id;
  readonly name: string | null;
  readonly field: string;
  readonly reason: HeldReason;
  readonly detail: string;
  readonly base: unknown;
  readonly mirror: unknown;
  readonly service: unknown;
  readonly since: Date;
  readonly batch: string | null;
  readonly editId: Id | null;
  readonly editedBy: string | null;
  readonly editedAt: Date | null;
  /** The X-Request-Id of the push that the service refused. */
  readonly requestId: string | null;
}

interface Tally<What extends string | null = string> {
  readonly what: What;
  readonly rows: number;
}

export interface WaitingList {
  readonly teamId: Id;
  /** `null` for edits outside of batches. Then all rows of the list have the same reason. */
  readonly batch: string | null;
  readonly reasons: readonly Tally<HeldReason>[];
  readonly rows: number;
  readonly users: number;
  readonly fields: readonly Tally[];
  readonly editors: readonly Tally<string | null>[];
  readonly details: readonly Tally[];
  readonly since: Date;
  readonly runId: bigint | null;
  readonly editedFrom: Date | null;
  readonly editedTo: Date | null;
  /** True if all the edits were made in one transaction, such as an import. */
  readonly isOneEdit: boolean;
}

/** Missing rows of a listing, which are marked as gone only if a person approves. */
export interface MissingRows {
  readonly teamId: Id;
  readonly hash: string;
  readonly resource: string;
  readonly rows: number;
  readonly reason: string;
  readonly since: Date;
}

export interface WaitingTotals {
  /** Batches come before other lists. Each kind begins with the oldest list. */
  readonly lists: readonly WaitingList[];
  readonly missing: readonly MissingRows[];
}

export interface Sending {
  /** True if each of these teams has a running daemon, which is notified of edits and decisions. */
  readonly listens: boolean;
  readonly nextRun: Date | null;
}

const tally = (column: string) => sql`(
  select jsonb_agg(jsonb_build_object('what', c.what, 'rows', c.rows) order by c.rows desc, c.what)
  from (
    select ${sql.ref(`w.${column}`)} as what, count(*)::int as rows from waiting w
    where (w.team_id, w.batch, w.alone) is not distinct from (l.team_id, l.batch, l.alone) group by 1
  ) c)`;

/** @param reason the reason of the rows to read; `null` reads all reasons */
export async function readWaitingLists(
  { db, teamIds }: PageReader,
  reason: string | null = null,
): Promise<WaitingTotals> {
  const { rows: lists } = await sql<WaitingList>`
    with waiting as materialized (
      select h.team_id, h.batch, case when h.batch is null then h.reason end as alone, h.reason, h.field, h.user_id, h.detail, h.since,
        h.run_id, h.edited_by, h.edited_at, h.edited_in
      from report.held h where h.team_id = any (${idArray(teamIds)}) and ${waitsForPerson} and (${reason}::text is null or h.reason = ${reason})
    ), lists as (
      select team_id, batch, alone, count(*)::int as rows, count(distinct user_id)::int as users, min(since) as since, min(run_id) as run_id,
        min(edited_at) as edited_from, max(edited_at) as edited_to,
        count(distinct coalesce(edited_in, '')) = 1 and bool_and(edited_in is not null) as is_one_edit
      from waiting group by team_id, batch, alone
    )
    select team_id as "teamId", batch, rows, users, since, run_id as "runId", edited_from as "editedFrom", edited_to as "editedTo",
      is_one_edit as "isOneEdit", ${tally('reason')} as reasons, ${tally('field')} as fields, ${tally('edited_by')} as editors,
      ${tally('detail')} as details
    from lists l order by batch is null, since, batch, alone`.execute(db);
  const { rows: missing } = await sql<MissingRows>`
    select team_id as "teamId", batch as hash, resource, rows::int as rows, detail as reason, since
    from report.missing where team_id = any (${idArray(teamIds)}) order by since, batch`.execute(db);
  return { lists, missing };
}

const heldColumns = sql`
  h.team_id as "teamId", h.user_id as "userId", h.name, h.field, h.reason, h.detail, h.base_value as base,
  h.mirror_value as mirror, h.service_value as service, h.since, h.batch, h.edit_id as "editId",
  h.edited_by as "editedBy", h.edited_at as "editedAt", case when h.reason = 'refused' then (
    select c.request_id from report.changes c
    where c.team_id = h.team_id and c.user_id = h.user_id and c.field = h.field and c.outcome = 'refused'
    order by c.change_id desc limit 1
  ) end as "requestId"`;

export const heldRowsOf = ({ teamId, batch, reasons }: WaitingList, search: Searched) => sql`(
  select ${heldColumns} from report.held h
  where h.team_id = ${teamId} and ${waitsForPerson} and h.batch is not distinct from ${batch}
    and h.reason = any (${reasons.map(({ what }) => what)}::text[])
    and (${search.q} = '' or exists (
      select from mirror.users u where u.team_id = h.team_id and u.id = h.user_id and ${matches(search)})))`;

export async function readHeldRows(
  { db, teamIds }: PageReader,
  fields: readonly Pick<FieldOnHold, 'userId' | 'field'>[],
): Promise<readonly FieldOnHold[]> {
  const { rows } = await sql<FieldOnHold>`
    select ${heldColumns} from unnest(${idArray(fields.map(({ userId }) => userId))}, ${fields.map(({ field }) => field)}::text[])
      with ordinality as k (user_id, field, n), report.held h
    where h.team_id = any (${idArray(teamIds)}) and h.user_id = k.user_id and h.field = k.field and h.reason <> 'asked'
    order by k.n`.execute(db);
  return rows;
}

/** Reads the viewer's own edits, in teams in which another person has to approve them. */
export async function readOwn(
  { db, teams, decider }: PageReader,
  rows: readonly FieldOnHold[],
): Promise<ReadonlySet<string>> {
  const own = new Set<string>();
  if (decider === null) return own;
  const tx = db as Transaction;
  await actFor(tx, decider.actor);
  for (const { teamId } of teams.filter(({ team }) => decider.fourEyes.has(team))) {
    const users = new Set(rows.flatMap((row) => (row.teamId === teamId ? [row.userId] : [])));
    const edits = users.size === 0 ? [] : await readOwnEdits(tx, teamId, [...users]);
    for (const { userId, field } of edits) own.add(ownKey({ teamId, userId, field: columnOf(field) }));
  }
  return own;
}

export async function readSending({ db, teams, teamIds, now }: PageReader): Promise<Sending> {
  const { rows } = await sql<Pick<Sending, 'nextRun'>>`
    select min(f.next_run) as "nextRun" from report.freshness f
    where f.team_id = any (${idArray(teamIds)}) and f.run_group in ('users', 'edits') and f.next_run > now()`.execute(
    db,
  );
  const daemons = (await readDaemons(db)).filter((daemon) => isUp(daemon, now));
  const served = new Set(daemons.map(({ team }) => team));
  const listens = teams.every(({ team, teamId }) => !teamIds.includes(teamId) || served.has(team));
  return { listens, nextRun: rows[0]?.nextRun ?? null };
}
