import { readBytes } from '../files/read-table.ts';
import { columnOf } from '../model/fields.ts';
import { plural, printable } from '../model/in-words.ts';
import { type AppliedPlan, applyPlanFile } from '../runs/apply-plan.ts';
import { requireTeamId } from '../runs/named-user.ts';
import { type PlanFile, readPlanFile } from '../runs/plan-file.ts';
import { confirmationOf } from './confirmation.ts';
import { type Context, type ExitCode, exitCode } from './context.ts';
import { watched } from './progress.ts';
import { printJson, printLine } from './output.ts';
import { printTable } from './print-table.ts';
import { needsService, withMirror } from './setup.ts';

export interface ApplyOptions {
  readonly reason?: string;
  readonly as?: string;
  readonly allOrNothing?: boolean;
}

/** Sends exactly what the file of a plan says. */
export async function applyCommand(context: Context, options: ApplyOptions, path: string): Promise<ExitCode> {
  return withMirror(
    context,
    async (setup) => {
      await requireTeamId(setup);
      const file = await readPlanFile(setup, new TextDecoder().decode(await readBytes(path, context.signal)));
      const { actor, why = '' } = confirmationOf(context, options);
      const request = { file, actor, why, isAllOrNothing: options.allOrNothing === true };
      const applied = await watched(context, setup.log, (watch) => applyPlanFile(setup, request, watch));
      if (context.json) printJson(context, inJson(applied, file));
      else print(context, applied, file);
      return codeOf(applied);
    },
    needsService,
  );
}

function codeOf({ run, used, left, isRefused }: AppliedPlan): ExitCode {
  if (used !== null || isRefused) return exitCode.refused;
  // Each of these has its reason already, so that it would say nothing more that the run was not complete.
  if (left.length > 0) return exitCode.waiting;
  return run?.outcome === 'complete' ? exitCode.ok : exitCode.partial;
}

/** The rows that were left, with the names in the file. */
function leftRows({ left }: AppliedPlan, { rows }: PlanFile) {
  const names = new Map(rows.map(({ userId, name }) => [userId, name]));
  return left.map(({ userId, field, reason }) => ({
    user_id: userId,
    name: names.get(userId) ?? '',
    field: columnOf(field),
    reason,
  }));
}

const whyNot = ({ used, isRefused }: AppliedPlan): string | null => {
  if (used !== null)
    return `this plan was applied already, at ${used.at.toISOString()} by ${used.by}: nothing is sent`;
  return isRefused ? 'nothing is sent: not all of it is as it was' : null;
};

function inJson(applied: AppliedPlan, file: PlanFile): object {
  const { run, used, sent } = applied;
  return {
    hash: file.hash,
    run_id: run?.runId ?? null,
    outcome: run?.outcome ?? null,
    reasons: run?.reasons ?? [],
    rows: file.rows.length,
    sent,
    left: leftRows(applied, file),
    applied_before: used,
    why: whyNot(applied),
  };
}

function print(context: Context, applied: AppliedPlan, file: PlanFile): void {
  const { run, sent } = applied;
  const refusal = whyNot(applied);
  if (refusal !== null) printLine(context.err, refusal);
  else
    printLine(
      context.out,
      `Plan ${file.hash}: ${sent} of ${plural(file.rows.length, 'field')} sent, in run ${run?.runId}`,
    );
  const left = leftRows(applied, file);
  if (left.length > 0)
    printTable(
      context,
      ['user', 'name', 'left', 'why'],
      left.map(({ user_id, name, field, reason }) => [user_id, name, field, reason]),
    );
  for (const reason of run?.reasons ?? []) printLine(context.err, `not complete: ${printable(reason)}`);
}
