/**
 * The pace of a team for all processes on this database: one row per team, by the database's clock. `next_at` is when
 * the next call would be due if all were evenly spaced (a generic cell rate algorithm).
 */
import { sql } from 'kysely';
import type { Pace, Places } from '../../model/pace.ts';
import type { Database } from '../db/database.ts';

/** Longest pause; a later time was written before the clock was set back. */
const longestPauseMs = 15 * 60_000;

const later = (ms: number) => sql`clock_timestamp() + ${ms} * interval '1 ms'`;
const latest = ({ burst, periodMs }: Pace) => later(longestPauseMs + burst * periodMs);

export function createSharedPlaces(db: Database, team: string): Places {
  return {
    take: (pace, count = 1) =>
      db.transaction(async (tx) => {
        const { rows } = await sql<{ wait: number }>`
          insert into sync.rate_limits as r (team, next_at) values (${team}, ${later(count * pace.periodMs)})
          on conflict (team) do update
            set next_at = greatest(least(r.next_at, ${latest(pace)}), clock_timestamp()) + ${count * pace.periodMs} * interval '1 ms'
          returning extract(epoch from next_at - clock_timestamp())::float8 * 1000
            - ${pace.burst * pace.periodMs}::float8 as wait`.execute(tx);
        return rows[0]?.wait ?? 0;
      }),
    pause: async (pauseMs, pace) => {
      await db.transaction((tx) =>
        sql`
          update sync.rate_limits
          set next_at = least(greatest(next_at, ${later(pauseMs + (pace.burst - 1) * pace.periodMs)}), ${latest(pace)})
          where team = ${team}`.execute(tx),
      );
    },
  };
}
