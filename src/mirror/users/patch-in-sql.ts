import { type RawBuilder, sql } from 'kysely';
import { columnOf, fields } from '../../model/fields.ts';
import type { Id } from '../../model/id.ts';
import type { UserPatch } from '../../model/user.ts';

/** The values of a patch, under their SQL names. */
export function patchInSql(patch: UserPatch): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    fields.filter((field) => patch[field] !== undefined).map((field) => [columnOf(field), patch[field]]),
  );
}

/** By field of a user's patch: who made the edit, as far as somebody is known to have. */
export const editorsOf = (teamId: Id, wanted: RawBuilder<unknown>) => sql`
  select jsonb_object_agg(e.field, sync.named_editor(e.edited_by, e.actor)) as by
  from sync.edits e
  where e.team_id = ${teamId} and e.user_id = ${wanted}.id and e.ended_at is null
    and e.edit_id = (${wanted}.edits ->> e.field)::bigint and e.edited_by is not null`;
