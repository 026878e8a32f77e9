/** Sends exactly what a plan file says, as far as nothing has changed since. To apply the file is to approve it. */

import { readPushed, readUse, type PlanUse } from '../mirror/users/applied-plans.ts';
import { approveEdits, decideEdits, type EditAnswer, type SeenEdit } from '../mirror/users/decide-edits.ts';
import type { Transaction } from '../mirror/db/database.ts';
import type { Id } from '../model/id.ts';
import type { Team } from '../model/team.ts';
import { isPush, mapPushes } from '../model/user-plan.ts';
import type { UserState } from '../model/user-state.ts';
import { onlyReviewed, type LeftRow, leftOf, rowKey } from '../reconcile/only-reviewed.ts';
import { look as lookAt } from '../reconcile/look.ts';
import { planUser } from '../reconcile/merge/plan-user.ts';
import { noteUnfound, planUsers } from '../reconcile/plan-users.ts';
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

export interface AppliedPlan {
  /** `null` if there was no run. */
  readonly run: RunReport | null;
  /** When the file was applied before, if it was. */
  readonly used: PlanUse | null;
  /** Fields that reached the service. */
  readonly sent: number;
  /** All other rows of the file. */
  readonly left: readonly LeftRow[];
  /** Whether nothing was sent, because all was asked for and a part failed. */
  readonly isRefused: boolean;
}

type SendResult = Pick<AppliedPlan, 'used' | 'left' | 'isRefused'>;

type Row = Pick<SeenEdit, 'userId' | 'field'>;

const asSeen = ({ userId, field, edit, values }: PlanFile['rows'][number]): SeenEdit => {
  const { mirror: to = null, base, service = null } = values;
  return { userId, field, edit, to, base, service };
};

/** The reasons why a row cannot be approved as it was planned. */
const sayAnswer: Readonly<Partial<Record<EditAnswer, string>>> = {
  moved: 'edited since the plan was made, or both sides have agreed on another value',
  ended: 'both sides have the same by now',
  'on its way': 'the outcome of an earlier push is not known yet',
  gone: 'the user has left the team',
  asked: 'held because somebody asked for it',
  held: 'held for another reason: "musterd held" shows it',
  own: 'whoever applies it edited it (push.fourEyes)',
};

/** Finds whether the file was applied, and the answer about each row, as for any decision. It does not ask the service. */
async function look(tx: Transaction, teamId: Id, config: Setup['config'], request: ApplyRequest) {
  const { file, actor, why } = request;
  await decideFor(tx, config, actor);
  const used = await readUse(tx, teamId, file);
  const answers = await decideEdits(tx, teamId, { verb: 'approve', why }, file.rows.map(asSeen), true);
  return { used, answers };
}

/** Approves these rows. @returns those that may pass; with `isUndone` not all may, so that none was approved */
async function approveRows(
  { fenced, runId }: LeasedContext,
  teamId: Id,
  config: Setup['config'],
  { file: { hash, rows }, actor, why, isAllOrNothing }: ApplyRequest,
  fit: PlanFile['rows'],
): Promise<{ readonly approved: readonly Row[]; readonly isUndone: boolean }> {
  if (fit.length === 0) return { approved: [], isUndone: false };
  // If all was asked for and only a part may pass by now, the transaction and its approvals are rolled back.
  const lost = new Error('not all of it is as it was');
  let approved: readonly Row[] = [];
  const agree = async (tx: Transaction) => {
    await decideFor(tx, config, actor);
    const approval = { batch: hash, why, waits: waitsFor(config), runId };
    approved = await approveEdits(tx, teamId, approval, fit.map(asSeen));
    if (isAllOrNothing && approved.length < rows.length) throw lost;
    return false;
  };
  const isUndone = await fenced(agree).catch((error: unknown) => {
    if (error !== lost) throw error;
    return true;
  });
  return { approved, isUndone };
}

const without = (rows: PlanFile['rows'], others: readonly Row[]): PlanFile['rows'] => {
  const keys = new Set(others.map(rowKey));
  return rows.filter((row) => !keys.has(rowKey(row)));
};

/** Runs under the lease of the team. */
async function send(
  context: LeasedContext,
  team: Team,
  { config }: Setup,
  request: ApplyRequest,
): Promise<SendResult> {
  const { rows } = request.file;
  const settings = reconcileSettings(config);
  const pushSettings = { ...settings.push, policy: settings.policy };
  const nothing = { used: null, isRefused: true };
  const leaveAll = (all: readonly Row[], reason: string) =>
    all.map(({ userId, field }) => ({ userId, field, reason }));
  const push = createPushContext(context, team);
  await settleIntents(push, pushSettings);
  const { used, answers } = await context.fenced((tx) => look(tx, team.id, config, request));
  if (used !== null) return { used, left: [], isRefused: false };
  const lost = answers.flatMap(({ userId, field, answer: found }) =>
    found === 'approved' ? [] : [{ userId, field, reason: sayAnswer[found] ?? found }],
  );
  const lasting = without(rows, lost);
  const exact = onlyReviewed(lasting);
  const { ofUsers } = await context.mirror.readAddresses(exact.ids);
  const askedAtMs = context.monotonicMs();
  const found = await lookAt(context, team, ofUsers);
  const seen = { ...found, states: found.states.map(exact.approved) };
  const planOf = (state: UserState) =>
    exact.only(planUser(state, seen.roster.members.get(state.id), settings.policy), state);
  const users = await planUsers(context, seen, settings, planOf);
  noteUnfound(seen, ofUsers, context.notes);
  const left = [...lost, ...leftOf(lasting, seen.states, users.plans)];
  if (request.isAllOrNothing && left.length > 0) return { ...nothing, left };
  const fit = without(rows, left);
  const { approved, isUndone } = await approveRows(context, team.id, config, request, fit);
  if (isUndone) return { ...nothing, left: leaveAll(without(rows, approved), sayOutcome(undefined)) };
  const passing = new Map(
    [...Map.groupBy(approved, ({ userId }) => userId)].map(([id, of]) => [id, of.map(({ field }) => field)]),
  );
  const plans = users.plans
    .map((plan) =>
      mapPushes(plan, (field, push) =>
        passing.get(plan.id)?.includes(field) === true ? push : { kind: 'wait' },
      ),
    )
    .filter(isPush);
  const fresh = { readAtMs: askedAtMs };
  await pushEdits({ ...push, users: seen.roster.users, approved: passing, fresh }, pushSettings, plans);
  return { used, left, isRefused: false };
}

/** The message for a row that was sent and whose arrival is not known. */
function sayOutcome(outcome: string | undefined): string {
  if (outcome === undefined || outcome === 'unsent') return 'edited meanwhile, or not sent in time';
  return outcome === 'unknown'
    ? 'nobody knows yet whether it arrived: the next run reads it back'
    : `the service did not take it (${outcome}): "musterd held" shows what becomes of it`;
}

/** @throws MusterdError `usage` for a file of another team, or for one's own edits with `push.fourEyes` */
export async function applyPlanFile(setup: Setup, request: ApplyRequest, watch: Watch): Promise<AppliedPlan> {
  const { config, mirror } = setup;
  const { file } = request;
  const teamId = await requireTeamId(setup);
  requireOurs(file, config, teamId);
  const { used, answers } = await mirror.db.transaction((tx) => look(tx, teamId, config, request));
  if (used !== null) return { run: null, used, sent: 0, left: [], isRefused: false };
  requireOtherEyes(answers);
  const kind = { config, command: 'apply', groups: [], mode: 'read-write' } as const;
  const { report, result } = await withRun(mirror.db, kind, watch, (context, team) =>
    send(context, team, setup, request),
  );
  if (result.used !== null || result.isRefused) return { run: report, sent: 0, ...result };
  const outcomes = await readPushed(mirror.db.kysely, report.runId);
  const late = without(file.rows, result.left).flatMap(({ userId, field }): readonly LeftRow[] => {
    const outcome = outcomes.get(rowKey({ userId, field }));
    return outcome === 'confirmed' ? [] : [{ userId, field, reason: sayOutcome(outcome) }];
  });
  const left = [...result.left, ...late];
  return { run: report, used: null, sent: file.rows.length - left.length, left, isRefused: false };
}
