/** Writes of users: staged as one JSON value, then one statement each for mirror, base, ledger and holds. */
import { sql } from 'kysely';
import type { Id } from '../model/id.ts';
import { toJson } from '../model/json.ts';
import { type Field, fields, type UserValues } from '../model/user.ts';
import {
  type DecidedUser,
  decisionsOf,
  type Hold,
  holdsOf,
  isTakenWhole,
  roleMove,
  type UserPlan,
  type UserWrite,
  type Values,
} from '../model/user-plan.ts';
import { anyOf } from './by-key.ts';
import type { Row, Transaction } from './database.ts';
import { endHolds, noteShown, writeHolds } from './holds.ts';
import { endStale } from './stale.ts';
import { asTimestamp } from './timestamp.ts';
import { sqlField } from './users-read.ts';

/** What every writing statement needs to know of the run. */
export interface RunOf {
  readonly teamId: Id;
  readonly runId: bigint;
}

function stageWrite({ id, expected, mirror, observed, base }: UserWrite) {
  const { details } = observed;
  return {
    id,
    is_new: expected === null,
    was_first: expected?.name.first,
    was_last: expected?.name.last,
    was_split: expected?.split,
    was_email: expected?.email,
    was_phone: expected?.phone,
    was_role_id: expected?.roleId,
    first_name: mirror.name.first,
    last_name: mirror.name.last,
    name_split: mirror.split,
    email: mirror.email,
    phone: mirror.phone,
    role_id: mirror.roleId,
    name: observed.name,
    role: observed.role,
    resolved: observed.resolved,
    has_details: details !== null,
    created_at: asTimestamp(details?.createdAt),
    updated_at: asTimestamp(details?.updatedAt),
    user_created_at: asTimestamp(details?.userCreatedAt),
    user_updated_at: asTimestamp(details?.userUpdatedAt),
    raw: details?.raw ?? {},
    base_name: base.joined,
    base_first: base.name.first,
    base_last: base.name.last,
    base_email: base.email,
    base_phone: base.phone,
    base_role_id: base.roleId,
  };
}

const staged = (json: string) => sql`
  jsonb_to_recordset(${json}::jsonb) as s (id bigint, is_new boolean, was_first text, was_last text, was_split text,
    was_email text, was_phone text, was_role_id bigint, first_name text, last_name text, name_split text, email text,
    phone text, role_id bigint, name text, role text, resolved boolean, has_details boolean, created_at timestamptz,
    updated_at timestamptz, user_created_at timestamptz, user_updated_at timestamptz, raw jsonb, base_name text,
    base_first text, base_last text, base_email text, base_phone text, base_role_id bigint)`;

/** The ids whose row is there as it was read, or was not there and still is not; all of them locked. */
async function lockUnchanged(tx: Transaction, { teamId }: RunOf, json: string): Promise<ReadonlySet<Id>> {
  const { rows } = await sql<Row<'mirror.users', 'id'>>`
    with mine as materialized (
      select u.id from mirror.users u join ${staged(json)} on s.id = u.id
      where u.team_id = ${teamId} and not s.is_new
        and (u.first_name, u.last_name, u.name_split, u.email, u.phone, u.role_id)
            is not distinct from (s.was_first, s.was_last, s.was_split, s.was_email, s.was_phone, s.was_role_id)
      order by u.id
      for update of u skip locked
    )
    select id from mine
    union all
    select s.id from ${staged(json)}
    where s.is_new and not exists (select from mirror.users u where u.team_id = ${teamId} and u.id = s.id)`.execute(
    tx,
  );
  return new Set(rows.map(({ id }) => id));
}

/** Mirror and base together; rows that already are as they should be are not written. */
async function writeRows(tx: Transaction, { teamId }: RunOf, json: string): Promise<void> {
  await sql`
    insert into mirror.users as u (team_id, id, name, first_name, last_name, name_split, email, phone, role_id, role,
      resolved, created_at, updated_at, user_created_at, user_updated_at, raw)
    select ${teamId}, s.id, s.name, s.first_name, s.last_name, s.name_split, s.email, s.phone, s.role_id, s.role,
      s.resolved, s.created_at, s.updated_at, s.user_created_at, s.user_updated_at, s.raw
    from ${staged(json)} where s.is_new`.execute(tx);
  await sql`
    update mirror.users u set name = s.name, first_name = s.first_name, last_name = s.last_name,
      name_split = s.name_split, email = s.email, phone = s.phone, role_id = s.role_id, role = s.role,
      resolved = s.resolved, gone_at = null,
      created_at = case when s.has_details then s.created_at else u.created_at end,
      updated_at = case when s.has_details then s.updated_at else u.updated_at end,
      user_created_at = case when s.has_details then s.user_created_at else u.user_created_at end,
      user_updated_at = case when s.has_details then s.user_updated_at else u.user_updated_at end,
      raw = case when s.has_details then s.raw else u.raw end
    from ${staged(json)} where u.team_id = ${teamId} and u.id = s.id and not s.is_new`.execute(tx);
  await sql`
    insert into sync.user_base as b (team_id, id, name, first_name, last_name, email, phone, role_id)
    select ${teamId}, s.id, s.base_name, s.base_first, s.base_last, s.base_email, s.base_phone, s.base_role_id
    from ${staged(json)}
    left join sync.user_base b on b.team_id = ${teamId} and b.id = s.id
    where b.id is null or (b.name, b.first_name, b.last_name, b.email, b.phone, b.role_id)
      is distinct from (s.base_name, s.base_first, s.base_last, s.base_email, s.base_phone, s.base_role_id)
    on conflict (team_id, id) do update set name = excluded.name, first_name = excluded.first_name,
      last_name = excluded.last_name, email = excluded.email, phone = excluded.phone, role_id = excluded.role_id,
      agreed_at = clock_timestamp()`.execute(tx);
}

const inSql = (values: Iterable<readonly [string, unknown]>) => Object.fromEntries(values);

/** All four values, under their SQL names. */
export function valuesInSql(values: UserValues): Readonly<Record<string, unknown>> {
  return inSql(fields.map((field) => [sqlField(field), values[field]]));
}

/** One of the three versions of fields, under their SQL names. */
function sideInSql(of: readonly (readonly [Field, Values])[], side: keyof Values) {
  return inSql(of.map(([field, values]) => [sqlField(field), values[side] ?? null]));
}

/** The ledger's rows for one user: one per kind of change. */
function ledgerOf(decided: DecidedUser) {
  const { id: user_id, write } = decided;
  const rows: object[] = [];
  if (write !== null && isTakenWhole(write)) {
    const old = write.expected === null ? {} : valuesInSql(write.expected);
    rows.push({ user_id, kind: 'adopt', base: {}, old, new: valuesInSql(write.mirror) });
  }
  for (const kind of ['pull', 'settle'] as const) {
    const moved = decisionsOf(decided, kind).map(([field, { values }]) => [field, values] as const);
    if (moved.length === 0 || write === null) continue;
    const taken = inSql(moved.map(([field]) => [sqlField(field), write.mirror[field]]));
    const [base, old] = [sideInSql(moved, 'base'), sideInSql(moved, 'mirror')];
    rows.push({ user_id, kind, base, old, new: taken });
  }
  const role = roleMove(write);
  if (role !== undefined) {
    const old = { role: role.old };
    rows.push({ user_id, kind: 'pull', base: old, old, new: { role: role.new } });
  }
  return [...rows, ...holdsInLedger(user_id, holdsOf(decided))];
}

/** A row of the ledger for what is held of one user from now on. */
export function holdsInLedger(user_id: Id, holds: readonly Hold[]): readonly object[] {
  if (holds.length === 0) return [];
  const held = holds.map((hold) => [hold.field, hold] as const);
  const [base, old] = [sideInSql(held, 'base'), sideInSql(held, 'mirror')];
  return [{ user_id, kind: 'hold', base, old, new: sideInSql(held, 'service') }];
}

export async function writeLedger(
  tx: Transaction,
  { teamId, runId }: RunOf,
  rows: readonly object[],
): Promise<void> {
  if (rows.length === 0) return;
  await sql`
    insert into sync.changes (team_id, user_id, run_id, kind, base, old, new, closed_at)
    select ${teamId}, user_id, ${runId}, kind, base, old, new, clock_timestamp()
    from jsonb_to_recordset(${toJson(rows)}::jsonb)
      as s (user_id bigint, kind text, base jsonb, old jsonb, new jsonb)`.execute(tx);
}

/** Whoever was seen is no longer missing. */
async function endAbsences(tx: Transaction, { teamId }: RunOf, ids: readonly Id[]): Promise<void> {
  if (ids.length === 0) return;
  await tx
    .deleteFrom('sync.absences')
    .where((eb) => eb.and({ team_id: teamId, resource: 'users' }))
    .where('id', '=', anyOf(ids))
    .execute();
}

/**
 * Writes what was decided, but for what is to be pushed.
 * @returns the users whose row an editor holds, or changed since it was read: nothing of theirs was written
 */
export async function applyDecisions(
  tx: Transaction,
  run: RunOf,
  users: readonly DecidedUser[],
): Promise<ReadonlySet<Id>> {
  const writes = users.flatMap(({ write }) => (write === null ? [] : [write]));
  const unchanged =
    writes.length === 0 ? new Set() : await lockUnchanged(tx, run, toJson(writes.map(stageWrite)));
  const deferred = new Set(writes.map(({ id }) => id).filter((id) => !unchanged.has(id)));
  const applied = users.filter(({ id }) => !deferred.has(id));
  const rows = applied.flatMap(({ write }) => (write === null ? [] : [stageWrite(write)]));
  if (rows.length > 0) await writeRows(tx, run, toJson(rows));
  await writeLedger(tx, run, applied.flatMap(ledgerOf));
  await endHolds(tx, run, applied);
  await noteShown(tx, run, applied);
  const holds = applied.flatMap((user) => holdsOf(user).map((hold) => ({ id: user.id, hold })));
  await writeHolds(tx, run, holds);
  return deferred;
}

/** The same for users whom a run has looked at: whoever was seen is neither missing nor stale any more. */
export async function applyUsers(
  tx: Transaction,
  run: RunOf,
  plans: readonly UserPlan[],
): Promise<readonly Id[]> {
  const deferred = await applyDecisions(tx, run, plans);
  const applied = plans.filter(({ id }) => !deferred.has(id));
  const idsOf = (...cases: readonly UserPlan['case'][]) =>
    applied.filter((plan) => cases.includes(plan.case)).map(({ id }) => id);
  await endAbsences(tx, run, idsOf('adopt', 'return', 'merge', 'unresolved'));
  await endStale(tx, run.teamId, idsOf('adopt', 'return', 'merge'));
  return [...deferred];
}

export async function forgetUsers(tx: Transaction, run: RunOf, ids: readonly Id[]): Promise<void> {
  await endStale(tx, run.teamId, ids);
  await sql`delete from sync.held_fields where team_id = ${run.teamId} and user_id = any (${ids}::bigint[])`.execute(
    tx,
  );
  await endAbsences(tx, run, ids);
  await tx
    .deleteFrom('sync.user_base')
    .where('team_id', '=', run.teamId)
    .where('id', '=', anyOf(ids))
    .execute();
  await writeLedger(
    tx,
    run,
    ids.map((user_id) => ({ user_id, kind: 'forget', base: {}, old: {}, new: {} })),
  );
}
