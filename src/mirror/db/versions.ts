/**
 * Whether the versions of users, `updated_at` and `user_updated_at`, prove that a value was changed. Some
 * deployments count a login as a change, or show another version in every answer.
 */
import { type RawBuilder, sql } from 'kysely';
import { type Field, fields, type UserValues } from '../../model/fields.ts';
import type { IntentResult, PushOutcome } from '../../model/intent.ts';
import type { Id } from '../../model/id.ts';
import { canonicalValue, readingOf, isReadAs } from '../../model/user.ts';
import type { Transaction } from './database.ts';

const topic = 'a version moves though no value does';

/** A weighted number of users, from the row l of `sync.learned`: each counts half as much with every day since. */
const seenLately = sql`(l.value ->> 'users')::float8
  * power(0.5, greatest(0, extract(epoch from clock_timestamp() - l.learned_at)) / 86400)`;

const many = sql`greatest(3, (l.value ->> 'shown')::float8 * 0.05)`;

export const isTelling = (teamId: Id): RawBuilder<boolean> => sql`not exists (
  select from sync.learned l join sync.teams t on t.team = l.team
  where t.team_id = ${teamId} and l.topic = ${topic} and ${seenLately} >= ${many})`;

/** Whether the row staged as s is newer than the row u of `mirror.users` in one of its versions. */
export const isNewer = sql`(coalesce(s.updated_at > u.updated_at, false)
  or coalesce(s.user_updated_at > u.user_updated_at, false))`;

/**
 * Whether the version must not be stored: the service does not show a field that was sent, and it is unknown whether it
 * ever did, so somebody may have taken it back. The outcome of another field in the same request says nothing about
 * that, but a hold of the field does.
 */
export function isInDoubt({ intent: { sent }, outcomes, seen, holds }: IntentResult): boolean {
  const doubts: readonly (PushOutcome | undefined)[] = ['unanswered', 'unknown', 'missing'];
  const shows = (field: Field) =>
    seen !== null && isReadAs(readingOf(field, seen), canonicalValue(field, sent as UserValues));
  const isHeld = (field: Field) => holds.some((hold) => hold.field === field);
  return fields.some(
    (field) =>
      doubts.includes(outcomes[field]) && sent[field] !== undefined && !shows(field) && !isHeld(field),
  );
}

/** Adds the counts of one pass, capped so that a few quiet days outweigh them. */
export async function noteMovedAlone(
  tx: Transaction,
  teamId: Id,
  users: number,
  shown: number,
): Promise<void> {
  await sql`
    insert into sync.learned as l (team, topic, value)
    select team, ${topic}, jsonb_build_object('users', ${users}::float8, 'shown', ${shown}::float8)
    from sync.teams where team_id = ${teamId}
    on conflict (team, topic) do update set learned_at = clock_timestamp(),
      value = excluded.value || jsonb_build_object('users', least(10 * ${many}, ${seenLately} + ${users}::float8))`.execute(
    tx,
  );
}
