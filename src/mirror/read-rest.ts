/** Whether anything in mirror or base is other than a run left it that found nothing to do. */
import { sql } from 'kysely';
import type { Id } from '../model/id.ts';
import type { Rest, RestingUsers } from '../model/rest.ts';
import type { Queryable, Transaction } from './database.ts';
import { type LearnedValue, writeLearned } from './learned.ts';

const topic = 'users at rest';
/** Then everybody is read again, whatever is known. */
const longestMs = 86_400_000;

/** Reads mirror and base once, and what is noted beside them. */
export async function readRest(db: Queryable, teamId: Id): Promise<Rest> {
  const { rows } = await sql<Rest>`
    select coalesce(bit_xor(hash_record_extended(row(u.id, b.id, u.gone_at is null, u.name, u.role, u.resolved,
        u.created_at, u.updated_at, u.user_created_at, u.user_updated_at, b.name, b.email, b.phone, b.role_id), 0)), 0)::text as print,
      (select name from sync.migrations order by name desc limit 1) as schema,
      coalesce(array_agg(coalesce(u.id, b.id)) filter (where u.gone_at is null and (u.id is null or b.id is null
        or not u.resolved or u.name is distinct from b.name or (u.first_name, u.last_name, u.email, u.phone, u.role_id)
           is distinct from (b.first_name, b.last_name, b.email, b.phone, b.role_id))), '{}')
      || array(
        select id from sync.absences where team_id = ${teamId} and resource = 'users'
        union select user_id from sync.changes where team_id = ${teamId} and state = 'open'
        union select user_id from sync.held_fields where team_id = ${teamId}
        union select id from sync.stale_rows where team_id = ${teamId}) as restless
    from (select * from mirror.users where team_id = ${teamId}) u
    full join (select * from sync.user_base where team_id = ${teamId}) b on b.id = u.id`.execute(db);
  const [row] = rows;
  if (row === undefined) throw new Error('an aggregate returned no row');
  return row;
}

/** What was learned, unless everybody is to be read again by now. */
export function toRestingUsers(learned: ReadonlyMap<string, LearnedValue>): RestingUsers | null {
  const known = learned.get(topic);
  return known === undefined || known.ageMs >= longestMs ? null : (known.value as RestingUsers);
}

export async function writeRestingUsers(tx: Transaction, teamId: Id, users: RestingUsers): Promise<void> {
  await writeLearned(tx, teamId, [{ topic, value: users }]);
}
