/**
 * The places of a team for every process on this database: one row a team, taken from in one statement, by the
 * database's clock. Two rules at once. The pace is a generic cell rate: `next_at` is when the next place is due, had
 * all been evenly spaced. The limit is a log: places count from when they are taken until a minute after the answer,
 * and one is due only when there is room for it.
 */
import { sql } from 'kysely';
import type { Places } from '../model/pace.ts';
import { toJson } from '../model/json.ts';
import type { Database } from './database.ts';
import { type Learned, type LearnedValue, readLearned } from './learned.ts';

/** No pause is longer, and nothing counts for longer; what lies further ahead is left from a clock that was set back. */
const longestPauseMs = 15 * 60_000;
const longestCountedMs = 5 * 60_000;

const ms = (time: ReturnType<typeof sql>) => sql<number>`extract(epoch from ${time})::float8 * 1000`;
const nowMs = ms(sql`clock_timestamp()`);

export function createSharedPlaces(db: Database, team: string): Places {
  const add = sql`
    insert into sync.rate_limits (team, next_at) values (${team}, clock_timestamp()) on conflict do nothing`;
  return {
    take: async ({ places: wanted, capacity, burst, periodMs, counted }) => {
      const reported = toJson(counted);
      const latest = longestPauseMs + burst * periodMs;
      const take = sql<{ due_ms: number }>`
        update sync.rate_limits r
        set (next_at, counted) = (
          select to_timestamp((d.due + ${wanted * periodMs}::float8) / 1000), d.counted
          from (select ${nowMs}) n (now)
          cross join lateral (
            select greatest(n.now, least(${ms(sql`r.next_at`)}, n.now + ${latest}::float8),
                max(c.until + (${burst}::float8 - 1 - greatest(0, ${capacity + wanted}::float8 - c.later)) * ${periodMs}::float8)
                  filter (where c.later > ${capacity}::float8 and ${wanted > 0}::bool)) as due,
              coalesce(jsonb_object_agg(c.key, jsonb_build_array(c.places, c.until)), '{}') as counted
            from (
              select a.key, a.places, a.until, sum(a.places) over (order by a.until desc)::float8 as later
              from (
                select o.key, (o.value ->> 0)::int as places, (o.value ->> 1)::float8 as until
                from jsonb_each(r.counted) o where not ${reported}::jsonb ? o.key
                union all
                select w.key, (w.value ->> 0)::int, n.now + (w.value ->> 1)::float8
                from jsonb_each(${reported}::jsonb) w) a
              where a.places > 0 and a.until > n.now and a.until < n.now + ${longestCountedMs}) c) d)
        where team = ${team}
        returning (${ms(sql`next_at`)} - ${nowMs} - ${wanted * periodMs}::float8) as due_ms`;
      const { rows } = await db.transaction(async (tx) => {
        const taken = await take.execute(tx);
        if (taken.rows.length > 0) return taken;
        await add.execute(tx);
        return await take.execute(tx);
      });
      return rows[0]?.due_ms ?? 0;
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
