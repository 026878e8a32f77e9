/** Plans that the guard refused, and what people approved of them. */
import { type Kysely, sql, type Transaction } from 'kysely';
import type { Id } from '../model/id.ts';
import { toJson } from '../model/json.ts';
import type { GuardHistory, PlannedPush, RefusedPlan } from '../model/plan.ts';
import { type Field, fields, type UserPatch } from '../model/user.ts';
import { fieldOfSql, sqlField, valueFromJson } from './users-read.ts';
import type { RunOf } from './users-write.ts';

/** How long a refused plan, and an approval, counts. */
const planLifetime = sql`interval '24 hours'`;

/** One row of `sync.plans.changes`. */
export interface PlanRow {
  readonly user_id: number | bigint;
  readonly name: string;
  readonly base: Readonly<Record<string, unknown>>;
  readonly patch: Readonly<Record<string, unknown>>;
}

function inSql(patch: UserPatch): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    fields.filter((field) => patch[field] !== undefined).map((field) => [sqlField(field), patch[field]]),
  );
}

function fromSql(values: Readonly<Record<string, unknown>>): UserPatch {
  return Object.fromEntries(
    Object.entries(values).map(([column, value]) => [
      fieldOfSql(column),
      valueFromJson(fieldOfSql(column), value),
    ]),
  );
}

export function planRows(pushes: readonly PlannedPush[]): readonly object[] {
  return pushes.map(({ userId, name, base, patch }) => ({
    user_id: userId,
    name,
    base: inSql(base),
    patch: inSql(patch),
  }));
}

export function pushesOf(rows: readonly PlanRow[]): readonly PlannedPush[] {
  return rows.map(({ user_id, name, base, patch }) => ({
    userId: BigInt(user_id),
    name,
    base: fromSql(base),
    patch: fromSql(patch),
  }));
}

function without(push: PlannedPush, used: readonly Field[]): PlannedPush {
  const patch = Object.fromEntries(
    Object.entries(push.patch).filter(([field]) => !used.includes(field as Field)),
  );
  return { ...push, patch };
}

/** Fields whose approved push was confirmed since: an approval lets a value pass once. By plan and user. */
async function readUsed<T>(db: Kysely<T>, teamId: Id): Promise<ReadonlyMap<string, readonly Field[]>> {
  const { rows } = await sql<{ plan_id: bigint; user_id: bigint; columns: readonly string[] }>`
    select p.plan_id, c.user_id, array_agg(distinct f.key) as columns
    from sync.plans p
    join sync.changes c on c.team_id = p.team_id and c.kind = 'push' and c.approved and c.opened_at >= p.decided_at
    cross join lateral jsonb_each_text(c.outcome) f
    where p.team_id = ${teamId} and p.state = 'approved' and p.expires_at > clock_timestamp() and f.value = 'confirmed'
    group by p.plan_id, c.user_id`.execute(db);
  return new Map(
    rows.map(({ plan_id, user_id, columns }) => [`${plan_id} ${user_id}`, columns.map(fieldOfSql)]),
  );
}

export async function readGuardHistory<T>(db: Kysely<T>, teamId: Id): Promise<GuardHistory> {
  const pushed = await sql<{ user_id: bigint }>`
    select distinct user_id from sync.changes
    where team_id = ${teamId} and kind = 'push' and not approved and opened_at > clock_timestamp() - interval '24 hours'
      and not (state = 'closed' and outcome::text like '%"unsent"%')`.execute(db);
  const plans = await sql<{ plan_id: bigint; state: string; changes: readonly PlanRow[] }>`
    select plan_id, state, changes from sync.plans
    where team_id = ${teamId} and state in ('refused', 'approved') and expires_at > clock_timestamp()`.execute(
    db,
  );
  const used = await readUsed(db, teamId);
  return {
    pushedToday: new Set(pushed.rows.map(({ user_id }) => user_id)),
    approved: plans.rows
      .filter(({ state }) => state === 'approved')
      .flatMap(({ plan_id, changes }) =>
        pushesOf(changes).map((push) => without(push, used.get(`${plan_id} ${push.userId}`) ?? [])),
      ),
    isWaiting: plans.rows.some(({ state }) => state === 'refused'),
  };
}

/** Puts a refused plan in place of an earlier one; the same plan again is left as it is. `null` takes it away. */
export async function writeRefusedPlan<T>(
  tx: Transaction<T>,
  { teamId, runId }: Pick<RunOf, 'teamId'> & { readonly runId: bigint | null },
  plan: RefusedPlan | null,
): Promise<void> {
  await sql`
    update sync.plans set state = 'superseded'
    where team_id = ${teamId} and state = 'refused'
      and (hash is distinct from ${plan?.hash ?? null}::text or expires_at <= clock_timestamp())`.execute(tx);
  if (plan === null) return;
  await sql`
    insert into sync.plans (team_id, run_id, hash, reasons, changes, expires_at)
    values (${teamId}, ${runId}::bigint, ${plan.hash}, ${plan.reasons}::text[], ${toJson(planRows(plan.pushes))}::jsonb,
            clock_timestamp() + ${planLifetime})
    on conflict (team_id) where state = 'refused' do nothing`.execute(tx);
}

export interface StoredPlan {
  readonly plan_id: bigint;
  readonly hash: string;
  readonly reasons: readonly string[];
  readonly made_at: Date;
  readonly expires_at: Date;
  readonly pushes: readonly PlannedPush[];
}

/** The plan that waits for a person, if any. */
export async function readRefusedPlan<T>(db: Kysely<T>, teamId: Id): Promise<StoredPlan | null> {
  const { rows } = await sql<Omit<StoredPlan, 'pushes'> & { changes: readonly PlanRow[] }>`
    select plan_id, hash, reasons, made_at, expires_at, changes from sync.plans
    where team_id = ${teamId} and state = 'refused' and expires_at > clock_timestamp()`.execute(db);
  const [row] = rows;
  if (row === undefined) return null;
  const { changes, ...rest } = row;
  return { ...rest, pushes: pushesOf(changes) };
}

/** Writes an approval down; it counts for these rows with these values, for a day. */
export async function writeApproval<T>(
  tx: Transaction<T>,
  teamId: Id,
  plan: Pick<RefusedPlan, 'hash' | 'reasons' | 'pushes'>,
  why: string,
): Promise<void> {
  await sql`
    insert into sync.plans (team_id, hash, state, reasons, changes, expires_at, decided_at, decided_by, decided_why)
    values (${teamId}, ${plan.hash}, 'approved', ${plan.reasons}::text[], ${toJson(planRows(plan.pushes))}::jsonb,
            clock_timestamp() + ${planLifetime}, clock_timestamp(), session_user, ${why})`.execute(tx);
}

/** How many of the listed users the mirror has, and how many users it has, gone or not. */
export async function readOverlap<T>(
  db: Kysely<T>,
  teamId: Id,
  listed: readonly Id[],
): Promise<{ readonly known: number; readonly population: number }> {
  const { rows } = await sql<{ known: number; population: number }>`
    select count(*) filter (where id = any (${listed}::bigint[]))::int as known,
      count(*) filter (where gone_at is null)::int as population
    from mirror.users where team_id = ${teamId}`.execute(db);
  return rows[0] ?? { known: 0, population: 0 };
}
