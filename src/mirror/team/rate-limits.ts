/**
 * The places of a team for all processes on this database: one row per team, reserved in one statement, by the
 * database's clock. Two rules apply. The pace is a generic cell rate algorithm: `next_at` is when the next place would
 * be due if all were evenly spaced. The limit is a sliding log: places count from their reservation until a minute after
 * the answer, and a place is due only if there is room for it.
 */
import { sql } from 'kysely';
import type { Places } from '../../model/pace.ts';
import { toJson } from '../../model/json.ts';
import type { Database } from '../db/database.ts';
import { type Learned, type LearnedValue, readLearned } from './learned.ts';

/** Longest pause, and longest time that a place counts; a later time was written before the clock was set back. */
const longestPauseMs = 15 * 60_000;
const longestCountedMs = 5 * 60_000;

export function createSharedPlaces(db: Database, team: string): Places {
  return {
    take: async ({ places: wanted, capacity, burst, periodMs, counted }) => {
      const latestMs = longestPauseMs + burst * periodMs;
      return await db.transaction(async (tx) => {
        const { rows } = await sql<{ due_ms: number }>`
          select sync.take_places(${team}, ${wanted}, ${capacity}, ${burst}, ${periodMs}, ${latestMs},
            ${longestCountedMs}, ${toJson(counted)}::jsonb) as due_ms`.execute(tx);
        return rows[0]?.due_ms ?? 0;
      });
    },
    pause: async (pauseMs, { burst, periodMs }) => {
      const until = sql`clock_timestamp() + ${pauseMs + (burst - 1) * periodMs} * interval '1 ms'`;
      const latest = sql`clock_timestamp() + ${longestPauseMs + burst * periodMs} * interval '1 ms'`;
      await db.transaction(async (tx) => {
        await sql`
          update sync.rate_limits set next_at = least(greatest(next_at, ${until}), ${latest})
          where team = ${team}`.execute(tx);
      });
    },
  };
}

export interface RateLesson {
  readonly burst: number;
  readonly perMinute: number;
}

export const lessonTopic = 'rate';
const dayMs = 86_400_000;

/** The pace that an earlier process learned, unless it is more than a day old. */
export function lessonOf(learned: LearnedValue | undefined): RateLesson | undefined {
  return learned !== undefined && learned.ageMs < dayMs ? (learned.value as RateLesson) : undefined;
}

export async function readLesson({ kysely }: Database, team: string): Promise<RateLesson | undefined> {
  return lessonOf(await readLearned(kysely, team, lessonTopic));
}

/** The pace as it is stored, which is only done if it differs. */
export function learnedOfRate({ burst, perMinute }: RateLesson): Learned {
  return { topic: lessonTopic, value: { burst, perMinute } };
}
