/** What waits for a person: batches of held fields, single fields, and missing rows. */
import { sql } from 'kysely';
import type { Id } from '../model/id.ts';
import type { HoldReason } from '../model/user-plan.ts';
import type { Queryable } from './database.ts';
import { type PageReader, waitsForPerson } from './page-reader.ts';

export interface PageField {
  readonly teamId: Id;
  /** `null`: the field of all users. */
  readonly userId: Id | null;
  readonly name: string | null;
  readonly field: string;
  readonly reason: HoldReason;
  readonly detail: string;
  readonly base: unknown;
  readonly mirror: unknown;
  readonly service: unknown;
  readonly since: Date;
  readonly runId: bigint | null;
  readonly batch: string | null;
  /** The edit that is held: what a form names. `null`: none is. */
  readonly editId: Id | null;
  /** The service's message for the refused push. */
  readonly requestId: string | null;
  /** Who last edited the user, and when. */
  readonly editedBy: string | null;
  readonly editedAt: Date | null;
}

export interface PageBatch {
  readonly teamId: Id;
  readonly hash: string;
  readonly rows: number;
  readonly users: number;
  /** The columns, in order. */
  readonly fields: readonly string[];
  readonly reasons: readonly string[];
  readonly since: Date;
  readonly runId: bigint | null;
  readonly editors: readonly string[];
  /** The actors of the edits, most frequent first. */
  readonly roles: readonly { readonly role: string | null; readonly users: number }[];
  readonly editedAt: Date | null;
}

/** Rows that are not marked as gone before a person approves it. */
export interface MissingRows {
  readonly teamId: Id;
  readonly hash: string;
  readonly resource: string;
  readonly rows: number;
  readonly reason: string;
  readonly since: Date;
}

export interface WaitingTotals {
  readonly batches: readonly PageBatch[];
  readonly missing: readonly MissingRows[];
}

/** It waits and is decided together with others. */
const inBatch = sql`(h.batch is not null and h.reason in ('limit', 'review'))`;

export async function readWaitingBatches({ db, teamIds }: PageReader): Promise<WaitingTotals> {
  const { rows: batches } = await sql<PageBatch>`
    select h.team_id as "teamId", h.batch as hash, count(*)::int as rows, count(distinct h.user_id)::int as users,
      array_agg(distinct h.field) as fields, array_agg(distinct h.detail) as reasons, min(h.since) as since,
      min(h.run_id) as "runId", array_remove(array_agg(distinct u.edited_by), null) as editors,
      max(u.edited_at) as "editedAt", (
        select coalesce(jsonb_agg(jsonb_build_object('role', r.role, 'users', r.users) order by r.users desc, r.role), '[]') from (
          select one."user" ->> 1 as role, count(*)::int as users
          from unnest(array_agg(distinct jsonb_build_array(u.id, u.role)) filter (where u.id is not null)) one ("user")
          group by one."user" ->> 1
        ) r
      ) as roles
    from report.held h
    left join mirror.users u on u.team_id = h.team_id and u.id = h.user_id
    where h.team_id = any (${teamIds}::bigint[]) and ${waitsForPerson} and ${inBatch}
    group by h.team_id, h.batch order by min(h.since), h.batch`.execute(db);
  const { rows: missing } = await sql<MissingRows>`
    select team_id as "teamId", batch as hash, resource, rows::int as rows, detail as reason, since
    from report.missing where team_id = any (${teamIds}::bigint[]) order by since, batch`.execute(db);
  return { batches, missing };
}

const fieldColumns = sql`
  h.team_id as "teamId", h.user_id as "userId", h.name, h.field, h.reason, h.detail, h.base_value as base,
  h.mirror_value as mirror, h.service_value as service, h.since, h.run_id as "runId", h.batch, h.edit_id as "editId",
  u.edited_by as "editedBy", u.edited_at as "editedAt"`;

const heldFields = sql`report.held h left join mirror.users u on u.team_id = h.team_id and u.id = h.user_id`;

/** Fields that are decided one by one, oldest first. */
export async function readSingleFields(
  { db, teamIds }: PageReader,
  most: number,
): Promise<readonly PageField[]> {
  const { rows } = await sql<PageField>`
    select f.*, case when f.reason = 'refused' then (
      select c.request_id from report.changes c
      where c.team_id = f."teamId" and c.user_id = f."userId" and c.field = f.field and c.outcome = 'refused'
      order by c.change_id desc limit 1
    ) end as "requestId"
    from (
      select ${fieldColumns} from ${heldFields}
      where h.team_id = any (${teamIds}::bigint[]) and ${waitsForPerson} and not ${inBatch}
      order by h.since, h.user_id, h.field limit ${most}
    ) f
    order by f.since, f."userId", f.field`.execute(db);
  return rows;
}

/** The rows of these batches, up to a limit for each. */
export async function readBatchRows(
  { db, teamIds }: PageReader,
  hashes: readonly string[],
  most: number,
): Promise<readonly PageField[]> {
  const { rows } = await sql<PageField>`
    select f.*, null as "requestId" from unnest(${hashes}::text[]) b (batch)
    cross join lateral (
      select ${fieldColumns} from ${heldFields}
      where h.batch = b.batch and h.team_id = any (${teamIds}::bigint[]) and ${waitsForPerson} and ${inBatch}
      order by h.user_id, h.field limit ${most}
    ) f`.execute(db);
  return rows;
}

/** Number of waiting single fields by reason. */
export async function countSingleFields({
  db,
  teamIds,
}: PageReader): Promise<Readonly<Record<string, number>>> {
  const { rows } = await sql<{ reason: string; count: number }>`
    select h.reason, count(*)::int as count from report.held h
    where h.team_id = any (${teamIds}::bigint[]) and ${waitsForPerson} and not ${inBatch} group by h.reason`.execute(
    db,
  );
  return Object.fromEntries(rows.map(({ reason, count }) => [reason, count]));
}

/** One held field, whatever holds it; `null`: it is not held. */
export async function readHeldField(
  { db, teamIds }: PageReader,
  userId: Id,
  field: string,
): Promise<PageField | null> {
  const { rows } = await sql<PageField>`
    select ${fieldColumns}, null as "requestId" from ${heldFields}
    where h.team_id = any (${teamIds}::bigint[]) and h.user_id = ${userId} and h.field = ${field} limit 1`.execute(
    db,
  );
  return rows[0] ?? null;
}

/** The edits of all rows that a page shows of a batch; `null` for a row that has none. */
export async function readShownEdits(
  db: Queryable,
  teamId: Id,
  batch: string,
): Promise<readonly (Id | null)[]> {
  const { rows } = await sql<{ editId: Id | null }>`
    select h.edit_id as "editId" from report.held h
    where h.team_id = ${teamId} and h.batch = lower(${batch}) and ${waitsForPerson} and ${inBatch}`.execute(
    db,
  );
  return rows.map(({ editId }) => editId);
}
