/** Facts about a team that are kept between runs, such as the service's behavior: `sync.learned`, one row per topic. */
import { type RawBuilder, sql } from 'kysely';
import type { Id } from '../../model/id.ts';
import { toJson } from '../../model/json.ts';
import type { Queryable, Row, Transaction } from '../db/database.ts';

export interface Learned {
  readonly topic: string;
  readonly value: unknown;
  /** The time of the fact in ms since 1970; if absent, now. An earlier time never replaces a later time. */
  readonly atMs?: number;
}

/** A team's name in the configuration, or its id on the service. */
type Team = string | Id;

const named = (team: Team): RawBuilder<string> =>
  typeof team === 'string'
    ? sql`${team}::text`
    : sql`(select t.team from sync.teams t where t.team_id = ${team})`;

/** Stores these facts, if the team is on record. */
export async function writeLearned(tx: Transaction, team: Team, learned: readonly Learned[]): Promise<void> {
  await sql`
    insert into sync.learned as l (team, topic, value, learned_at)
    select k.team, s.topic, s.value, coalesce(to_timestamp(s."atMs" / 1000.0), clock_timestamp())
    from (select ${named(team)}) k (team)
    cross join jsonb_to_recordset(${toJson(learned)}::jsonb) s (topic text, value jsonb, "atMs" float8)
    where k.team is not null
    on conflict (team, topic) do update
      set value = excluded.value, learned_at = least(greatest(l.learned_at, excluded.learned_at), clock_timestamp())`.execute(
    tx,
  );
}

export async function forgetLearned(tx: Transaction, team: Team, topic: string): Promise<void> {
  await sql`delete from sync.learned where team = ${named(team)} and topic = ${topic}`.execute(tx);
}

/** The known value of a topic, and its age by the database's clock. */
export interface LearnedValue {
  readonly value: unknown;
  readonly ageMs: number;
}

export async function readLearned(
  db: Queryable,
  team: Team,
  topic: string,
): Promise<LearnedValue | undefined> {
  const { rows } = await sql<Row<'sync.learned', 'value'> & { ageMs: number }>`
    select value, (extract(epoch from clock_timestamp() - learned_at) * 1000)::float8 as "ageMs"
    from sync.learned where team = ${named(team)} and topic = ${topic}`.execute(db);
  return rows[0];
}
