import { adviceOn, placeInJson, placeInWords, type Placing } from '../../model/place.ts';
import { namesInWords } from '../../model/intent.ts';
import type { ShownConnection } from '../../runs/open.ts';
import { loginAdds } from '../../runs/four-eyes.ts';
import { readStatusOf, type TeamStatus } from '../../runs/look/status-of-teams.ts';
import { batchInWords, type HeldBatch } from '../../model/waiting.ts';
import { inPlural } from '../../model/listed-resource.ts';
import { listedResources } from '../../model/listed-resources.ts';
import { type Context, type ExitCode, exitCode } from '../context.ts';
import { printField, printJson, printLine } from '../output.ts';
import { editStates, holdReasons, needDecision } from '../../model/edit-state.ts';
import { plural } from '../../model/in-words.ts';
import { withMirrorOf } from '../setup.ts';
import { showTime } from '../../model/zone-time.ts';

/** Shows the state of the mirror, without a request to the service. */
export async function statusCommand(context: Context): Promise<ExitCode> {
  return withMirrorOf(context, async ({ configuration: { teams }, mirror }) => {
    const names = teams.map(({ team }) => team);
    const { placing, teams: all } = await readStatusOf(mirror.db, names);
    if (context.json) {
      const { url, psql } = mirror.reach;
      const [first, ...others] = all.map((status) => ({
        ...statusInJson(status),
        database: { url, psql },
        place: placeInJson(placing),
      }));
      printJson(context, others.length === 0 ? first : [first, ...others]);
      return exitCode.ok;
    }
    const as = await loginAdds(mirror.db, context.env);
    for (const [at, status] of all.entries()) {
      if (at > 0) printLine(context.out, '');
      printStatus(context, status, as);
    }
    printConnection(context, mirror.reach);
    printPlace(context, placing);
    return exitCode.ok;
  });
}

const batchInJson = ({ hash, reasons, users, since }: HeldBatch) => ({
  hash,
  reasons,
  users,
  made_at: since,
});

function statusInJson(status: TeamStatus): object {
  const { teamId, lastAttempt, lastSuccess, openPushes, batches, isNotedOnly, ...rest } = status;
  return {
    ...rest,
    batches: batches.map(batchInJson),
    team_id: teamId,
    last_attempt: lastAttempt,
    last_success: lastSuccess,
    open_pushes: openPushes,
    pending_noted_only: isNotedOnly,
  };
}

function when(date: Date | null | undefined): string {
  return showTime(date) || 'never';
}

const withheldLine = ({ resource, reason, hash }: TeamStatus['withheld'][number], as: string) =>
  `${resource.replace('_', ' ')}: ${reason}; musterd approve ${hash}${as} --reason …`;

/** The lines about a held batch: its size, the command that decides about it, and the reasons for the hold. */
function batchLines({ hash, reasons, users, since, isApproved }: HeldBatch, as: string): readonly string[] {
  const decide = isApproved ? 'approve' : 'resolve --batch';
  const more = isApproved ? '--reason …' : '--take mirror, or --take service';
  return [
    `${batchInWords(users)} ${needDecision(2)} since ${when(since)}; musterd ${decide} ${hash}${as} ${more}`,
    ...reasons,
  ];
}

function tally<Word extends string>(
  counts: Readonly<Partial<Record<Word, number>>>,
  say: (word: Word, count: number) => string,
): string {
  const parts = (Object.entries(counts) as [Word, number][]).map(
    ([word, count]) => `${count} ${say(word, count)}`,
  );
  return parts.length === 0 ? 'none' : parts.join(', ');
}

/** In a large team, status compares only users with a recorded edit, so it cannot exclude that more edits are pending. */
export function pendingLines({
  pending,
  isNotedOnly,
  lastSuccess,
}: Pick<TeamStatus, 'pending' | 'isNotedOnly' | 'lastSuccess'>): readonly string[] {
  const edits = tally(pending, (state, count) =>
    state === 'held' ? needDecision(count) : editStates[state],
  );
  if (!isNotedOnly) return [edits];
  const last =
    lastSuccess === null
      ? 'no run has compared all users yet'
      : `run ${lastSuccess.run_id} compared all users at ${when(lastSuccess.started_at)}`;
  return [
    `noted: ${edits}`,
    `without edits made with triggers off: ${last}, and report.pending compares them now`,
  ];
}

function printConnection(context: Context, { url, psql, stays }: ShownConnection): void {
  printField(context, 'database', url);
  printField(context, 'psql', psql);
  if (!stays) printField(context, '', 'as long as a daemon, or another command, keeps that server up');
}

function printPlace(context: Context, placing: Placing): void {
  printField(context, 'place', placeInWords(placing));
  const advice = adviceOn(placing);
  if (advice !== '') printField(context, '', advice);
}

function printRuns(context: Context, { lastAttempt, lastSuccess, incomplete, running }: TeamStatus): void {
  const line = (what: string, value: string) => printField(context, what, value);
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
  // A run of several groups has the same outcome and reasons for each of them.
  const others = incomplete.filter(({ run_id: run }) => run !== (lastAttempt?.run_id ?? null));
  for (const { group, outcome, last_success: at, reasons } of others)
    for (const [index, text] of [`${outcome}, last success: ${when(at)}`, ...reasons].entries())
      line(index === 0 ? `run of ${group}` : '', text);
  line(
    'running now',
    running === null ? 'no' : `process ${running.pid} on ${running.host} since ${when(running.since)}`,
  );
}

function printStatus(context: Context, status: TeamStatus, as: string): void {
  const line = (what: string, value: string) => printField(context, what, value);
  const { rows } = status;
  line(
    'team',
    status.teamId === null
      ? `"${status.team}", not seen yet`
      : `${status.team}: ${status.teamId} "${status.name ?? ''}"`,
  );
  printRuns(context, status);
  line('users', `${rows.users} present, ${rows.unresolved} of them unresolved; ${rows.gone} gone`);
  for (const resource of listedResources) line(inPlural(resource), String(rows[resource.name] ?? 0));
  for (const { segment, count, counted_at } of status.counts)
    line(`contacts ${segment}`, `${count} at ${when(counted_at)}`);
  for (const [index, text] of pendingLines(status).entries()) line(index === 0 ? 'pending edits' : '', text);
  line(
    'held fields',
    tally(status.held, (reason) => holdReasons[reason].words),
  );
  for (const batch of status.batches)
    for (const [index, text] of batchLines(batch, as).entries())
      line(index === 0 ? 'held in a batch' : '', text);
  for (const absence of status.withheld) line('missing', withheldLine(absence, as));
  line('names', namesInWords[status.names]);
  if (status.openPushes > 0) line('open pushes', `${plural(status.openPushes, 'outcome')} not known yet`);
}
