/** What of the mirror is measured at each scrape, of many teams in one statement each. */
import { sql } from 'kysely';
import type { HoldReason } from '../model/user-plan.ts';
import type { Queryable } from './database.ts';
import { bucketOf, type SharedPaceSettings } from './rate-limits.ts';

export interface HeldByReason {
  readonly team: string;
  readonly reason: HoldReason;
  readonly count: number;
}

/** Held fields of users who have not left; `asked` ones wait for nobody. Reasons without any are not named. */
export async function readHeldByReason(
  db: Queryable,
  teams: readonly string[],
): Promise<readonly HeldByReason[]> {
  const { rows } = await sql<HeldByReason>`
    select t.team, h.reason, count(*)::int as count
    from sync.teams t
    join sync.held_fields h on h.team_id = t.team_id
    left join mirror.users u on u.team_id = h.team_id and u.id = h.user_id
    where t.team = any (${teams}::text[]) and u.gone_at is null
    group by t.team, h.reason order by t.team, h.reason`.execute(db);
  return rows;
}

export interface RefusedPlanSize {
  readonly team: string;
  /** Whose pushes wait; 1 where the guard refused something that no approval lets pass. */
  readonly users: number;
}

/** The plans that wait for a person; teams without one are not named. */
export async function readRefusedPlanSizes(
  db: Queryable,
  teams: readonly string[],
): Promise<readonly RefusedPlanSize[]> {
  const { rows } = await sql<RefusedPlanSize>`
    select t.team, greatest(1, jsonb_array_length(p.changes)) as users
    from sync.teams t
    join sync.plans p on p.team_id = t.team_id and p.state = 'refused'
    where t.team = any (${teams}::text[]) order by t.team`.execute(db);
  return rows;
}

export interface TokensLeft {
  readonly team: string;
  /** Requests that may leave at once; 0 while a pause lasts. */
  readonly tokens: number;
}

/** What is left of each team's pace, for all processes together. */
export async function readTokensLeft(
  db: Queryable,
  paces: ReadonlyMap<string, SharedPaceSettings>,
): Promise<readonly TokensLeft[]> {
  const buckets = [...paces].map(([team, pace]) => ({ team, ...bucketOf(pace) }));
  const { rows } = await sql<TokensLeft>`
    select p.team, greatest(0, least(p.burst, p.burst
        - coalesce(extract(epoch from r.next_at - clock_timestamp())::float8 * 1000 / p."periodMs", 0))) as tokens
    from jsonb_to_recordset(${JSON.stringify(buckets)}::jsonb) p (team text, burst float8, "periodMs" float8)
    left join sync.rate_limits r on r.team = p.team
    order by p.team`.execute(db);
  return rows;
}
