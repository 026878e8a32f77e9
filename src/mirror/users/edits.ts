/** Makes the edits of a person's command. The triggers check and record them like edits in psql. */
import { sql, type RawBuilder } from 'kysely';
import type { Id } from '../../model/id.ts';
import { toJson } from '../../model/json.ts';
import type { MirrorUser, UserPatch } from '../../model/user.ts';
import { byColumn, definitionsOf, typeOf, valuesOf } from '../db/field-sql.ts';
import { byKey } from '../db/by-key.ts';
import type { Row, Transaction } from '../db/database.ts';
import { checkViolation, describeRefusal } from '../db/database-errors.ts';
import { valuesToHold } from './holds.ts';
import { columnOf, type Field, fields } from '../../model/fields.ts';

/** The values of a patch, under their SQL names. */
export function patchInSql(patch: UserPatch): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    fields.filter((field) => patch[field] !== undefined).map((field) => [columnOf(field), patch[field]]),
  );
}

/** The known authors of the edits in a user's patch, by field. */
export const editorsOf = (teamId: Id, wanted: RawBuilder<unknown>) => sql`
  select jsonb_object_agg(e.field, sync.named_editor(e.edited_by, e.actor)) as by
  from sync.edits e
  where e.team_id = ${teamId} and e.user_id = ${wanted}.id and e.ended_at is null
    and e.edit_id = (${wanted}.edits ->> e.field)::bigint and e.edited_by is not null`;

export interface UserEdit {
  readonly id: Id;
  /** The user's values in the mirror when they were read. If any value has changed since, the edit is not made. */
  readonly expected: MirrorUser;
  /** The new values. The split of a new name counts as known, unless `isGuess`. */
  readonly values: UserPatch;
  /** True if the split of the new name is a guess. */
  readonly isGuess?: boolean;
  /** The reason to hold the new phone until an approver agrees; absent if it need not be held. */
  readonly unsure?: string | undefined;
}

function stage({ id, expected, values }: UserEdit) {
  return {
    id,
    was_split: expected.split,
    ...byColumn(expected, 'was_'),
    edit: patchInSql(values),
  };
}

/** Sets the column of a field to the value in the edit s. */
const fromEdit = (field: Field) =>
  sql`${sql.ref(columnOf(field))} = (s.edit ->> ${sql.lit(columnOf(field))})::${sql.raw(typeOf(field))}`;
const nameFromEdit = sql`
  first_name = s.edit -> 'name' ->> 'first', last_name = s.edit -> 'name' ->> 'last', name_split = 'known'`;

/** The fields that an edit sets. Other fields are not set to their old value: that would accept a guessed split. */
const fieldsOf = ({ values }: UserEdit) => fields.filter((field) => values[field] !== undefined);

/** Writes edits in one statement. All of them must set the same fields. */
async function writeEdits(tx: Transaction, teamId: Id, edits: readonly UserEdit[]): Promise<readonly Id[]> {
  const edited = edits[0] === undefined ? [] : fieldsOf(edits[0]);
  if (edited.length === 0) return [];
  const staged = sql`
    jsonb_to_recordset(${toJson(edits.map(stage))}::jsonb) as s (id bigint, was_split text, ${definitionsOf('was_')},
      edit jsonb)`;
  const { rows } = await sql<Row<'mirror.users', 'id'>>`
    with mine as materialized (
      select u.id from mirror.users u join ${staged} on s.id = u.id
      where u.team_id = ${teamId} and u.gone_at is null
        and (u.name_split, ${valuesOf('u')}) is not distinct from (s.was_split, ${valuesOf('s', 'was_')})
      order by u.id
      for update of u skip locked
    )
    update mirror.users u set ${sql.join(edited.map((field) => (field === 'name' ? nameFromEdit : fromEdit(field))))}
    from ${staged}
    where u.team_id = ${teamId} and u.id = s.id and u.id in (select id from mine)
    returning u.id`.execute(tx);
  return rows.map(({ id }) => id);
}

/** Marks the splits of these names as guessed, because the statement that set both halves has marked them as known. */
async function markGuesses(tx: Transaction, teamId: Id, edits: readonly UserEdit[]): Promise<void> {
  if (edits.length === 0) return;
  await sql`
    update mirror.users set name_split = 'guessed'
    where team_id = ${teamId} and id = any (${edits.map(({ id }) => id)}::bigint[])`.execute(tx);
}

/**
 * Edits these users as an editor would, in musterd's own transaction.
 * @returns the edited users. A user is left out if gone, changed since it was read, or being edited.
 * @throws MusterdError `usage` if one of the values could never reach the service
 */
export async function editUsers(
  tx: Transaction,
  teamId: Id,
  edits: readonly UserEdit[],
): Promise<ReadonlySet<Id>> {
  if (edits.length === 0) return new Set();
  const unsure = Object.fromEntries(
    edits.flatMap(({ id, unsure: why }) => (why === undefined ? [] : [[id, why]])),
  );
  await sql`select set_config('musterd.writing', 'off', true), set_config('musterd.unsure', ${toJson(unsure)}, true)`.execute(
    tx,
  );
  try {
    const edited = new Set<Id>();
    for (const alike of Map.groupBy(edits, (edit) => fieldsOf(edit).join()).values())
      for (const id of await writeEdits(tx, teamId, alike)) edited.add(id);
    await sql`select set_config('musterd.writing', 'on', true)`.execute(tx);
    await markGuesses(
      tx,
      teamId,
      edits.filter(({ id, isGuess }) => isGuess === true && edited.has(id)),
    );
    return edited;
  } catch (error) {
    throw describeRefusal(error, checkViolation);
  }
}

/** Ends edits that this transaction replaced by the service's value, as overruled: the service never had their value. */
export async function endPulled(
  tx: Transaction,
  teamId: Id,
  pulled: readonly { readonly user_id: Id; readonly field: string }[],
): Promise<void> {
  if (pulled.length === 0) return;
  await sql`
    update sync.edits e set ended_at = coalesce(e.ended_at, clock_timestamp()), ended_how = 'overruled'
    from jsonb_to_recordset(${toJson(pulled)}::jsonb) as s (user_id bigint, field text)
    where e.team_id = ${teamId} and e.user_id = s.user_id and e.field = s.field
      and (e.ended_at is null or e.ended_how = 'agreed' and e.ended_at >= transaction_timestamp())`.execute(
    tx,
  );
}

/** Ends edits that an editor withdrew while the triggers were off: mirror and base have the same value again. */
export const endWithdrawn = (teamId: Id) => sql`
  update sync.edits e set ended_at = clock_timestamp(), ended_how = 'withdrawn'
  where e.ended_at is null and e.ctid = any (array(
    select l.ctid from sync.edits l
    cross join lateral ${byKey('mirror.users', teamId, sql`l.user_id`)} u
    cross join lateral ${byKey('sync.user_base', teamId, sql`l.user_id`)} b
    cross join lateral ${valuesToHold} as v (field, base_value, mirror_value)
    where l.team_id = ${teamId} and l.ended_at is null and v.field = l.field
      and v.mirror_value is not distinct from v.base_value
      and not sync.is_under_way(l.team_id, l.user_id, l.field)))`;
