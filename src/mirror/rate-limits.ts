/**
 * The pace of a team, shared by every process on this database: one row a team, the generic cell rate
 * algorithm in one statement, by the database's clock. `next_at` is when the bucket will be full again;
 * each request moves it by one period, and waits until it is no further away than the burst.
 */
import { sql } from 'kysely';
import type { Database } from './database.ts';
import { type Learned, type LearnedValue, readLearned } from './learned.ts';

export interface SharedPaceSettings {
  /** Requests a minute that all processes together may send. */
  readonly perMinute: number;
  /** Requests that may leave at once after a quiet time. */
  readonly burst: number;
}

export interface SharedPace {
  /** Takes `calls` from the limit and says how long to wait before sending them, in ms. */
  reserve(calls: number): Promise<number>;
  /** After a 429: nobody sends for that long. */
  announcePause(pauseMs: number): Promise<void>;
}

/** No pause that is announced is longer; whatever lies further ahead is left from a clock that was set back. */
const longestPauseMs = 15 * 60_000;

/** Any 60 s hold at most `perMinute`: the burst, and what refills meanwhile. */
export function bucketOf(settings: SharedPaceSettings): {
  readonly burst: number;
  /** In which one request refills. */
  readonly periodMs: number;
} {
  const burst = Math.max(1, Math.min(settings.burst, Math.floor(settings.perMinute / 4)));
  return { burst, periodMs: 60_000 / (settings.perMinute - burst) };
}

export function createSharedPace(db: Database, team: string, settings: SharedPaceSettings): SharedPace {
  const { burst, periodMs } = bucketOf(settings);
  const latest = sql`clock_timestamp() + ${longestPauseMs + burst * periodMs} * interval '1 ms'`;
  return {
    reserve: async (calls) => {
      const take = sql<{ wait_ms: number }>`
        insert into sync.rate_limits as r (team, next_at)
        values (${team}, clock_timestamp() + ${calls * periodMs} * interval '1 ms')
        on conflict (team) do update
          set next_at = least(greatest(r.next_at, clock_timestamp()) + ${calls * periodMs} * interval '1 ms', ${latest})
        returning greatest(0, extract(epoch from r.next_at - clock_timestamp()) * 1000 - ${burst * periodMs})::float8 as wait_ms`;
      const { rows } = await db.transaction((tx) => take.execute(tx));
      return rows[0]?.wait_ms ?? 0;
    },
    announcePause: async (pauseMs) => {
      const until = sql`clock_timestamp() + ${pauseMs + burst * periodMs} * interval '1 ms'`;
      const announce = sql`
        update sync.rate_limits set next_at = least(greatest(next_at, ${until}), ${latest})
        where team = ${team}`;
      await db.transaction((tx) => announce.execute(tx));
    },
  };
}

export interface RateLesson {
  readonly burst: number;
  readonly perMinute: number;
}

export const lessonTopic = 'rate';
const dayMs = 86_400_000;

/** What an earlier process learned of the pace that the service stands; `undefined` if nothing, or a day ago. */
export function lessonOf(learned: LearnedValue | undefined): RateLesson | undefined {
  return learned !== undefined && learned.ageMs < dayMs ? (learned.value as RateLesson) : undefined;
}

export async function readLesson({ kysely }: Database, team: string): Promise<RateLesson | undefined> {
  return lessonOf(await readLearned(kysely, team, lessonTopic));
}

/** To be written only when it differs from what is there. */
export function learnedOfRate({ burst, perMinute }: RateLesson): Learned {
  return { topic: lessonTopic, value: { burst, perMinute } };
}
