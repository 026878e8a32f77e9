/** Writes users to mirror, base, ledger and holds, with few statements for any number of users. */

import { sql } from 'kysely';
import { columnOf, type Field } from '../../model/fields.ts';
import type { Id } from '../../model/id.ts';
import { sameValue } from '../../model/user.ts';
import { roleMove } from '../../model/user-changes.ts';
import {
  type DecidedUser,
  decisionsOf,
  endedHolds,
  holdsOf,
  type UserPlan,
  type UserWrite,
  type Values,
} from '../../model/user-plan.ts';
import { anyOf } from '../db/by-key.ts';
import type { Transaction } from '../db/database.ts';
import { withSpool } from '../db/spool.ts';
import { stage } from '../db/stage.ts';
import { endStale } from '../team/stale.ts';
import { endPulled } from './edits.ts';
import { endHolds, lockHolds, noteShown, writeHolds } from './holds.ts';
import { type LedgerEntry, writeLedger } from './ledger.ts';
import { endPeriods } from './periods.ts';
import { lockUnchanged, writeShape, writeUsers } from './user-rows.ts';

/** The ids of a run, which every writing statement needs. */
export interface RunOf {
  readonly teamId: Id;
  readonly runId: bigint;
}

/** The values of one side (base, mirror or service), under the SQL names of the fields. */
function sideInSql(entries: readonly (readonly [Field, Values])[], side: keyof Values) {
  return Object.fromEntries(entries.map(([field, values]) => [columnOf(field), values[side] ?? null]));
}

/** The ledger entries for one user, one for each kind of change, without adoptions and holds. */
function ledgerOf(decided: DecidedUser) {
  const { id: user_id, write } = decided;
  const rows: LedgerEntry[] = [];
  for (const kind of ['pull', 'settle'] as const) {
    const moved = decisionsOf(decided, kind).map(([field, { values }]) => [field, values] as const);
    if (moved.length === 0 || write === null) continue;
    const taken = Object.fromEntries(moved.map(([field]) => [columnOf(field), write.mirror[field]]));
    const [base, old] = [sideInSql(moved, 'base'), sideInSql(moved, 'mirror')];
    rows.push({ user_id, kind, base, old, new: taken });
  }
  const role = roleMove(write);
  if (role !== undefined) {
    const old = { role: role.old };
    rows.push({ user_id, kind: 'pull', base: old, old, new: { role: role.new } });
  }
  return rows;
}

/** Ends the absences of users that were seen, except absences that a person is deciding about. */
async function endAbsences(tx: Transaction, { teamId }: RunOf, ids: readonly Id[]): Promise<void> {
  if (ids.length === 0) return;
  await sql`
    with free as materialized (
      select id from sync.absences where team_id = ${teamId} and resource = 'users' and id = ${anyOf(ids)} for update skip locked
    )
    delete from sync.absences a using free
    where a.team_id = ${teamId} and a.resource = 'users' and a.id = free.id`.execute(tx);
}

async function applyWrites(
  tx: Transaction,
  run: RunOf,
  writes: readonly UserWrite[],
): Promise<ReadonlySet<Id>> {
  return await withSpool(writeShape, writes, async (spool) => {
    const staged = await stage(tx, spool);
    const deferred = await lockUnchanged(tx, run.teamId, staged);
    await writeUsers(tx, run, staged, { writes, deferred });
    return deferred;
  });
}

/** The fields whose edit in the mirror is replaced by the service's value in this plan. */
const pulledEdits = (decided: DecidedUser) =>
  decisionsOf(decided, 'pull')
    .filter(
      ([
        field,
        {
          values: { base, mirror },
        },
      ]) => !sameValue(field, base, mirror),
    )
    .map(([field]) => ({ user_id: decided.id, field: columnOf(field) }));

/**
 * Writes the decisions, except for pushes.
 * @returns the users that were left out, because an editor has locked or changed the row since it was read
 */
export async function applyDecisions(
  tx: Transaction,
  run: RunOf,
  users: readonly DecidedUser[],
): Promise<ReadonlySet<Id>> {
  const writes = users.flatMap(({ write }) => (write === null ? [] : [write]));
  const deferred = writes.length === 0 ? new Set<Id>() : await applyWrites(tx, run, writes);
  const applied = users.filter(({ id }) => !deferred.has(id));
  const moved = applied.flatMap(ledgerOf);
  if (moved.length > 0) await writeLedger(tx, run, moved);
  await endPulled(tx, run.teamId, applied.flatMap(pulledEdits));
  await endHolds(tx, run, applied);
  await noteShown(tx, run, applied);
  const holds = applied.flatMap((user) => holdsOf(user).map((hold) => ({ id: user.id, hold })));
  await writeHolds(tx, run, holds);
  return deferred;
}

/** True if the plan writes nothing, provided that the user was neither missing nor stale before. */
export function isNothingToWrite(plan: UserPlan): boolean {
  return (
    plan.case !== 'forget' &&
    plan.write === null &&
    holdsOf(plan).length + endedHolds(plan).length + decisionsOf(plan, 'held').length === 0
  );
}

const writesHolds = (plan: UserPlan): boolean =>
  holdsOf(plan).length + endedHolds(plan).length > 0 ||
  decisionsOf(plan, 'held').some(([, { shown }]) => shown !== undefined);

/**
 * Like `applyDecisions`, for users that a run has looked at: it also ends the absences and stale marks of seen users, and
 * deletes all rows of users that exist nowhere any more.
 * @returns the users that `applyDecisions` returns, and users about whose fields an open transaction is deciding
 */
export async function applyUsers(
  tx: Transaction,
  run: RunOf,
  plans: readonly UserPlan[],
): Promise<readonly Id[]> {
  const ofHolds = plans.filter(writesHolds).map(({ id }) => id);
  const busy = ofHolds.length === 0 ? new Set<Id | null>() : await lockHolds(tx, run.teamId, ofHolds);
  const free = plans.filter(({ id }) => !busy.has(id));
  const deferred = await applyDecisions(tx, run, free);
  const applied = free.filter(({ id }) => !deferred.has(id));
  const idsOf = (...cases: readonly UserPlan['case'][]) =>
    applied.filter((plan) => cases.includes(plan.case)).map(({ id }) => id);
  await endAbsences(tx, run, idsOf('adopt', 'return', 'merge', 'unresolved'));
  await endStale(tx, run.teamId, idsOf('adopt', 'return', 'merge'));
  const forgotten = idsOf('forget');
  if (forgotten.length > 0) await forgetUsers(tx, run, forgotten);
  return plans.flatMap(({ id }) => (busy.has(id) || deferred.has(id) ? [id] : []));
}

export async function forgetUsers(tx: Transaction, run: RunOf, ids: readonly Id[]): Promise<void> {
  await sql`delete from sync.held_fields where team_id = ${run.teamId} and user_id = any (${ids}::bigint[])`.execute(
    tx,
  );
  await sql`
    update sync.edits set ended_at = clock_timestamp(), ended_how = 'forgotten'
    where team_id = ${run.teamId} and user_id = any (${ids}::bigint[]) and ended_at is null`.execute(tx);
  await endAbsences(tx, run, ids);
  await tx
    .deleteFrom('sync.user_base')
    .where('team_id', '=', run.teamId)
    .where('id', '=', anyOf(ids))
    .execute();
  await endPeriods(tx, run, ids);
  await writeLedger(
    tx,
    run,
    ids.map((user_id) => ({ user_id, kind: 'forget', base: {}, old: {}, new: {} })),
  );
}
