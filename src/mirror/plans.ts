/** Plans that the guard refused, and what people approved of them. */
import { sql } from 'kysely';
import type { Id } from '../model/id.ts';
import { toJson } from '../model/json.ts';
import type { GuardHistory, PlannedPush, RefusedPlan } from '../model/plan.ts';
import { type Field, fields, type ServiceValue, type UserPatch } from '../model/user.ts';
import type { Queryable, Transaction } from './database.ts';
import { fieldOfSql, sqlField, valueFromJson } from './users-read.ts';
import type { RunOf } from './users-write.ts';

/** How long an approval counts, and a refused plan waits before people are told of it again. */
const planLifetime = sql`interval '24 hours'`;

/** One row of `sync.plans.changes`. */
export interface PlanRow {
  readonly user_id: number | bigint;
  readonly name: string;
  readonly base: Readonly<Record<string, unknown>>;
  readonly service?: Readonly<Record<string, unknown>>;
  readonly patch: Readonly<Record<string, unknown>>;
}

type Values = Readonly<Partial<Record<Field, unknown>>>;

function inSql(patch: Values): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    fields.filter((field) => patch[field] !== undefined).map((field) => [sqlField(field), patch[field]]),
  );
}

/** No name is no pair of halves: such a row stands for nothing. */
function fromSql(values: Readonly<Record<string, unknown>>): UserPatch {
  const known = Object.entries(values).filter(([column, value]) => column !== 'name' || value !== null);
  return Object.fromEntries(
    known.map(([column, value]) => [fieldOfSql(column), valueFromJson(fieldOfSql(column), value)]),
  );
}

/** What the service says is stored as it came: of a name, the joined one. */
function serviceFromSql(values: Readonly<Record<string, unknown>>): NonNullable<PlannedPush['service']> {
  return Object.fromEntries(
    Object.entries(values).map(([column, value]) => {
      const field = fieldOfSql(column);
      return [field, (field === 'roleId' ? valueFromJson(field, value) : value) as ServiceValue];
    }),
  );
}

export function planRows(pushes: readonly PlannedPush[]): readonly object[] {
  return pushes.map(({ userId, name, base, service, patch }) => ({
    user_id: userId,
    name,
    base: inSql(base),
    ...(service === undefined ? {} : { service: inSql(service) }),
    patch: inSql(patch),
  }));
}

export function pushesOf(rows: readonly PlanRow[]): readonly PlannedPush[] {
  return rows.map(({ user_id, name, base, service, patch }) => ({
    userId: BigInt(user_id),
    name,
    base: fromSql(base),
    ...(service === undefined ? {} : { service: serviceFromSql(service) }),
    patch: fromSql(patch),
  }));
}

function without(push: PlannedPush, used: readonly Field[]): PlannedPush {
  const patch = Object.fromEntries(
    Object.entries(push.patch).filter(([field]) => !used.includes(field as Field)),
  );
  return { ...push, patch };
}

/** Of the approvals that count still: the database's clock stands still within a statement, so an index serves. */
const isApproved = (teamId: Id) =>
  sql`team_id = ${teamId} and state = 'approved' and expires_at > statement_timestamp()`;

/**
 * Fields whose approved value has arrived since, confirmed or seen there later: an approval lets a value pass
 * once. By plan and user.
 */
async function readUsed(db: Queryable, teamId: Id): Promise<ReadonlyMap<string, readonly Field[]>> {
  const { rows } = await sql<{ plan_id: bigint; user_id: bigint; columns: readonly string[] }>`
    with approved as materialized (
      select plan_id, changes, decided_at from sync.plans where ${isApproved(teamId)}
    ),
    agreed as (
      select p.plan_id, r.user_id, f.key, f.value from approved p
      cross join lateral jsonb_to_recordset(p.changes) as r (user_id bigint, patch jsonb)
      cross join lateral jsonb_each(r.patch) f
    ),
    arrived as (
      select p.plan_id, c.user_id, f.key, f.value from approved p
      join sync.changes c on c.opened_at >= p.decided_at
      cross join lateral jsonb_each(case c.kind when 'push' then c.new else c.old end) f
      where c.team_id = ${teamId} and c.kind in ('push', 'settle') and c.opened_at > statement_timestamp() - ${planLifetime}
        and (c.kind = 'settle' or c.outcome ->> f.key = 'confirmed')
    )
    select plan_id, user_id, array_agg(key) as columns
    from (select * from agreed intersect select * from arrived) used
    group by plan_id, user_id`.execute(db);
  return new Map(
    rows.map(({ plan_id, user_id, columns }) => [`${plan_id} ${user_id}`, columns.map(fieldOfSql)]),
  );
}

/** A push of which no field ever left does not count for the day; one of which a part did does. */
async function readPushedToday(db: Queryable, teamId: Id): Promise<ReadonlySet<Id>> {
  const { rows } = await sql<{ user_id: bigint }>`
    select distinct user_id from sync.changes c
    where team_id = ${teamId} and kind = 'push' and not approved and opened_at > statement_timestamp() - interval '24 hours'
      and (state = 'open' or exists (select from jsonb_each_text(c.outcome) f where f.value <> 'unsent'))`.execute(
    db,
  );
  return new Set(rows.map(({ user_id }) => user_id));
}

/** Of these users those who have left the team. */
async function readGone(db: Queryable, teamId: Id, ids: readonly Id[]): Promise<ReadonlySet<Id>> {
  if (ids.length === 0) return new Set();
  const { rows } = await sql<{ id: Id }>`
    select id from mirror.users
    where team_id = ${teamId} and gone_at is not null and id = any (${ids}::bigint[])`.execute(db);
  return new Set(rows.map(({ id }) => id));
}

export async function readGuardHistory(db: Queryable, teamId: Id): Promise<GuardHistory> {
  const { rows } = await sql<{
    plan_id: bigint;
    state: 'refused' | 'kept' | 'approved';
    passes_brakes: boolean;
    changes: readonly PlanRow[];
    lacking: readonly string[];
    is_old: boolean;
  }>`
    select plan_id, state, passes_brakes, changes, lacking, expires_at <= statement_timestamp() as is_old
    from (
      select * from sync.plans where team_id = ${teamId} and state = 'refused'
      union all select * from sync.plans where team_id = ${teamId} and state = 'kept'
      union all select * from sync.plans where ${isApproved(teamId)}
    ) p`.execute(db);
  const used = await readUsed(db, teamId);
  const decided = (isResolved: boolean) =>
    rows
      .filter(({ state, passes_brakes }) => state === 'approved' && passes_brakes === isResolved)
      .flatMap(({ plan_id, changes }) =>
        pushesOf(changes).map((push) => without(push, used.get(`${plan_id} ${push.userId}`) ?? [])),
      );
  const refused = rows.find(({ state }) => state === 'refused');
  const waiting = refused === undefined ? null : pushesOf(refused.changes);
  const kept = pushesOf(rows.find(({ state }) => state === 'kept')?.changes ?? []);
  const ids = [...(waiting ?? []), ...kept].map(({ userId }) => userId);
  return {
    pushedToday: await readPushedToday(db, teamId),
    approved: decided(false),
    resolved: decided(true),
    waiting,
    isOld: refused?.is_old === true,
    kept,
    gone: await readGone(db, teamId, ids),
    lacking: (refused?.lacking ?? []).map(fieldOfSql),
    accepted: rows.flatMap(({ state, lacking }) => (state === 'approved' ? lacking.map(fieldOfSql) : [])),
  };
}

/**
 * Puts a refused plan in place of an earlier one; the same plan again is left as it is. `null` takes it away.
 * @param isNews people are told of it now; what is left of an earlier one is told of again when that would be
 */
export async function writeRefusedPlan(
  tx: Transaction,
  { teamId, runId }: Pick<RunOf, 'teamId'> & { readonly runId: bigint | null },
  plan: RefusedPlan | null,
  isNews: boolean,
): Promise<void> {
  const { rows } = await sql<{ expires_at: Date }>`
    update sync.plans set state = 'superseded'
    where team_id = ${teamId} and state = 'refused' and (hash is distinct from ${plan?.hash ?? null}::text or ${isNews})
    returning expires_at`.execute(tx);
  if (plan === null) return;
  const expiresAt = isNews ? null : (rows[0]?.expires_at.toISOString() ?? null);
  await sql`
    insert into sync.plans (team_id, run_id, hash, reasons, changes, lacking, expires_at)
    values (${teamId}, ${runId}::bigint, ${plan.hash}, ${plan.reasons}::text[], ${toJson(planRows(plan.pushes))}::jsonb,
            ${plan.lacking.map(sqlField)}::text[],
            coalesce(${expiresAt}::timestamptz, clock_timestamp() + ${planLifetime}))
    on conflict (team_id) where state = 'refused' do update set changes = excluded.changes
      where plans.changes <> excluded.changes`.execute(tx);
}

/** Puts these rows in place of those that were kept in mind before. */
export async function writeKeptRows(
  tx: Transaction,
  { teamId, runId }: Pick<RunOf, 'teamId'> & { readonly runId: bigint | null },
  rows: readonly PlannedPush[],
): Promise<void> {
  if (rows.length === 0) {
    await sql`delete from sync.plans where team_id = ${teamId} and state = 'kept'`.execute(tx);
    return;
  }
  await sql`
    insert into sync.plans (team_id, run_id, hash, state, changes, expires_at)
    values (${teamId}, ${runId}::bigint, '', 'kept', ${toJson(planRows(rows))}::jsonb, 'infinity')
    on conflict (team_id) where state = 'kept' do update set changes = excluded.changes
      where plans.changes <> excluded.changes`.execute(tx);
}

export async function readKeptRows(db: Queryable, teamId: Id): Promise<readonly PlannedPush[]> {
  const { rows } = await sql<{ changes: readonly PlanRow[] }>`
    select changes from sync.plans where team_id = ${teamId} and state = 'kept'`.execute(db);
  return pushesOf(rows[0]?.changes ?? []);
}

export interface StoredPlan extends RefusedPlan {
  readonly plan_id: bigint;
  readonly made_at: Date;
}

/** The plan that waits for a person, if any. */
export async function readRefusedPlan(db: Queryable, teamId: Id): Promise<StoredPlan | null> {
  const { rows } = await sql<
    Omit<StoredPlan, 'pushes' | 'lacking'> & {
      changes: readonly PlanRow[];
      lacking: readonly string[];
    }
  >`
    select plan_id, hash, reasons, made_at, changes, lacking from sync.plans
    where team_id = ${teamId} and state = 'refused'`.execute(db);
  const [row] = rows;
  if (row === undefined) return null;
  const { changes, lacking, ...rest } = row;
  return { ...rest, pushes: pushesOf(changes), lacking: lacking.map(fieldOfSql) };
}

/** What a person agreed to; only what was decided field by field passes the brakes. */
export interface Approval extends RefusedPlan {
  readonly passesBrakes: boolean;
  readonly why: string;
}

/**
 * Writes an approval down. It counts for these rows with these values, for a day; of fields that many users no
 * longer have, until they have them again (`endAccepted`).
 */
export async function writeApproval(
  tx: Transaction,
  teamId: Id,
  { hash, reasons, pushes, lacking, passesBrakes, why }: Approval,
): Promise<void> {
  const parts = [
    ...(pushes.length === 0 ? [] : [{ changes: planRows(pushes), lacking: [], ends: true }]),
    ...lacking.map((field) => ({ changes: [], lacking: [sqlField(field)], ends: false })),
  ];
  await sql`
    insert into sync.plans
      (team_id, hash, state, reasons, changes, lacking, passes_brakes, expires_at, decided_at, decided_by, decided_why)
    select ${teamId}, ${hash}, 'approved', ${reasons}::text[], s.changes,
           array(select jsonb_array_elements_text(s.lacking)), ${passesBrakes},
           case when s.ends then clock_timestamp() + ${planLifetime} else 'infinity' end, clock_timestamp(),
           session_user, ${why}
    from jsonb_to_recordset(${toJson(parts)}::jsonb) as s (changes jsonb, lacking jsonb, ends boolean)`.execute(
    tx,
  );
}

/** Fields that the users have again are asked about again when many lack them once more. */
export async function endAccepted(
  tx: Transaction,
  { teamId }: Pick<RunOf, 'teamId'>,
  drifting: readonly Field[],
): Promise<void> {
  await sql`
    update sync.plans set state = 'superseded', expires_at = clock_timestamp()
    where team_id = ${teamId} and state = 'approved' and expires_at = 'infinity'
      and not lacking <@ ${drifting.map(sqlField)}::text[]`.execute(tx);
}
