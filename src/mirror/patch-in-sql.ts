import { type RawBuilder, sql } from 'kysely';
import type { Id } from '../model/id.ts';
import { fields, type UserPatch } from '../model/user.ts';
import { sqlField } from './users-read.ts';

/** The values of a patch, under their SQL names. */
export function patchInSql(patch: UserPatch): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    fields.filter((field) => patch[field] !== undefined).map((field) => [sqlField(field), patch[field]]),
  );
}

/** By field: who edited the value in a user's patch. Unknown if the field's last edit set another value. */
export const editorsOf = (teamId: Id, wanted: RawBuilder<unknown>) => sql`
  select jsonb_object_agg(f.key, sync.named_editor(e.edited_by, e.actor)) as by
  from jsonb_each(${wanted}.sent) f
  cross join lateral (
    select actor, edited_by, coalesce(new_value, 'null') as value from sync.edits
    where team_id = ${teamId} and user_id = ${wanted}.id and field = f.key order by edit_id desc limit 1
  ) e
  where e.value = f.value`;
