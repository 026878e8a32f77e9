/** Reads the fields that one run changed, with their present values, for `musterd undo`. */
import { sql } from 'kysely';
import { type Field, fieldOf, type UserValues, valuesIn } from '../../model/fields.ts';
import type { HoldReason } from '../../model/user-plan.ts';
import type { Id } from '../../model/id.ts';
import type { BaseUser, MirrorUser } from '../../model/user.ts';
import type { Queryable, Row } from '../db/database.ts';
import { heldBecause, isLetPass } from './holds.ts';
import { valueFromJson, valuesAs, valuesOf } from '../db/field-sql.ts';

/** A field of a user that the run changed. */
export interface MovedField {
  readonly userId: Id;
  readonly name: string;
  readonly field: Field;
  readonly kind: 'return' | 'pull' | 'push' | 'settle';
  /** The values before and after the run. */
  readonly old: UserValues[Field];
  readonly new: UserValues[Field];
  /** The user's present values; `undefined` if the user is gone, or has no base any more. */
  readonly now: { readonly mirror: MirrorUser; readonly base: BaseUser } | undefined;
  readonly heldBecause: HoldReason | null;
  readonly hasOpenIntent: boolean;
  /** True if the old value was a person's edit in the mirror, pushed before the run, or replaced by the run. */
  readonly oldWasWritten: boolean;
  /** The last change of the field by a later run, if any. */
  readonly movedLater: 'return' | 'pull' | 'push' | 'settle' | null;
}

interface MovedRow extends Row<'mirror.users', 'name' | 'name_split'> {
  readonly base_name: string;
  readonly user_id: bigint;
  readonly field: string;
  readonly kind: MovedField['kind'];
  readonly old: unknown;
  readonly new: unknown;
  readonly present: boolean;
  readonly held_because: HoldReason | null;
  readonly has_open_intent: boolean;
  readonly old_was_written: boolean;
  readonly moved_later: MovedField['movedLater'];
}

function toMoved(row: MovedRow): MovedField {
  const field = fieldOf(row.field);
  const mirror: MirrorUser = { ...valuesIn(row), split: row.name_split };
  const base: BaseUser = { ...valuesIn(row, 'base_'), joined: row.base_name };
  return {
    userId: row.user_id,
    name: row.name,
    field,
    kind: row.kind,
    // The ledger may contain an empty text as the service's form of no value.
    old: row.old === '' ? null : valueFromJson(field, row.old),
    new: valueFromJson(field, row.new),
    now: row.present ? { mirror, base } : undefined,
    heldBecause: row.held_because,
    hasOpenIntent: row.has_open_intent,
    oldWasWritten: row.old_was_written,
    movedLater: row.moved_later,
  };
}

/** True if the team has a run with this number. */
export async function hasRun(db: Queryable, team: string, runId: bigint): Promise<boolean> {
  const run = await db
    .selectFrom('sync.runs')
    .select('run_id')
    .where((eb) => eb.and({ team, run_id: runId }))
    .executeTakeFirst();
  return run !== undefined;
}

/**
 * Reads every field that the run changed: it was pulled, taken over for a user who came back, settled, or pushed and
 * confirmed. The first adoption of a user is left out, because the mirror had no values of the user before.
 */
export async function readMovedFields(
  db: Queryable,
  teamId: Id,
  runId: bigint,
): Promise<readonly MovedField[]> {
  const { rows } = await sql<MovedRow>`
    with moved as (
      select c.user_id, f.field, min(c.change_id) as first_id, max(c.change_id) as last_id,
        (array_agg(c.kind order by c.change_id desc))[1] as kind,
        (array_agg(c.old -> f.field order by c.change_id))[1] as old,
        (array_agg(c.kind <> 'push' and c.base -> f.field <> c.old -> f.field order by c.change_id))[1] as was_edit,
        (array_agg(c.new -> f.field order by c.change_id desc))[1] as new
      from sync.changes c
      cross join lateral jsonb_object_keys(c.old) as f (field)
      where c.team_id = ${teamId} and c.user_id is not null and c.run_id = ${runId} and f.field <> 'role'
        and (c.kind in ('return', 'pull', 'settle') or c.kind = 'push' and c.outcome ->> f.field = 'confirmed')
      group by c.user_id, f.field
    )
    select m.user_id, m.field, m.kind, m.old, m.new,
      u.id is not null and u.gone_at is null and b.id is not null as present,
      coalesce(u.name, b.name, '') as name, u.name_split, ${valuesOf('u')},
      b.name as base_name, ${valuesAs('b', 'base_')}, ${heldBecause} as held_because,
      o.change_id is not null as has_open_intent, coalesce(m.was_edit, false) or coalesce(earlier.kind = 'push', false) as old_was_written,
      later.kind as moved_later
    from moved m
    left join mirror.users u on u.team_id = ${teamId} and u.id = m.user_id
    left join sync.user_base b on b.team_id = ${teamId} and b.id = m.user_id
    left join sync.held_fields h on h.team_id = ${teamId} and h.user_id = m.user_id and h.field = m.field
      and not ${isLetPass}
    left join sync.changes o on o.team_id = ${teamId} and o.user_id = m.user_id and o.state = 'open'
    left join lateral (
      select c.kind from sync.changes c
      where c.team_id = ${teamId} and c.user_id = m.user_id and c.change_id < m.first_id and c.new ? m.field
        and (c.kind in ('adopt', 'return', 'pull', 'settle') or c.kind = 'push' and c.outcome ->> m.field = 'confirmed')
      order by c.change_id desc limit 1
    ) earlier on true
    left join lateral (
      select c.kind from sync.changes c
      where c.team_id = ${teamId} and c.user_id = m.user_id and c.change_id > m.last_id and c.old ? m.field
        and (c.kind in ('return', 'pull', 'settle') or c.kind = 'push' and c.outcome ->> m.field = 'confirmed')
      order by c.change_id desc limit 1
    ) later on true
    where m.old is distinct from m.new
    order by m.user_id, m.field`.execute(db);
  return rows.map(toMoved);
}
