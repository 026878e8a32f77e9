/** The figures of the mirror for each scrape of the metrics: one statement per figure, for all teams. */
import { sql } from 'kysely';
import type { HeldReason } from '../../model/edit-state.ts';
import type { Queryable } from '../db/database.ts';
import { heldNow, heldReason, heldState, isLetPass, waitsInBatch } from '../users/holds.ts';
import { paceOf, type PaceSettings } from '../../model/pace.ts';

export interface HeldByReason {
  readonly team: string;
  readonly state: 'held' | 'rejected';
  readonly reason: HeldReason;
  readonly inBatch: boolean;
  readonly count: number;
  /** When the oldest hold began, in ms since 1970. */
  readonly sinceMs: number;
}

/** Counts the held fields by state and reason, separately in and outside of batches, without users that are gone. */
export async function readHeldByReason(
  db: Queryable,
  teams: readonly string[],
): Promise<readonly HeldByReason[]> {
  const { rows } = await sql<HeldByReason>`
    select t.team, ${heldState} as state, ${heldReason} as reason, ${waitsInBatch} as "inBatch", count(*)::int as count, min(round(extract(epoch from h.since) * 1000)::float8) as "sinceMs"
    from sync.teams t
    join ${heldNow} h on h.team_id = t.team_id
    where t.team = any (${teams}::text[]) and not ${isLetPass}
    group by 1, 2, 3, 4 order by 1, 2, 3, 4`.execute(db);
  return rows;
}

export interface TokensLeft {
  readonly team: string;
  /** Requests that may leave at once; 0 during a pause. */
  readonly tokens: number;
}

/** Reads how many requests each team may send now, for all processes together. */
export async function readTokensLeft(
  db: Queryable,
  paces: ReadonlyMap<string, PaceSettings>,
): Promise<readonly TokensLeft[]> {
  const buckets = [...paces].map(([team, pace]) => ({ team, ...paceOf(pace) }));
  const { rows } = await sql<TokensLeft>`
    select p.team, greatest(0, least(p.burst, p.burst
        - coalesce(extract(epoch from l.learned_at - clock_timestamp())::float8 * 1000 / p."periodMs", 0))) as tokens
    from jsonb_to_recordset(${JSON.stringify(buckets)}::jsonb)
      p (team text, burst float8, "periodMs" float8)
    left join sync.learned l on l.team = p.team and l.topic = 'pace'
    order by p.team`.execute(db);
  return rows;
}
