/** Undoes one run or one decision: writes the inverse of its changes as edits, which the next run pushes through all guards. */
import type { Config } from '../config/config.ts';
import { MusterdError } from '../errors.ts';
import { approveEdits, type EditDecision } from '../mirror/users/decide-edits.ts';
import type { Confirmation } from '../model/waiting.ts';
import type { Database, Queryable, Transaction } from '../mirror/db/database.ts';
import { editUsers } from '../mirror/users/edits.ts';
import { type LeasedTeam, underLease } from '../mirror/team/lease.ts';
import { recordSetBack } from '../mirror/users/decision-read.ts';
import { hasRun, ofRun, readMovedFields } from '../mirror/users/moved-fields.ts';
import { readTeamId } from '../mirror/team/pinned-teams.ts';
import type { Id } from '../model/id.ts';
import { decideFor, waitsFor } from './four-eyes.ts';
import { type Inverse, inverseOf, undoKeys, type UndoPlan, withoutMissed } from './inverse.ts';
import { undoDecision } from './undo-decision.ts';

/** The run or the decision that is to be undone. */
export interface UndoTarget {
  readonly kind: 'run' | 'decision';
  readonly number: bigint;
}

/** Plans an undo, by reading only the mirror. @throws MusterdError `usage` if the team has no such run or decision */
export async function planUndo(
  db: Queryable,
  { team }: { readonly team: string },
  { kind, number }: UndoTarget,
  how: Parameters<typeof undoDecision>[3] = { why: undefined, isShown: true },
): Promise<UndoPlan & { readonly teamId: Id }> {
  if (kind === 'decision') return await undoDecision(db, { team }, number, how);
  const teamId = await readTeamId(db, team);
  if (teamId === null || !(await hasRun(db, team, number))) {
    throw new MusterdError('usage', `There is no run ${number} of team "${team}"`, {
      hint: 'report.runs lists them; "musterd changes" shows what each one moved.',
    });
  }
  return {
    ...inverseOf(teamId, await readMovedFields(db, teamId, ofRun(number))),
    teamId,
  };
}

/** Lets the undone fields pass the limits on a whole run once; fields that were left alone are not among them. */
async function approveInverse(
  tx: Transaction,
  teamId: Id,
  changes: readonly Inverse[],
  confirmed: Pick<EditDecision, 'why' | 'waits' | 'decision'>,
): Promise<void> {
  // Only values that both sides agree on are undone, so the edit starts from the base.
  const rows = changes.map(({ userId, field, from, to }) => ({ userId, field, to, base: from }));
  await approveEdits(tx, teamId, confirmed, rows);
}

const moved = (what: string) =>
  new MusterdError('usage', `${what} while you looked`, {
    hint: 'Nothing was undone. Look at it again, and decide about what is there now.',
  });

/**
 * Writes the inverse into the mirror, under the lease and in one transaction, as an edit in the caller's name.
 * @param seen the `undoKeys` of what the person saw; if they are others by now, nothing is done
 * @returns what was done; users edited in between are listed as left alone
 * @throws MusterdError `usage` if it is not as it was seen
 */
export async function applyUndo(
  db: Database,
  leased: LeasedTeam & Pick<Config, 'push'>,
  undone: UndoTarget,
  { actor, why, seen }: Confirmation & { readonly seen?: readonly string[] },
): Promise<UndoPlan> {
  return underLease(db, leased, async (tx) => {
    await decideFor(tx, leased, actor);
    const { teamId, ...plan } = await planUndo(tx, leased, undone, { why, isShown: false });
    if (seen !== undefined && undoKeys(plan).toSorted().join() !== seen.toSorted().join())
      throw moved('Something of it has moved');
    const edited = await editUsers(tx, teamId, plan.edits);
    const done = withoutMissed(plan, edited);
    if (seen !== undefined && done.changes.length < plan.changes.length)
      throw moved('Somebody has begun to edit some of it');
    if (plan.number !== null)
      await recordSetBack(tx, teamId, { number: plan.number, why, fields: done.changes });
    if (why !== undefined)
      await approveInverse(tx, teamId, plan.approvable, {
        why,
        waits: waitsFor(leased),
        decision: plan.number,
      });
    return done;
  });
}
