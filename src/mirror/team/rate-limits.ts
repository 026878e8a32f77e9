/**
 * The pace of a team for all processes on this database: the topic `pace` of `sync.learned`, by the database's clock.
 * The time of the topic is when the next call would be due if all calls were evenly spaced (a generic cell rate algorithm).
 */
import { sql } from 'kysely';
import type { Pace, Places } from '../../model/pace.ts';
import type { Database } from '../db/database.ts';

/** The longest pause in ms. A time further in the future was written before the clock was set back, and is ignored. */
const longestPauseMs = 15 * 60_000;

const later = (ms: number) => sql`clock_timestamp() + ${ms} * interval '1 ms'`;
const latest = ({ burst, periodMs }: Pace) => later(longestPauseMs + burst * periodMs);

export function createSharedPlaces(db: Database, team: string): Places {
  return {
    take: (pace, count = 1) =>
      db.transaction(async (tx) => {
        const { rows } = await sql<{ wait: number }>`
          insert into sync.learned as l (team, topic, value, learned_at)
          values (${team}, 'pace', 'true', ${later(count * pace.periodMs)})
          on conflict (team, topic) do update
            set learned_at = greatest(least(l.learned_at, ${latest(pace)}), clock_timestamp()) + ${count * pace.periodMs} * interval '1 ms'
          returning extract(epoch from learned_at - clock_timestamp())::float8 * 1000
            - ${pace.burst * pace.periodMs}::float8 as wait`.execute(tx);
        return rows[0]?.wait ?? 0;
      }),
    pause: async (pauseMs, pace) => {
      await db.transaction((tx) =>
        sql`
          update sync.learned
          set learned_at = least(greatest(learned_at, ${later(pauseMs + (pace.burst - 1) * pace.periodMs)}), ${latest(pace)})
          where team = ${team} and topic = 'pace'`.execute(tx),
      );
    },
  };
}
