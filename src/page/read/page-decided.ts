/** Reads decisions of people, and what became of each. */
import { type RawBuilder, sql } from 'kysely';
import { columnOf } from '../../model/fields.ts';
import type { HeldReason } from '../../model/edit-state.ts';
import type { Id } from '../../model/id.ts';
import { type Deed, type Fate, mostOfDecision, perList } from '../../model/waiting-page.ts';
import { idArray } from '../../mirror/db/by-key.ts';
import { rowPerField } from '../../mirror/db/field-sql.ts';
import type { PageReader } from './page-reader.ts';

export interface FollowedDecision {
  readonly number: bigint;
  readonly teamId: Id;
  readonly at: Date;
  readonly decision: Deed;
  readonly by: string | null;
  readonly why: string | null;
  /** The number of rows that were followed, which are the first ones. */
  readonly rows: number;
  readonly isMore: boolean;
  readonly fates: Readonly<Partial<Record<Fate, number>>>;
  /** The number of users whom each fate is about. */
  readonly users: Readonly<Partial<Record<Fate, number>>>;
  readonly fields: readonly string[];
  /** The person and the mirror's value, if it is about a single field. */
  readonly name: string | null;
  readonly value: unknown;
  /** Runs that have sent some of it, and when the last of that was confirmed. */
  readonly runs: readonly bigint[];
  readonly sentAt: Date | null;
  /** The lists in which some of it waits again. */
  readonly waitsIn: readonly { readonly batch: string | null; readonly state: HeldReason }[];
}

/** The newest decisions by number, each found by one lookup in an index. */
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

/** The values of the user u, by field, as text. */
const valuesInText = rowPerField((field) => [
  field === 'name'
    ? sql`btrim(concat_ws(' ', u.first_name, u.last_name))`
    : sql`${sql.ref(`u.${columnOf(field)}`)}::text`,
]);

/** The push of what was decided, the hold of the field, its value in the mirror, and the next decision about it. */
const followed = sql`
  select n.*, p.run_id as sent_in, p.closed_at, h.reason as held_for, h.batch as held_in,
    case
      when a.edit_id = n.edit_id then 'decided'
      when n.what = 'reject' then case when 'rejected' in (h.state, h.held_before) then 'kept' else 'moved' end
      when n.what in ('service', 'withdraw') then
        case mirror.words(g.text) when mirror.words(case n.what when 'withdraw' then n.base_text else n.service_text end) then 'kept' else 'moved' end
      when p.outcome = 'confirmed' then 'sent'
      when p.outcome = 'unknown' then case n.state when 'sending' then 'leaving' else 'asked' end
      when p.outcome = 'refused' then 'refused'
      when h.reason is not null then case h.edit_id when n.edit_id then 'waits' else 'edited' end
      when n.state is distinct from 'ended' and g.text is not distinct from n.mirror_text then 'coming'
      else 'moved' end as fate
  from numbered n
  left join lateral (
    select c.outcome, c.run_id, c.closed_at from report.changes c
    where c.team_id = n.team_id and c.user_id = n.user_id and c.field = n.field and c.kind = 'push'
      and c.change_id > n.change_id and c.edit_id = n.edit_id
    order by c.change_id desc limit 1
  ) p on n.what in ('approve', 'mirror', 'value')
  left join lateral (
    select h.state, h.reason, h.held_before, h.edit_id, h.batch from report.held h
    where h.team_id = n.team_id and h.user_id = n.user_id and h.field = n.field limit 1
  ) h on true
  left join lateral (
    select v.value as text from mirror.users u
    cross join lateral ${valuesInText} v (field, value)
    where u.team_id = n.team_id and u.id = n.user_id and u.gone_at is null and v.field = n.field
  ) g on true
  left join lateral (
    select d.edit_id from report.decisions d
    where d.team_id = n.team_id and d.user_id = n.user_id and d.field = n.field
      and d.change_id > n.change_id and d.decision_id <> n.decision_id and d.decision <> 'undo'
    order by d.change_id limit 1
  ) a on true`;

/** Reads the newest decisions, and the one with this number, if one is asked for. */
export async function readDecided(
  { db, teamIds }: PageReader,
  { number, most }: { readonly number: bigint | null; readonly most: number },
): Promise<readonly FollowedDecision[]> {
  const { rows: wanted } = await sql<{ number: Id }>`
    with recursive newest (number, nth) as (${newest(teamIds, most)})
    select n.number from newest n where n.number is not null
    union select a.number from (select ${number}::bigint as number) a where a.number is not null`.execute(db);
  // Postgres takes longer to plan what follows than to do it.
  if (wanted.length === 0) return [];
  const numbers = wanted.map((decision) => decision.number);
  const { rows } = await sql<FollowedDecision>`
    with named as (
      select d.*, count(*) over (partition by d.decision_id) > a.most as is_more,
        row_number() over (partition by d.decision_id order by d.change_id, d.field) <= a.most as counts
      from (select number, case when number = ${number} then ${mostOfDecision}::int else ${perList}::int end as most from unnest(${idArray(numbers)}) number) a
      cross join lateral (
        select d.* from report.decisions d
        where d.decision_id = a.number and d.team_id = any (${idArray(teamIds)}) and d.field is not null and d.decision <> 'undo'
        order by d.change_id, d.field limit a.most + 1
      ) d
    ), numbered as materialized (
      select n.*, n.deed as what from named n where n.counts
    ), followed as materialized (${followed}),
    counted as (select decision_id, fate, count(*)::int as rows, count(distinct user_id)::int as users from followed group by 1, 2)
    select f.decision_id as number, f.team_id as "teamId", min(f.decided_at) as at, mode() within group (order by f.what) as decision,
      max(f.decided_by) as by, max(f.decided_why) as why, count(*)::int as rows, bool_or(f.is_more) as "isMore",
      (select jsonb_object_agg(c.fate, c.rows) from counted c where c.decision_id = f.decision_id) as fates,
      (select jsonb_object_agg(c.fate, c.users) from counted c where c.decision_id = f.decision_id) as users,
      array_agg(distinct f.field) as fields, max(f.name) as name, (array_agg(f.mirror_value))[1] as value,
      coalesce(array_agg(distinct f.sent_in) filter (where f.fate in ('sent', 'leaving') and f.sent_in is not null), '{}') as runs,
      max(f.closed_at) filter (where f.fate = 'sent') as "sentAt",
      coalesce(jsonb_agg(distinct jsonb_build_object('batch', case when f.held_for in ('limit', 'review') then f.held_in end, 'state', f.held_for))
        filter (where f.fate in ('edited', 'waits')), '[]') as "waitsIn"
    from followed f group by f.decision_id, f.team_id order by f.decision_id desc`.execute(db);
  return rows;
}
