/** Sends exactly what a plan file says, as far as it is unchanged since. Applying the file is the approval. */

import { readPushed, readUse, type Use } from '../mirror/users/applied-plans.ts';
import { approveEdits, type SeenEdit } from '../mirror/users/decide-edits.ts';
import type { Transaction } from '../mirror/db/database.ts';
import type { Field } from '../model/fields.ts';
import type { Id } from '../model/id.ts';
import type { TeamAnswer } from '../model/team.ts';
import { isPush, mapPushes } from '../model/user-plan.ts';
import { exactly, type LeftRow, leftOf, rowKey } from '../reconcile/exactly.ts';
import { judgeOverlap, sayReplaced } from '../reconcile/overlap.ts';
import { planEdited } from '../reconcile/plan-edited.ts';
import { pushEdits } from '../reconcile/push/push.ts';
import { settleIntents } from '../reconcile/push/settle-intents.ts';
import { createPushContext } from '../reconcile/push/record.ts';
import { decideFor, requireOtherEyes, waitsFor } from './four-eyes.ts';
import { requireTeamId } from './named-user.ts';
import type { Setup } from './open.ts';
import { type PlanFile, requireOurs } from './plan-file.ts';
import { reconcileSettings } from './reconcile-team.ts';
import type { RunReport } from './run-record.ts';
import { type LeasedContext, type Watch, withRun } from './with-run.ts';

export interface ApplyRequest {
  readonly file: PlanFile;
  readonly actor: string | undefined;
  readonly why: string;
  readonly isAllOrNothing: boolean;
}

export interface Applied {
  /** `null`: there was no run. */
  readonly run: RunReport | null;
  /** The file was applied before. */
  readonly used: Use | null;
  /** Fields that reached the service. */
  readonly sent: number;
  /** Every other row of the file. */
  readonly left: readonly LeftRow[];
  /** Nothing was sent: `all` was asked for and a part could not be sent, or most of the team was replaced. */
  readonly isRefused: boolean;
}

interface Sent extends Pick<Applied, 'used' | 'left' | 'isRefused'> {
  /** Rows that may pass, and rows that were already under way. */
  readonly approved: readonly { readonly userId: Id; readonly field: Field }[];
}

const asSeen = ({ userId, field, edit, values }: PlanFile['rows'][number]): SeenEdit => {
  const { mirror: to = null, base, service = null } = values;
  return { userId, field, edit, to, base, service };
};

/** Runs under the lease of the team. */
async function send(
  context: LeasedContext,
  answer: TeamAnswer,
  { config }: Setup,
  { file, actor, why, isAllOrNothing }: ApplyRequest,
): Promise<Sent> {
  const { rows } = file;
  const team = await answer.readTeam();
  const settings = reconcileSettings(config);
  const pushSettings = { ...settings.push, policy: settings.policy };
  const replaced = await judgeOverlap(context.mirror, team, settings.scope);
  const nothing = { approved: [], used: null, isRefused: true };
  if (replaced !== null)
    return {
      ...nothing,
      left: rows.map(({ userId, field }) => ({ userId, field, reason: sayReplaced(replaced) })),
    };
  const push = createPushContext(context, team);
  await settleIntents(push, pushSettings);
  const users = await planEdited(context, team, settings, { exact: exactly(rows) });
  const left = leftOf(rows, users.states, users.plans);
  if (isAllOrNothing && left.length > 0) return { ...nothing, left };
  const isLeft = new Set(left.map(rowKey));
  const fit = rows.filter((row) => !isLeft.has(rowKey(row)));
  // If all was asked for and only a part may pass by now, the transaction and its approvals are rolled back.
  const lost = new Error('not all of it is as it was');
  let fitting: Sent['approved'] = [];
  const agree = async (tx: Transaction) => {
    await decideFor(tx, config, actor);
    const used = await readUse(tx, team.id, file);
    if (used !== null) return { used, approved: [] };
    const approval = { batch: file.hash, why, waits: waitsFor(config), runId: context.runId };
    fitting = fit.length === 0 ? [] : await approveEdits(tx, team.id, approval, fit.map(asSeen));
    if (isAllOrNothing && fitting.length < rows.length) throw lost;
    return { used, approved: fitting };
  };
  const decided = await context.fenced(agree).catch((error: unknown) => {
    if (error !== lost) throw error;
    return null;
  });
  const approved = new Set(fitting.map(rowKey));
  if (decided === null)
    return {
      ...nothing,
      left: rows
        .filter((row) => !approved.has(rowKey(row)))
        .map(({ userId, field }) => ({ userId, field, reason: sayOutcome(undefined) })),
    };
  const plans = users.plans
    .map((plan) =>
      mapPushes(plan, (field, one) =>
        approved.has(rowKey({ userId: plan.id, field })) ? one : { kind: 'wait' },
      ),
    )
    .filter(isPush);
  const { roster, roles, fresh } = users;
  const letPass = Map.groupBy(decided.approved, ({ userId }) => userId);
  const passing = new Map([...letPass].map(([id, of]) => [id, of.map(({ field }) => field)]));
  await pushEdits({ ...push, users: roster.users, roles, approved: passing, fresh }, pushSettings, plans);
  return { ...decided, left, isRefused: false };
}

/** The message for a row that was sent and whose arrival is not known. */
function sayOutcome(outcome: string | undefined): string {
  if (outcome === undefined || outcome === 'unsent') return 'edited meanwhile, or not sent in time';
  return outcome === 'unknown'
    ? 'nobody knows yet whether it arrived: the next run reads it back'
    : `the service did not take it (${outcome}): "musterd held" shows what becomes of it`;
}

/** @throws MusterdError `usage` for a file of another team, or for one's own edits with `push.fourEyes` */
export async function applyPlanFile(setup: Setup, request: ApplyRequest, watch: Watch): Promise<Applied> {
  const { config, mirror } = setup;
  const { file, actor } = request;
  const teamId = await requireTeamId(setup);
  requireOurs(file, config, teamId);
  const used = await mirror.db.transaction(async (tx) => {
    const fourEyes = await decideFor(tx, config, actor);
    const use = await readUse(tx, teamId, file);
    const approval = { verb: 'approve', why: request.why } as const;
    if (use === null && fourEyes) await requireOtherEyes(tx, teamId, approval, file.rows.map(asSeen));
    return use;
  });
  if (used !== null) return { run: null, used, sent: 0, left: [], isRefused: false };
  const kind = { config, command: 'apply', groups: [], mode: 'read-write' } as const;
  const { report, result } = await withRun(mirror.db, kind, watch, (context, team) =>
    send(context, team, setup, request),
  );
  if (result.used !== null || result.isRefused) return { run: report, sent: 0, ...result };
  const outcomes = await readPushed(mirror.db.kysely, report.runId);
  const known = new Set([...result.left, ...result.approved].map(rowKey));
  const late = [...result.approved, ...file.rows.filter((row) => !known.has(rowKey(row)))].flatMap(
    ({ userId, field }): readonly LeftRow[] => {
      const outcome = outcomes.get(rowKey({ userId, field }));
      return outcome === 'confirmed' ? [] : [{ userId, field, reason: sayOutcome(outcome) }];
    },
  );
  const left = [...result.left, ...late];
  return { run: report, used: null, sent: file.rows.length - left.length, left, isRefused: false };
}
