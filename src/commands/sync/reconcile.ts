import { needDecision } from '../../model/edit-state.ts';
import type { Config } from '../../config/config.ts';
import { plural, printable, seconds } from '../../model/in-words.ts';
import { prepareSchema } from '../../runs/open.ts';
import { ownerAdds } from '../../runs/four-eyes.ts';
import { runReconcile } from '../../runs/sync/reconcile-team.ts';
import type { RunReport } from '../../runs/sync/run-record.ts';
import { inPlural } from '../../model/listed-resource.ts';
import { listedResources } from '../../model/listed-resources.ts';
import { type Context, type ExitCode, exitCode } from '../context.ts';
import { eachTeam } from './each-team.ts';
import { watched } from '../progress.ts';
import { paint, printJson, printLine } from '../output.ts';
import { needsService, withMirrorOf } from '../setup.ts';

/** Does one complete two-way run for each team. */
export async function reconcileCommand(context: Context): Promise<ExitCode> {
  return withMirrorOf(
    context,
    async ({ configuration: { teams }, log, mirror }) => {
      const [config, ...others] = teams;
      await prepareSchema(mirror.db, config);
      const work = (team: Config) =>
        watched(context, log, (watch) => runReconcile(mirror.db, team, 'reconcile', watch), 0);
      const print = (report: RunReport) => printReport(context, report);
      if (others.length > 0)
        return eachTeam(context, teams, { work, print, inJson: reportInJson, codeOf: exitCodeOf });
      const report = await work(config);
      if (context.json) printJson(context, reportInJson(report));
      else printReport(context, report);
      return exitCodeOf(report);
    },
    { before: needsService },
  );
}

/**
 * The exit code is 4 if this run reports edits that need an approval, as new or as a reminder; later runs end with 3.
 * A run of a mirror that has moved also ends with 3. A copy ends with 0, because nothing in it waits for a decision.
 */
export function exitCodeOf({
  outcome,
  waiting,
  refusal = null,
  sendBlock = null,
}: Pick<RunReport, 'outcome' | 'waiting'> & Partial<Pick<RunReport, 'refusal' | 'sendBlock'>>): ExitCode {
  if (outcome === 'refused') return refusal?.isNews === false ? exitCode.waiting : exitCode.refused;
  if (outcome !== 'complete') return exitCode.partial;
  if (refusal?.isNews === true) return exitCode.refused;
  if (sendBlock !== null) return sendBlock === 'copy' ? exitCode.ok : exitCode.waiting;
  return waiting > 0 ? exitCode.waiting : exitCode.ok;
}

function reportInJson({ runId, durationMs, refusal, batches, sendBlock, ...report }: RunReport): object {
  return {
    ...report,
    place: sendBlock ?? 'here',
    run_id: runId,
    batch: refusal === null ? null : (batches.at(-1) ?? null),
    duration_ms: durationMs,
  };
}

/** The short summary at the end of a run. */
export function printReport(context: Pick<Context, 'out' | 'env'>, report: RunReport): void {
  const { team, runId, groups, outcome, warnings, counts, held, requests, durationMs, refusal } = report;
  const reasons = report.reasons.filter((reason) => refusal?.reasons.includes(reason) !== true);
  const sumOf = (...kinds: (keyof typeof counts)[]) =>
    kinds.reduce((sum, kind) => sum + (counts[kind] ?? 0), 0);
  const line = (what: string, ...parts: readonly (readonly [number, string])[]) => {
    const shown = parts
      .filter(([count], index) => count > 0 || index === 0)
      .map(([count, word]) => `${count} ${word}`);
    printLine(context.out, `  ${what.padEnd(15)}${shown.join(', ')}`);
  };
  const style = outcome === 'complete' ? 'green' : 'yellow';
  const name = team.name === null ? '' : ` "${printable(team.name)}"`;
  printLine(
    context.out,
    `Team ${team.id}${name}: run ${runId} ${paint(context, style, outcome)} in ${seconds(durationMs)}, ${plural(requests, 'request')}`,
  );
  line(
    'users',
    [sumOf('users_read'), 'read'],
    [sumOf('adopted', 'returned'), 'adopted'],
    [sumOf('pulled'), 'pulled'],
    [sumOf('settled'), 'settled'],
    [sumOf('pushed'), 'pushed'],
    [sumOf('held'), 'newly held'],
    [sumOf('unknown'), 'unknown'],
    [sumOf('ineffective'), 'to no effect'],
    [sumOf('users_unresolved'), 'unresolved'],
    [sumOf('stale'), 'older than before'],
    [sumOf('missing'), 'missing'],
    [sumOf('gone'), 'gone'],
    [sumOf('deferred'), 'deferred'],
  );
  for (const resource of groups.includes('listings') ? listedResources : []) {
    const kind = resource.name;
    line(
      inPlural(resource),
      [sumOf(`${kind}_read`), 'read'],
      [sumOf(`${kind}_added`), 'added'],
      [sumOf(`${kind}_changed`), 'changed'],
      [sumOf(`${kind}_gone`), 'gone'],
    );
  }
  if (groups.includes('counts')) line('contact counts', [sumOf('contact_counts'), 'taken']);
  for (const reason of reasons)
    printLine(context.out, `  ${paint(context, 'yellow', 'not complete:')} ${printable(reason)}`);
  for (const warning of warnings)
    printLine(context.out, `  ${paint(context, 'yellow', 'note:')} ${printable(warning)}`);
  if (refusal !== null) printRefusal(context, refusal, report.batches);
  if (held > 0) {
    printLine(
      context.out,
      `  ${paint(context, 'yellow', `${plural(held, 'field')} ${needDecision(held)}`)}: see "musterd held"`,
    );
  }
}

function printRefusal(
  context: Pick<Context, 'out' | 'env'>,
  { reasons, users, stopped, isReview }: NonNullable<RunReport['refusal']>,
  batches: RunReport['batches'],
): void {
  const line = (text: string) => printLine(context.out, `  ${text}`);
  // The counts can include pushes of an earlier run, whose outcome was read first. So the text says "nothing new".
  const what = stopped
    ? 'the run stopped: nothing was pulled, and nothing new was sent'
    : 'the run continued with other changes';
  for (const reason of reasons)
    line(`${paint(context, 'yellow', isReview ? 'held (review):' : 'held (limit):')} ${printable(reason)}`);
  if (batches.length === 0) {
    line(`Limits on single fields hold them; ${what}`);
    return;
  }
  const as = ownerAdds(context.env);
  line(`Pushes to ${plural(users, 'user')} ${needDecision(2)}; ${what}`);
  for (const hash of batches)
    line(
      `Look at them with "musterd plan", then "musterd approve ${hash}${as} --reason …", or "musterd reject ${hash}${as}"`,
    );
}
