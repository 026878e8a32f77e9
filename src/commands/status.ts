import { readStatus, type TeamStatus } from '../mirror/read-status.ts';
import { requireSchema } from '../runs/open.ts';
import { type Context, type ExitCode, exitCode } from './context.ts';
import { printJson, printLine } from './output.ts';
import { plural, printable } from '../model/in-words.ts';
import { withMirrorOf } from './setup.ts';

/** How the mirror stands, read from the mirror alone. */
export async function statusCommand(context: Context): Promise<ExitCode> {
  return withMirrorOf(context, async ({ configuration: { teams }, mirror }) => {
    await requireSchema(mirror.db);
    const all: TeamStatus[] = [];
    for (const { team } of teams) all.push(await readStatus(mirror.db.kysely, team));
    if (context.json) {
      const [first, ...others] = all.map(statusInJson);
      printJson(context, others.length === 0 ? first : [first, ...others]);
      return exitCode.ok;
    }
    for (const [at, status] of all.entries()) {
      if (at > 0) printLine(context.out, '');
      printStatus(context, status, at === all.length - 1 ? mirror.psqlCommand : null);
    }
    return exitCode.ok;
  });
}

function planInJson({ hash, reasons, pushes, made_at }: NonNullable<TeamStatus['waitingPlan']>): object {
  return { hash, reasons, users: pushes.length, made_at };
}

function statusInJson(status: TeamStatus): object {
  const { teamId, lastAttempt, lastSuccess, openPushes, waitingPlan, ...rest } = status;
  return {
    ...rest,
    waiting_plan: waitingPlan === null ? null : planInJson(waitingPlan),
    team_id: teamId,
    last_attempt: lastAttempt,
    last_success: lastSuccess,
    open_pushes: openPushes,
  };
}

function when(date: Date | null | undefined): string {
  return date === null || date === undefined ? 'never' : date.toISOString().replace(/\.\d+Z$/, 'Z');
}

const withheldLine = ({ resource, reason, hash }: TeamStatus['withheld'][number]) =>
  `${resource.replace('_', ' ')}: ${reason}; musterd approve ${hash} --reason …`;

/** What the guard refused, and what to do about it. */
function planLines({
  hash,
  reasons,
  pushes,
  lacking,
  made_at,
}: NonNullable<TeamStatus['waitingPlan']>): readonly string[] {
  const way =
    pushes.length === 0 && lacking.length === 0
      ? 'nothing of it is to be approved'
      : `pushes to ${plural(pushes.length, 'user')} wait since ${when(made_at)}; musterd approve ${hash} --reason …`;
  return [way, ...reasons];
}

function tally(counts: Readonly<Record<string, number>>): string {
  const parts = Object.entries(counts).map(([word, count]) => `${count} ${word}`);
  return parts.length === 0 ? 'none' : parts.join(', ');
}

function printStatus(context: Context, status: TeamStatus, psqlCommand: string | null): void {
  const line = (what: string, value: string) =>
    printLine(context.out, `${what.padEnd(18)}${printable(value)}`);
  const { lastAttempt, lastSuccess, running, rows } = status;
  line(
    'team',
    status.teamId === null ? `"${status.team}", not seen yet` : `${status.teamId} "${status.name ?? ''}"`,
  );
  line(
    'last success',
    lastSuccess === null ? 'never' : `${when(lastSuccess.finished_at)} (run ${lastSuccess.run_id})`,
  );
  line(
    'last attempt',
    lastAttempt === null
      ? 'never'
      : `${when(lastAttempt.started_at)} (run ${lastAttempt.run_id}, ${lastAttempt.outcome})`,
  );
  for (const reason of lastAttempt?.reasons ?? []) line('', reason);
  line(
    'running now',
    running === null ? 'no' : `process ${running.pid} on ${running.host} since ${when(running.since)}`,
  );
  line('users', `${rows.users} present, ${rows.unresolved} of them unresolved; ${rows.gone} gone`);
  line('tags', String(rows.tags));
  line('contact fields', String(rows.contact_fields));
  for (const { segment, count, counted_at } of status.counts)
    line(`contacts ${segment}`, `${count} at ${when(counted_at)}`);
  line('pending edits', tally(status.pending));
  line('held fields', tally(status.held));
  const refused = status.waitingPlan === null ? [] : planLines(status.waitingPlan);
  for (const [index, text] of refused.entries()) line(index === 0 ? 'refused plan' : '', text);
  for (const absence of status.withheld) line('not called gone', withheldLine(absence));
  if (status.openPushes > 0) line('open pushes', `${plural(status.openPushes, 'outcome')} not known yet`);
  if (psqlCommand !== null) line('psql', psqlCommand);
}
