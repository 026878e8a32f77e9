/** What people decided, decision by decision, and what became of it. */
import { sql } from 'kysely';
import type { Id } from '../model/id.ts';
import type { Fate } from '../model/waiting-page.ts';
import type { PageReader } from './page-reader.ts';

export interface Decided {
  readonly number: bigint;
  readonly teamId: Id;
  readonly at: Date;
  readonly decision: 'approve' | 'reject' | 'mirror' | 'service';
  readonly by: string | null;
  readonly why: string | null;
  readonly rows: number;
  readonly fates: Readonly<Partial<Record<Fate, number>>>;
  /** The last run that sent some of it, and when all of that was confirmed. */
  readonly runId: bigint | null;
  readonly sentAt: Date | null;
}

/** As many of the newest rows are looked at for the newest decisions. */
const mostLookedAt = 1_000;

/** @param number of the only decision that is asked for; `null`: the newest ones */
export async function readDecided(
  { db, teamIds }: PageReader,
  { number, most }: { readonly number: bigint | null; readonly most: number },
): Promise<readonly Decided[]> {
  const { rows } = await sql<Decided>`
    with recent as materialized (
      select d.*, case when d.decision <> 'resolve' then d.decision
          when d.mirror_text is not distinct from d.service_text then 'service' else 'mirror' end as what
      from report.decisions d
      where d.team_id = any (${teamIds}::bigint[]) and d.field is not null
        and (${number}::bigint is null or d.decision_id = ${number}::bigint)
      order by d.change_id desc limit ${mostLookedAt}
    ), numbered as (
      select r.*, r.decision_id as number from recent r where r.decision_id is not null
    ), chosen as (
      select n.number from numbered n group by n.number order by n.number desc limit ${most}
    ), followed as (
      select n.number, n.team_id, n.decided_at, n.what, n.decided_by, n.decided_why, p.run_id, p.closed_at,
        case
          when n.what = 'service' then 'kept'
          when n.what = 'reject' then case when h.reason = 'rejected' then 'kept' else 'moved' end
          when p.outcome = 'confirmed' then 'sent'
          when p.outcome = 'unknown' then 'asked'
          when p.outcome = 'refused' then 'refused'
          when h.reason is not null then 'waits'
          when g.is_edited then 'coming'
          else 'moved' end as fate
      from numbered n
      left join lateral (
        select c.outcome, c.run_id, c.closed_at from report.changes c
        where c.team_id = n.team_id and c.user_id = n.user_id and c.field = n.field and c.kind = 'push'
          and c.change_id > n.change_id and c.new_text is not distinct from n.mirror_text
        order by c.change_id desc limit 1
      ) p on n.what in ('approve', 'mirror')
      left join lateral (
        select h.reason from report.held h
        where h.team_id = n.team_id and h.user_id = n.user_id and h.field = n.field limit 1
      ) h on true
      left join lateral (
        select v.value is not distinct from n.mirror_text as is_edited
        from mirror.users u
        cross join lateral (values ('name', btrim(concat_ws(' ', u.first_name, u.last_name))), ('email', u.email),
          ('phone', u.phone), ('role_id', u.role_id::text)) v (field, value)
        where u.team_id = n.team_id and u.id = n.user_id and u.gone_at is null and v.field = n.field
      ) g on true
      where n.number in (select c.number from chosen c)
    )
    select number, team_id as "teamId", min(decided_at) as at, what as decision, decided_by as by, decided_why as why,
      sum(count)::int as rows, jsonb_object_agg(fate, count) as fates, max(run_id) filter (where fate = 'sent') as "runId",
      max(closed_at) filter (where fate = 'sent') as "sentAt"
    from (
      select number, team_id, what, decided_by, decided_why, fate, count(*)::int as count, min(decided_at) as decided_at,
        max(run_id) as run_id, max(closed_at) as closed_at
      from followed group by number, team_id, what, decided_by, decided_why, fate
    ) f
    group by number, team_id, what, decided_by, decided_why order by number desc`.execute(db);
  return rows;
}
