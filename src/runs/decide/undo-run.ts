/** Undoes one run: writes the inverse of its changes as edits, which the next run pushes through all guards. */
import type { Config } from '../../config/config.ts';
import { MusterdError } from '../../errors.ts';
import { approveEdits, type EditDecision } from '../../mirror/users/decide-edits.ts';
import type { Confirmation } from '../../model/waiting.ts';
import type { Database, Queryable, Transaction } from '../../mirror/db/database.ts';
import { editUsers } from '../../mirror/users/edits.ts';
import { underLease } from '../../mirror/team/lease.ts';
import type { LeasedTeam } from '../../mirror/team/lease-holder.ts';
import { hasRun, readMovedFields } from '../../mirror/users/moved-fields.ts';
import { readTeamId } from '../../mirror/team/pinned-teams.ts';
import type { Id } from '../../model/id.ts';
import { decideFor, waitsFor } from '../four-eyes.ts';
import { type Inverse, inverseOf, type UndoPlan, withoutMissed } from './inverse.ts';

/** Plans an undo, by reading only the mirror. @throws MusterdError `usage` if the team has no such run */
export async function planUndo(
  db: Queryable,
  { team }: { readonly team: string },
  run: bigint,
): Promise<UndoPlan & { readonly teamId: Id }> {
  const teamId = await readTeamId(db, team);
  if (teamId === null || !(await hasRun(db, team, run))) {
    throw new MusterdError('usage', `There is no run ${run} of team "${team}"`, {
      hint: 'report.runs lists them; "musterd changes" shows what each one moved.',
    });
  }
  return { ...inverseOf(teamId, await readMovedFields(db, teamId, run)), teamId };
}

/**
 * Approves the restored values, so that they pass the hold limits once. Fields that were left alone are not approved.
 * @returns the number of the decision; `null` if another person has to decide
 */
async function approveInverse(
  tx: Transaction,
  teamId: Id,
  changes: readonly Inverse[],
  confirmed: Pick<EditDecision, 'why' | 'waits'>,
): Promise<bigint | null> {
  // A value is restored only if both sides agree on the present value. So the edit starts from the base.
  const rows = changes.map(({ userId, field, from, to }) => ({ userId, field, to, base: from }));
  return (await approveEdits(tx, teamId, confirmed, rows))[0]?.decision ?? null;
}

/**
 * Writes the old values as edits in the caller's name, under the lease and in one transaction.
 * @returns the plan as it was carried out; users edited meanwhile are in `left`. `decision` is the number of the approval
 */
export async function applyUndo(
  db: Database,
  leased: LeasedTeam & Pick<Config, 'push'>,
  run: bigint,
  { actor, why }: Confirmation,
): Promise<UndoPlan & { readonly decision: bigint | null }> {
  return underLease(db, leased, async (tx) => {
    await decideFor(tx, leased, actor, { why });
    const { teamId, ...plan } = await planUndo(tx, leased, run);
    const edited = await editUsers(tx, teamId, plan.edits);
    const approval = why === undefined ? null : { why, waits: waitsFor(leased) };
    const decision = approval && (await approveInverse(tx, teamId, plan.changes, approval));
    return { ...withoutMissed(plan, edited), decision };
  });
}
