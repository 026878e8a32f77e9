import { MusterdError } from '../../errors.ts';
import { type PlannedChange, changesOf } from '../../model/user-changes.ts';
import { nameIn } from '../../reconcile/read/roster.ts';
import { planResync, type ResyncReport, runResync } from '../../runs/sync/resync-team.ts';
import { type Context, type ExitCode, exitCode } from '../context.ts';
import { watched } from '../progress.ts';
import { paint, printJson, printLine } from '../output.ts';
import { plural, printable } from '../../model/in-words.ts';
import { exitCodeOf } from './reconcile.ts';
import { printUserChanges } from '../show-user-changes.ts';
import { needsService, withMirror } from '../setup.ts';

/** Takes all users from the service. Edits in the mirror that the service does not have are held for a person. */
export async function resyncCommand(
  context: Context,
  options: { readonly adoptService?: boolean; readonly apply?: boolean },
): Promise<ExitCode> {
  if (options.adoptService !== true) {
    throw new MusterdError('usage', 'Missing side: give --adopt-service', {
      hint: '"musterd resync --adopt-service" shows what would change if the mirror took all users from the service, and held each edit that the service does not have. --apply makes these changes. Nothing is sent.',
    });
  }
  return withMirror(
    context,
    async ({ config, log, mirror }) => {
      const work = options.apply === true ? runResync : planResync;
      const report = await watched(context, log, (watch) => work(mirror.db, config, watch));
      // A resync does not mark missing users as gone, so they are not among the changes.
      const changes = report.plans
        .filter((plan) => plan.case !== 'missing')
        .flatMap((plan) => changesOf(plan, nameIn(report.roster, plan.id)));
      if (context.json) printJson(context, inJson(report, changes));
      else print(context, report, changes);
      const complete = report.notes.reasons.length === 0;
      if (report.run === null) return complete ? exitCode.ok : exitCode.partial;
      return exitCodeOf(report.run);
    },
    needsService,
  );
}

function inJson(
  { team, roster, notes, openPushes, run }: ResyncReport,
  changes: readonly PlannedChange[],
): object {
  return {
    team: { id: team.id, name: team.name },
    run_id: run?.runId ?? null,
    applied: run !== null && notes.refusal === null,
    complete: notes.reasons.length === 0,
    reasons: notes.reasons,
    limit: notes.refusal?.reasons ?? [],
    warnings: notes.warnings,
    users: { read: roster.users.size, unresolved: roster.unresolved.length },
    open_pushes: openPushes,
    waiting: run?.waiting ?? null,
    changes,
  };
}

function print(context: Context, report: ResyncReport, changes: readonly PlannedChange[]): void {
  const { roster, notes, openPushes, run } = report;
  for (const reason of notes.refusal?.reasons ?? [])
    printLine(context.err, `${paint(context, 'yellow', 'stopped by the guard:')} ${printable(reason)}`);
  if (notes.refusal !== null) return;
  const read = `${plural(roster.users.size, 'user')} read, ${plural(changes.length, 'change')}`;
  const done = run === null ? 'nothing is written yet: --apply does this' : `run ${run.runId}`;
  printLine(context.err, `Taking everything from the service: ${read}; ${done}`);
  if (openPushes > 0)
    printLine(
      context.err,
      `${plural(openPushes, 'push', 'pushes')} without a known outcome: a run reads them back first, and resync never sends them again`,
    );
  for (const reason of notes.reasons)
    printLine(context.err, `${paint(context, 'yellow', 'not complete:')} ${printable(reason)}`);
  for (const warning of notes.warnings)
    printLine(context.err, `${paint(context, 'yellow', 'note:')} ${printable(warning)}`);
  printUserChanges(context, changes);
}
