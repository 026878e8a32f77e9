/** Reads what waits for a person: a list for each batch, one for each other reason, and missing rows. */
import { type RawBuilder, sql } from 'kysely';
import type { HeldReason } from '../../model/edit-state.ts';
import type { Id } from '../../model/id.ts';
import { perList, type RowSort } from '../../model/waiting-page.ts';
import { inBatch, waitsForPerson } from '../../mirror/users/waiting-fields.ts';
import type { PageReader } from './page-reader.ts';

export interface PageField {
  readonly teamId: Id;
  /** `null` stands for the field of all users. */
  readonly userId: Id | null;
  readonly name: string | null;
  readonly field: string;
  readonly reason: HeldReason;
  readonly detail: string;
  readonly base: unknown;
  readonly mirror: unknown;
  readonly service: unknown;
  readonly since: Date;
  readonly batch: string | null;
  /** The edit that is held; `null` if there is none. */
  readonly editId: Id | null;
  /** The service's message for the refused push. */
  readonly requestId: string | null;
  /** The person who edited the field, and when. */
  readonly editedBy: string | null;
  readonly editedAt: Date | null;
  /** The person who approved the edit before this one, if that was replaced before it was sent; not looked up for a file. */
  readonly overtaken: string | null;
}

/** Fields that wait for one reason in one team, and are decided in one go. */
export interface WaitingList {
  readonly teamId: Id;
  /** `null` if no guard stopped it. */
  readonly batch: string | null;
  /** The reason, which is the word of `?state=`. */
  readonly state: HeldReason;
  readonly rows: number;
  /** The most frequent first. */
  readonly fields: readonly { readonly field: string; readonly rows: number }[];
  readonly editors: readonly { readonly editor: string | null; readonly rows: number }[];
  readonly details: readonly string[];
  readonly since: Date;
  readonly runId: bigint | null;
  readonly editedFrom: Date | null;
  readonly editedTo: Date | null;
  /** Whether one transaction edited all of them, such as an import. */
  readonly isOneEdit: boolean;
}

/** Rows that are marked as gone only when a person approves it. */
export interface MissingRows {
  readonly teamId: Id;
  readonly hash: string;
  readonly resource: string;
  readonly rows: number;
  readonly reason: string;
  readonly since: Date;
}

export interface WaitingTotals {
  /** Batches come first, then the oldest. */
  readonly lists: readonly WaitingList[];
  readonly missing: readonly MissingRows[];
}

/** The batch in which it waits and is decided together with others. */
const batchOf = sql`(case when ${inBatch} then h.batch end)`;
const stateOf = sql`(case when ${inBatch} then min(h.reason) over (partition by h.team_id, h.batch) else h.reason end)`;

const counted = (column: RawBuilder<unknown>, name: string) => sql`(
  select jsonb_agg(jsonb_build_object(${sql.lit(name)}, c.what, 'rows', c.rows) order by c.rows desc, c.what)
  from (
    select ${column} as what, count(*)::int as rows from waiting w
    where (w.team_id, w.batch, w.state) is not distinct from (l.team_id, l.batch, l.state) group by 1
  ) c)`;

export async function readWaitingLists({ db, teamIds }: PageReader): Promise<WaitingTotals> {
  const { rows: lists } = await sql<WaitingList>`
    with waiting as materialized (
      select h.team_id, ${batchOf} as batch, ${stateOf} as state, h.field, h.user_id, h.detail, h.since, h.run_id,
        h.edited_by, h.edited_at, h.edited_in
      from report.held h where h.team_id = any (${teamIds}::bigint[]) and ${waitsForPerson}
    ), lists as (
      select team_id, batch, state, count(*)::int as rows, min(since) as since,
        array_agg(distinct detail) as details, min(run_id) as run_id, min(edited_at) as edited_from,
        max(edited_at) as edited_to, count(distinct coalesce(edited_in, '')) = 1 and bool_and(edited_in is not null) as is_one_edit
      from waiting group by team_id, batch, state
    )
    select team_id as "teamId", batch, state, rows, details, since, run_id as "runId",
      edited_from as "editedFrom", edited_to as "editedTo", is_one_edit as "isOneEdit",
      ${counted(sql`w.field`, 'field')} as fields, ${counted(sql`w.edited_by`, 'editor')} as editors
    from lists l order by batch is null, since, batch, state`.execute(db);
  const { rows: missing } = await sql<MissingRows>`
    select team_id as "teamId", batch as hash, resource, rows::int as rows, detail as reason, since
    from report.missing where team_id = any (${teamIds}::bigint[]) order by since, batch`.execute(db);
  return { lists, missing };
}

const fieldColumns = sql`
  h.team_id as "teamId", h.user_id as "userId", h.name, h.field, h.reason, h.detail, h.base_value as base,
  h.mirror_value as mirror, h.service_value as service, h.since, h.batch, h.edit_id as "editId",
  h.edited_by as "editedBy", h.edited_at as "editedAt"`;

/** The rows of a list to read, and their order. */
export interface RowsFilter {
  readonly field: string | null;
  readonly editor: string | null;
  readonly sort: RowSort;
  readonly isDown: boolean;
  readonly skip: number;
  readonly most: (list: WaitingList) => number;
}

const orders: Readonly<Record<RowSort, RawBuilder<unknown>>> = {
  edited: sql`h.edited_at`,
  person: sql`lower(h.name)`,
  field: sql`h.field`,
};

/** `report.decisions` has the same words. */
const editedAgain = 'somebody has edited the field again';

export async function readListRows(
  { db }: PageReader,
  list: WaitingList,
  { field, editor, sort, isDown, skip, most }: RowsFilter,
): Promise<{ readonly shown: readonly PageField[]; readonly found: number }> {
  const { rows } = await sql<PageField & { readonly found: number }>`
    select f.*, case when f.reason = 'refused' then (
      select c.request_id from report.changes c
      where c.team_id = f."teamId" and c.user_id = f."userId" and c.field = f.field and c.outcome = 'refused'
      order by c.change_id desc limit 1
    ) end as "requestId", (
      select case when d.decision = 'approve' and d.detail = ${editedAgain} then d.decided_by end from report.decisions d
      where ${most(list) <= perList} and d.team_id = f."teamId" and d.user_id = f."userId" and d.field = f.field
      order by d.change_id desc limit 1
    ) as overtaken
    from (
      select ${fieldColumns}, row_number() over (order by ${orders[sort]} ${isDown ? sql`desc` : sql``}, h.user_id, h.field) as n,
        count(*) over ()::int as found
      from report.held h
      where h.team_id = ${list.teamId} and ${waitsForPerson} and (${list.batch}::text is not null or h.reason = ${list.state})
        and ${batchOf} is not distinct from ${list.batch}
        and (${field}::text is null or h.field = ${field}) and (${editor}::text is null or coalesce(h.edited_by, '') = ${editor})
      order by n limit ${most(list)} offset ${skip}
    ) f order by f.n`.execute(db);
  return { shown: rows, found: rows[0]?.found ?? 0 };
}

/** Reads those of these fields that wait for somebody. */
export async function readHeldRows(
  { db, teamIds }: PageReader,
  fields: readonly Pick<PageField, 'userId' | 'field'>[],
): Promise<readonly PageField[]> {
  const { rows } = await sql<PageField>`
    select ${fieldColumns}, null as "requestId", null as overtaken
    from unnest(${fields.map(({ userId }) => userId)}::bigint[], ${fields.map(({ field }) => field)}::text[])
      with ordinality as k (user_id, field, n), report.held h
    where h.team_id = any (${teamIds}::bigint[]) and h.user_id = k.user_id and h.field = k.field and h.reason <> 'asked'
    order by k.n`.execute(db);
  return rows;
}
