/** Reads people's decisions, and the state of each decided edit, from `report.decisions`. */
import { type RawBuilder, sql } from 'kysely';
import type { EditState, HeldReason } from '../../model/edit-state.ts';
import type { Id } from '../../model/id.ts';
import { type Deed, mostOfDecision, perList } from '../../model/waiting-page.ts';
import { idArray } from '../../mirror/db/by-key.ts';
import type { PageReader } from './page-reader.ts';
import { dayMs } from '../../model/zone-time.ts';

export interface DecidedPart {
  readonly state: EditState | null;
  readonly reason: HeldReason | null;
  readonly detail: string | null;
  readonly rows: number;
}

export interface FollowedDecision {
  readonly number: bigint;
  readonly teamId: Id;
  readonly at: Date;
  readonly deed: Deed;
  readonly by: string | null;
  readonly why: string | null;
  /** The batch that was decided; `null` for several batches, or for fields without a batch. */
  readonly batch: string | null;
  /** The number of rows that were read. A long decision is read only in part: its first rows. */
  readonly rows: number;
  readonly isMore: boolean;
  readonly fields: readonly string[];
  /** The user's name and the mirror's value, for a decision about a single field. */
  readonly name: string | null;
  readonly value: unknown;
  readonly parts: readonly DecidedPart[];
  readonly runs: readonly bigint[];
}

/** The numbers of the newest decisions. Each number is found by one index lookup. */
function newest(teamIds: readonly Id[], most: number): RawBuilder<unknown> {
  const before = (than: RawBuilder<unknown>) => sql`(
    select d.decision_id from report.decisions d
    where d.team_id = any (${idArray(teamIds)}) and d.field is not null and d.decision <> 'undo' and d.decision_id < ${than}
    order by d.decision_id desc limit 1)`;
  if (most === 0) return sql`select null::bigint, 0`;
  return sql`
    select ${before(sql`9223372036854775807`)} as number, 1 as nth
    union all select ${before(sql`n.number`)}, n.nth + 1 from newest n where n.number is not null and n.nth < ${most}`;
}

async function readDecided(
  { db, teamIds }: PageReader,
  number: bigint | null,
  most: number,
): Promise<readonly FollowedDecision[]> {
  const { rows: wanted } = await sql<{ number: Id }>`
    with recursive newest (number, nth) as (${newest(teamIds, most)})
    select n.number from newest n where n.number is not null
    union select a.number from (select ${number}::bigint as number) a where a.number is not null`.execute(db);
  // Postgres takes longer to plan the next query than to run it, so it is skipped if there is nothing to read.
  if (wanted.length === 0) return [];
  const { rows } = await sql<FollowedDecision>`
    with named as (
      select d.*, count(*) over (partition by d.decision_id) > a.most as is_more,
        row_number() over (partition by d.decision_id order by d.change_id, d.field) <= a.most as counts
      from (select number, case when number = ${number} then ${mostOfDecision}::int else ${perList}::int end as most
        from unnest(${idArray(wanted.map((decision) => decision.number))}) number) a
      cross join lateral (
        select d.* from report.decisions d
        where d.decision_id = a.number and d.team_id = any (${idArray(teamIds)}) and d.field is not null and d.decision <> 'undo'
        order by d.change_id, d.field limit a.most + 1
      ) d
    ), followed as materialized (
      select n.*, (
        select c.run_id from report.changes c
        where c.team_id = n.team_id and c.user_id = n.user_id and c.field = n.field and c.kind = 'push'
          and c.change_id > n.change_id and c.edit_id = n.edit_id order by c.change_id desc limit 1
      ) as sent_in
      from named n where n.counts
    )
    select f.decision_id as number, f.team_id as "teamId", min(f.decided_at) as at, mode() within group (order by f.deed) as deed,
      max(f.decided_by) as by, max(f.decided_why) as why, case when count(distinct f.batch) = 1 then min(f.batch) end as batch,
      count(*)::int as rows, bool_or(f.is_more) as "isMore", array_agg(distinct f.field) as fields, max(f.name) as name,
      (array_agg(f.mirror_value))[1] as value, coalesce(array_agg(distinct f.sent_in) filter (where f.sent_in is not null), '{}') as runs, (
        select jsonb_agg(p order by p.rows desc, p.state, p.detail) from (
          select g.state, g.reason, g.detail, count(*)::int as rows from followed g where g.decision_id = f.decision_id group by 1, 2, 3) p
      ) as parts
    from followed f group by f.decision_id, f.team_id order by f.decision_id desc`.execute(db);
  return rows;
}

/** Reads the newest decisions, and the decision that `?done=` names if it is less than a day old. */
export async function readDone(
  reader: PageReader,
  query: URLSearchParams,
  most: number,
): Promise<{ readonly decided: readonly FollowedDecision[]; readonly done: FollowedDecision | undefined }> {
  const first = /^\d{1,18}$/.exec(query.get('done') ?? '')?.[0];
  const number = first === undefined ? null : BigInt(first);
  const all = await readDecided(reader, number, most);
  const isRecent = ({ at }: FollowedDecision) => reader.now.getTime() - at.getTime() < dayMs;
  return {
    decided: all.slice(0, most),
    done: all.find((decision) => decision.number === number && isRecent(decision)),
  };
}
