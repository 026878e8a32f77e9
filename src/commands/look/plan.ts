import { isApprovable } from '../../model/user-plan.ts';
import { needDecision } from '../../model/edit-state.ts';
import { columnOf } from '../../model/fields.ts';
import { plural, printable } from '../../model/in-words.ts';
import { changesOf, type PlannedChange, shownHold, stateOf } from '../../model/user-changes.ts';
import type { HeldEdit, WaitingField } from '../../model/waiting.ts';
import { afterBatch } from '../../reconcile/guard/left-waiting.ts';
import { nameIn } from '../../reconcile/read/roster.ts';
import { type PlanReport, runPlan } from '../../runs/sync/reconcile-team.ts';
import { type Context, type ExitCode, exitCode } from '../context.ts';
import { ownerAdds } from '../../runs/four-eyes.ts';
import { type KnownPlan, readKnownPlan } from '../../runs/look/known-plan.ts';
import { watched } from '../progress.ts';
import { inMarkdown, printJson, printLine } from '../output.ts';
import { needsServiceAlone, withMirror } from '../setup.ts';
import { printChangesInMarkdown, printUserChanges } from '../show-user-changes.ts';
import { showTime } from '../../model/zone-time.ts';

interface PlanOptions {
  readonly exitCode?: boolean;
  readonly markdown?: boolean;
}

/** Shows what a run would do now, and writes nothing on either side. */
export async function planCommand(context: Context, options: PlanOptions): Promise<ExitCode> {
  return withMirror(
    context,
    async (setup) => {
      const { config, log, mirror } = setup;
      const known = await readKnownPlan(setup);
      if (known !== undefined) return showKnown(context, known, options);
      const report = await watched(context, log, (watch) => runPlan(mirror.db, config, watch));
      const changes = plannedChangesOf(report);
      if (context.json) printJson(context, planInJson(report, changes));
      else if (options.markdown === true) printMarkdown(context, report, changes);
      else printPlan(context, report, changes);
      if (report.notes.reasons.length > 0) return exitCode.partial;
      if (report.users.verdict.refused.length > 0) return exitCode.refused;
      if (report.users.verdict.reviewed.length > 0) return exitCode.waiting;
      const differs = changes.length > 0 || report.listings.some(({ added, changed }) => added + changed > 0);
      if (options.exitCode === true && differs) return exitCode.changes;
      return report.held > 0 ? exitCode.waiting : exitCode.ok;
    },
    needsServiceAlone,
  );
}

/** Shows a plan from the values that the last runs saw, because this login is not allowed to call the service. */
function showKnown(
  context: Context,
  { login, id, changes, isStopped }: KnownPlan,
  { markdown, exitCode: tellsChanges }: PlanOptions,
): ExitCode {
  const held = changes.filter((change) => change.state === 'held' && change.reason !== 'asked').length;
  const reason = `the service was not asked, because ${login} does not own the mirror: this is what the last runs saw, and the next run checks the limits`;
  if (context.json) {
    const [team, batches] = [{ id, name: null }, batchesOf(changes)];
    printJson(context, { team, complete: false, reasons: [reason], held, batches, changes });
  } else {
    printLine(context.out, `${markdown === true ? '# ' : ''}Team ${id}: ${plural(changes.length, 'change')}`);
    if (markdown === true) printChangesInMarkdown(context, changes);
    else printUserChanges(context, changes);
    if (held > 0) printLine(context.out, `held: ${heldInWords(held)}`);
    printLine(context.out, `note: ${printable(reason)}`);
  }
  if (isStopped) return exitCode.refused;
  if (tellsChanges === true && changes.some(({ change }) => change === 'push')) return exitCode.changes;
  return held > 0 ? exitCode.waiting : exitCode.ok;
}

/** All changes, sorted by user id, including those that the guard holds. */
export function plannedChangesOf(report: PlanReport): readonly PlannedChange[] {
  const { plans, verdict } = report.users;
  const edits = new Map(report.edits.map((edit) => [`${edit.userId} ${columnOf(edit.field)}`, edit]));
  const editOf = ({ user_id: id, field }: PlannedChange) => edits.get(`${id} ${field}`);
  const changes = [
    ...afterBatch(plans).flatMap((plan) => changesOf(plan, nameIn(report.users.look.roster, plan.id))),
    ...verdict.waiting.map(waitingChange),
  ].map((change) => (change.change === 'hold' ? withEdit(change, editOf(change)) : change));
  return changes.toSorted((a, b) => (a.user_id < b.user_id ? -1 : a.user_id > b.user_id ? 1 : 0));
}

/** Adds the batch, the editor and the time of the edit to a change whose field is held. */
function withEdit(change: PlannedChange, edit: HeldEdit | undefined): PlannedChange {
  if (edit === undefined) return change;
  const { batch, editedBy, editedAt } = edit;
  const by = editedBy === null ? '' : `, edited by ${editedBy}`;
  const when = editedAt === null ? '' : ` at ${showTime(editedAt)}`;
  const detail = [change.detail, `batch ${batch}${by}${when}`].filter(Boolean).join('; ');
  return { ...change, detail, batch, edited_by: editedBy, edited_at: editedAt };
}

/** The change of a field that is held by a limit on the whole run or by a review. */
function waitingChange({ userId, name, hold }: WaitingField): PlannedChange {
  const shown = shownHold(hold);
  return {
    user_id: userId,
    name,
    change: 'hold',
    field: columnOf(hold.field),
    base: hold.base ?? null,
    mirror: hold.mirror ?? null,
    service: hold.shown ?? hold.service ?? null,
    ...stateOf(shown),
    detail: shown.reason === hold.reason ? null : 'the service has changed it since it was held',
    batch: hold.batch ?? null,
    edited_by: null,
    edited_at: null,
  };
}

const heldInWords = (held: number) =>
  `${plural(held, 'field')} ${needDecision(held)}; "musterd held" lists what is held`;

const costInWords = ({ cost: { requests, seconds: of, perMinute } }: PlanReport) =>
  `pushing costs ${plural(requests, 'request')}, about ${of} s at ${Math.floor(perMinute)} a minute`;

function planInJson(report: PlanReport, changes: readonly PlannedChange[]): object {
  const { team, users, listings, notes, cost } = report;
  return {
    team: { id: team.id, name: team.name },
    complete: notes.reasons.length === 0,
    reasons: notes.reasons,
    warnings: notes.warnings,
    users: { read: users.look.roster.users.size, unresolved: users.look.roster.unresolved.length },
    limit: users.verdict.refused,
    review: users.verdict.reviewed,
    held: report.held + users.verdict.waiting.length,
    batches: batchesOf(changes),
    cost: { users: cost.users, requests: cost.requests, seconds: cost.seconds },
    changes,
    listings,
  };
}

export function printPlan(
  context: Pick<Context, 'out' | 'env'>,
  report: PlanReport,
  changes: readonly PlannedChange[],
): void {
  const { team, users, listings, notes } = report;
  const name = team.name === null ? '' : ` "${printable(team.name)}"`;
  printLine(
    context.out,
    `Team ${team.id}${name}: ${plural(users.look.roster.users.size, 'user')} read, ${plural(changes.length, 'change')}`,
  );
  printUserChanges(context, changes);
  if (report.cost.requests > 0) printLine(context.out, costInWords(report));
  printRefusal(context, report, changes);
  const wordOf = (resource: string) => resource.replace('_', ' ');
  const same: string[] = [];
  for (const { resource, added, changed, absent } of listings) {
    const words = `${wordOf(resource)}: ${added} to add, ${changed} to change, ${absent} missing`;
    if (added + changed + absent > 0) printLine(context.out, words);
    else same.push(wordOf(resource));
  }
  if (same.length > 0) printLine(context.out, `no change: ${same.join(', ')}`);
  for (const reason of notes.reasons) printLine(context.out, `not complete: ${printable(reason)}`);
  for (const warning of notes.warnings) printLine(context.out, `note: ${printable(warning)}`);
}

/** The batches that can be approved with "musterd approve". */
function batchesOf(changes: readonly PlannedChange[]): readonly string[] {
  const stopped = changes.filter(({ reason }) => isApprovable(reason));
  return [...new Set(stopped.flatMap(({ batch }) => batch ?? []))];
}

function printRefusal(
  context: Pick<Context, 'out' | 'env'>,
  report: PlanReport,
  changes: readonly PlannedChange[],
): void {
  for (const reason of report.users.verdict.refused)
    printLine(context.out, `held (limit): ${printable(reason)}`);
  for (const reason of report.users.verdict.reviewed)
    printLine(context.out, `held (review): ${printable(reason)}`);
  if (report.held > 0) printLine(context.out, `held: ${heldInWords(report.held)}`);
  const as = ownerAdds(context.env);
  for (const hash of batchesOf(changes))
    printLine(context.out, `Once a run holds it as this batch: musterd approve ${hash}${as} --reason …`);
}

/** Prints the plan as Markdown, with a section per user, for a ticket or a chat. */
function printMarkdown(context: Context, report: PlanReport, changes: readonly PlannedChange[]): void {
  const { team } = report;
  const line = (text: string) => printLine(context.out, text);
  line(`# Plan for team ${team.id} ${inMarkdown(team.name ?? '')}`.trimEnd());
  line('');
  line(`${plural(changes.length, 'change')}; ${costInWords(report)}.`);
  const refused = report.users.verdict.refused;
  const held = [...refused, ...report.users.verdict.reviewed];
  if (held.length > 0) {
    line('');
    const named = batchesOf(changes).map((hash) => `\`${hash}\``);
    const title = refused.length > 0 ? 'Held by the guard' : 'Held until a person approves';
    line(`**${title}**${named.length === 0 ? '' : ` (${named.join(', ')})`}:`);
    for (const reason of held) line(`- ${inMarkdown(reason)}`);
  }
  if (report.held > 0) {
    line('');
    line(`**Held**: ${heldInWords(report.held).replaceAll('"', '`')}.`);
  }
  printChangesInMarkdown(context, changes);
}
