import { MusterdError } from '../errors.ts';
import type { UserPlan } from '../model/change.ts';
import type { Id } from '../model/id.ts';
import { readable } from '../model/user.ts';
import { planResync, type ResyncReport, runResync } from '../runs/resync-team.ts';
import { type Context, type ExitCode, exitCode } from './context.ts';
import { columnOf, showValue } from '../model/field-values.ts';
import { tellOfWait } from './lease-wait.ts';

import { paint, printJson, printLine, printTable } from './output.ts';
import { plural, printable } from '../model/in-words.ts';
import { createProgress } from './progress.ts';
import { exitCodeOf } from './reconcile.ts';
import { needsService, withMirror } from './setup.ts';

/** One thing that taking everything does to one user, as it is shown and as `--json` gives it. */
interface Taken {
  readonly user_id: Id;
  readonly name: string;
  readonly change: 'adopt' | 'return' | 'pull' | 'settle' | 'hold';
  readonly field: string | null;
  readonly base: unknown;
  readonly mirror: unknown;
  readonly service: unknown;
  readonly reason: string | null;
}

/** Takes all users from the service; edits of the mirror that are not there yet wait for a person. */
export async function resyncCommand(
  context: Context,
  options: { readonly adoptService?: boolean; readonly apply?: boolean },
): Promise<ExitCode> {
  if (options.adoptService !== true) {
    throw new MusterdError('usage', 'resync needs to be told which side is to be believed', {
      hint: '"musterd resync --adopt-service" shows what it would be to take every user from the service and to hold all edits of the mirror that are not there yet; with --apply it is done. Nothing is ever sent.',
    });
  }
  return withMirror(
    context,
    async ({ config, log, mirror }) => {
      const progress = createProgress(context);
      const onWait = tellOfWait(context, config.lease.waitMs);
      const { waitMs } = config.lease;
      const watch = { log, onEvent: progress.onEvent, signal: context.signal, waitMs, onWait };
      const work = options.apply === true ? runResync : planResync;
      const report = await work(mirror.db, config, watch).finally(progress.close);
      const changes = report.plans.flatMap((plan) => takenOf(plan, report));
      if (context.json) printJson(context, inJson(report, changes));
      else print(context, report, changes);
      const complete = report.notes.reasons.length === 0;
      if (report.run === null) return complete ? exitCode.ok : exitCode.partial;
      return exitCodeOf(report.run);
    },
    needsService,
  );
}

function takenOf({ id, presence, moves, holds, write }: UserPlan, report: ResyncReport): readonly Taken[] {
  const { users, members } = report.roster;
  const common = { user_id: id, name: readable(users.get(id)?.name) ?? members.get(id)?.name ?? '' };
  const none = { field: null, base: null, mirror: null, service: null, reason: null };
  const whole: readonly Taken[] =
    (presence === 'adopt' || presence === 'return') && write !== null
      ? [{ ...common, ...none, change: presence }]
      : [];
  const moved = moves.flatMap(({ kind, field, base, mirror, service }): readonly Taken[] =>
    kind === 'push'
      ? []
      : [{ ...common, change: kind, field: columnOf(field), base, mirror, service, reason: null }],
  );
  const held = holds.map(
    ({ field, reason, detail, base, mirror, service }): Taken => ({
      ...common,
      change: 'hold',
      field: columnOf(field),
      base,
      mirror,
      service,
      reason: `${reason}: ${detail}`,
    }),
  );
  return [...whole, ...moved, ...held];
}

function inJson({ team, roster, notes, openPushes, run }: ResyncReport, changes: readonly Taken[]): object {
  return {
    team: { id: team.id, name: team.name },
    run_id: run?.runId ?? null,
    applied: run !== null && notes.refusal === null,
    complete: notes.reasons.length === 0,
    reasons: notes.reasons,
    refused: notes.refusal?.reasons ?? [],
    warnings: notes.warnings,
    users: { read: roster.users.size, unresolved: roster.unresolved.length },
    open_pushes: openPushes,
    waiting: run?.waiting ?? null,
    changes,
  };
}

function print(context: Context, report: ResyncReport, changes: readonly Taken[]): void {
  const { roster, notes, openPushes, run } = report;
  for (const reason of notes.refusal?.reasons ?? [])
    printLine(context.err, `${paint(context, 'yellow', 'refused by the guard:')} ${printable(reason)}`);
  if (notes.refusal !== null) return;
  const read = `${plural(roster.users.size, 'user')} read, ${plural(changes.length, 'change')}`;
  const done = run === null ? 'nothing is written yet: --apply does this' : `run ${run.runId}`;
  printLine(context.err, `Taking everything from the service: ${read}; ${done}`);
  if (openPushes > 0)
    printLine(
      context.err,
      `${plural(openPushes, 'push', 'pushes')} without a known outcome: read back first, never sent again by this`,
    );
  for (const reason of notes.reasons)
    printLine(context.err, `${paint(context, 'yellow', 'not complete:')} ${printable(reason)}`);
  for (const warning of notes.warnings)
    printLine(context.err, `${paint(context, 'yellow', 'note:')} ${printable(warning)}`);
  if (changes.length === 0) return;
  printTable(
    context,
    ['user', 'name', 'change', 'field', 'mirror', 'service', 'why'],
    changes.map(({ user_id, name, change, field, mirror, service, reason }) =>
      field === null
        ? [user_id, name, change, null, null, null, reason]
        : [user_id, name, change, field, showValue(mirror), showValue(service), reason],
    ),
  );
}
