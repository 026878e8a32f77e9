import { readStatus, type TeamStatus } from '../mirror/status.ts';
import { requireSchema } from '../places.ts';
import { type Context, type ExitCode, exitCode } from './context.ts';
import { plural, printable, printJson, printLine } from './output.ts';
import { withMirror } from './setup.ts';

/** How the mirror stands, read from the mirror alone. */
export async function statusCommand(context: Context): Promise<ExitCode> {
  return withMirror(context, async ({ config, mirror }) => {
    await requireSchema(mirror.db);
    const status = await readStatus(mirror.db.kysely, config.team);
    if (context.json) printJson(context, statusInJson(status));
    else printStatus(context, status, mirror.psqlCommand);
    return exitCode.ok;
  });
}

function statusInJson({ teamId, lastAttempt, lastSuccess, openPushes, ...rest }: TeamStatus): object {
  return {
    ...rest,
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
  for (const absence of status.withheld) line('not called gone', withheldLine(absence));
  if (status.openPushes > 0) line('open pushes', `${plural(status.openPushes, 'outcome')} not known yet`);
  if (psqlCommand !== null) line('psql', psqlCommand);
}
