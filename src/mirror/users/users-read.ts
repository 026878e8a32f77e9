import { type RawBuilder, sql } from 'kysely';
import { fieldOf, valuesIn } from '../../model/fields.ts';
import type { Hold, HoldReason } from '../../model/user-plan.ts';
import type { LastingEdits, UserState } from '../../model/user-state.ts';
import type { Id } from '../../model/id.ts';
import {
  type BaseUser,
  type MirrorRow,
  type ServiceUser,
  type ServiceValue,
  sameValue,
} from '../../model/user.ts';
import { valueFromJson, valuesAs, valuesOf } from '../db/field-sql.ts';
import { absenceByKey, byKey } from '../db/by-key.ts';
import type { Queryable, Row } from '../db/database.ts';
import { isUnrecorded } from './periods.ts';

/** A row of `sync.held_fields`. */
export interface HoldRow {
  readonly field: string;
  /** The held edit. It is a `number` if the row was read as JSON. */
  readonly edit_id: Id | number | null;
  readonly reason: HoldReason;
  readonly base_value: unknown;
  readonly mirror_value: unknown;
  readonly service_value: unknown;
  readonly shown_value: unknown;
  readonly detail: string;
  readonly batch: string | null;
  readonly alone?: boolean;
  /** Ms until a requested hold ends. Absent in the rows of `readGuardHistory`. */
  readonly ends_in_ms?: number | null;
  readonly decision?: 'approved' | 'spent' | 'rejected' | null;
}

/** A row of `sync.edits` that has not ended. */
interface EditRow {
  readonly id: number;
  readonly transaction: string | null;
  readonly value: unknown;
  /** The `name_split` before an edit of the name. */
  readonly split: MirrorRow['split'] | null;
}

/** A user's rows in mirror and base. `valuesIn` reads the fields; the fields of the base have the prefix `base_`. */
export interface MirrorAndBaseRow
  extends Row<'mirror.users', 'id' | 'name' | 'name_split' | 'role' | 'resolved'> {
  readonly base_name: string;
  readonly has_base: boolean;
}

/** Columns that `readUsersOf` and the query in `users-compare.ts` select. */
export interface UserRow extends MirrorAndBaseRow {
  readonly has_mirror: boolean;
  readonly gone: boolean;
  readonly has_open_intent: boolean;
  readonly missing_for_ms: number | null;
  readonly held: readonly HoldRow[] | null;
  readonly edits: Readonly<Record<string, EditRow>> | null;
  readonly observed_differs: boolean;
  readonly stale: boolean;
  readonly is_unrecorded: boolean;
}

/** The decision as the guard needs it: `resolved` if a limit on single fields held the field, otherwise `approved`. */
function decisionOf({ alone = false, decision }: HoldRow): Pick<Hold, 'decision'> {
  return decision === 'approved' ? { decision: alone ? 'resolved' : 'approved' } : {};
}

/** The reason of a hold, by the same rule as in `sync.held_because()`. */
function reasonOf({ reason, decision, ends_in_ms: endsInMs }: HoldRow): HoldReason {
  if ((endsInMs ?? 0) > 0) return 'asked';
  return decision === 'rejected' ? decision : reason;
}

export function toHold(row: HoldRow): Hold {
  const field = fieldOf(row.field);
  const endsInMs = row.ends_in_ms ?? undefined;
  const { batch, decision, edit_id: edit } = row;
  const toServiceValue = (value: unknown) =>
    (field === 'name' ? value : valueFromJson(field, value)) as ServiceValue;
  return {
    field,
    reason: reasonOf(row),
    base: valueFromJson(field, row.base_value),
    mirror: valueFromJson(field, row.mirror_value),
    service: toServiceValue(row.service_value),
    shown: toServiceValue(row.shown_value),
    detail: row.detail,
    endsInMs,
    ...(batch === null || decision === 'rejected' ? {} : { batch }),
    isAlone: row.alone === true || undefined,
    ...decisionOf(row),
    ...(edit === null ? {} : { edit: BigInt(edit) }),
  };
}

export const toMirror = (row: MirrorAndBaseRow, gone: boolean): MirrorRow => ({
  ...valuesIn(row),
  split: row.name_split,
  joined: row.name,
  role: row.role,
  resolved: row.resolved,
  gone,
});

/** The user's base; `undefined` if there is none. */
export const toBase = (row: MirrorAndBaseRow): BaseUser | undefined =>
  row.has_base ? { ...valuesIn(row, 'base_'), joined: row.base_name } : undefined;

/** The edits by field. Leaves out edits that were replaced while the triggers were off: the mirror has another value. */
function toEdits({ edits }: UserRow, mirror: MirrorRow | undefined): LastingEdits {
  return Object.fromEntries(
    Object.entries(edits ?? {}).flatMap(([column, { id, transaction, value, split }]) => {
      const field = fieldOf(column);
      if (mirror === undefined || !sameValue(field, valueFromJson(field, value), mirror[field])) return [];
      return [[field, { id: BigInt(id), transaction, ...(split === null ? {} : { split }) }] as const];
    }),
  );
}

export function toState(row: UserRow, service: ServiceUser | undefined): UserState {
  const mirror = row.has_mirror ? toMirror(row, row.gone) : undefined;
  return {
    id: row.id,
    service,
    mirror,
    base: toBase(row),
    held: (row.held ?? []).map(toHold),
    edits: toEdits(row, mirror),
    hasOpenIntent: row.has_open_intent,
    missingForMs: row.missing_for_ms ?? undefined,
    observedDiffers: row.observed_differs,
    stale: row.stale,
    ...(row.is_unrecorded ? { isUnrecorded: true } : {}),
  };
}

/** The columns of `UserRow` from mirror u, base b, absence a, open intent c and held fields h. */
export const userColumns = sql`
  u.id is not null as has_mirror, b.id is not null as has_base,
  u.name, u.name_split, ${valuesOf('u')}, u.role, u.resolved,
  coalesce(u.gone_at is not null, false) as gone,
  b.name as base_name, ${valuesAs('b', 'base_')},
  c.change_id is not null as has_open_intent,
  case when a.passes > 0 then (extract(epoch from clock_timestamp() - a.missing_since) * 1000)::float8 end as missing_for_ms,
  h.held, e.edits, ${isUnrecorded} as is_unrecorded`;

/** The held fields f of one user. */
export const heldOf = sql`
  jsonb_agg(to_jsonb(f) || jsonb_build_object('ends_in_ms', extract(epoch from f.until - clock_timestamp()) * 1000))`;

/** Joins the edits of user i that have not ended. */
export const editsJoin = (teamId: Id) => sql`
  left join lateral (
    select jsonb_object_agg(l.field, jsonb_build_object('id', l.edit_id, 'transaction', case when l.edited_by is not null then nullif(l.xid::text, '0') end, 'value', l.new_value,
      'split', l.old_split)) as edits
    from sync.edits l where l.team_id = ${teamId} and l.user_id = i.id and l.ended_at is null
  ) e on true`;

/** Joins mirror u and base b of user i, and what `userColumns` needs besides. */
export const userJoins = (teamId: Id) => sql`
  left join lateral ${byKey('mirror.users', teamId, sql`i.id`)} u on true
  left join lateral ${byKey('sync.user_base', teamId, sql`i.id`)} b on true
  left join lateral ${absenceByKey('users', teamId, sql`i.id`)} a on true
  left join lateral (
    select * from sync.changes where team_id = ${teamId} and user_id = i.id and state = 'open' offset 0
  ) c on true
  left join lateral (
    select ${heldOf} as held from sync.held_fields f where f.team_id = ${teamId} and f.user_id = i.id
  ) h on true
  ${editsJoin(teamId)}`;

/** Mirror and base of these users, without the service's values. `ids` is an item of a `from` clause. */
export async function readUsersOf(
  db: Queryable,
  teamId: Id,
  ids: RawBuilder<unknown>,
): Promise<readonly UserState[]> {
  const { rows } = await sql<UserRow>`
    select i.id, ${userColumns}, false as observed_differs, false as stale
    from ${ids} i (id)
    ${userJoins(teamId)}`.execute(db);
  return rows.map((row) => toState(row, undefined));
}

/** Reads mirror and base of one user, known or unknown. */
export async function readUserState(db: Queryable, teamId: Id, id: Id): Promise<UserState> {
  const [state] = await readUsersOf(db, teamId, sql`(select ${id}::bigint)`);
  if (state === undefined) throw new Error('select of one row returned none');
  return state;
}
