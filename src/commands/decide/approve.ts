import { MusterdError } from '../../errors.ts';
import { plural } from '../../model/in-words.ts';
import {
  approve,
  type DecidedBatch,
  type DecidedRows,
  reject,
  withdraw,
} from '../../runs/decide/approve-batch.ts';
import { confirmationOf } from '../confirmation.ts';
import { type Context, type ExitCode, exitCode } from '../context.ts';
import { printJson, printLine } from '../output.ts';
import { withMirror } from '../setup.ts';

export interface ApproveOptions {
  readonly only?: readonly string[];
  readonly reason?: string;
  readonly as?: string;
}

function choiceOf(context: Context, options: ApproveOptions, hash: string) {
  const { actor, why = '' } = confirmationOf(context, options);
  const only = options.only?.map((who) => who.trim()) ?? null;
  if (only?.includes('') === true)
    throw new MusterdError('usage', '--only needs a user: an id, an email, a phone number or a name', {
      hint: 'To name one field of a user, add it after a dot: 17.email.',
    });
  return { batch: hash.toLowerCase(), only, why, actor };
}

/** Approves edits that the guard holds, or confirms that missing rows are gone. */
export async function approveCommand(
  context: Context,
  options: ApproveOptions,
  hash: string,
): Promise<ExitCode> {
  const choice = choiceOf(context, options, hash);
  return withMirror(context, async (setup) => {
    const decided = await approve(setup, choice);
    if ('fields' in decided) return showBatch(context, decided, 'approve');
    showRows(context, decided);
    return exitCode.ok;
  });
}

/** Decides that the held edits of a batch are not sent. A later edit of the same field is not rejected by this. */
export async function rejectCommand(
  context: Context,
  { revert = false, ...options }: ApproveOptions & { readonly revert?: boolean },
  hash: string,
): Promise<ExitCode> {
  const choice = { ...choiceOf(context, options, hash), revert };
  return withMirror(context, async (setup) => {
    return showBatch(context, await reject(setup, choice), 'reject', revert);
  });
}

/** Withdraws the caller's own unsent edits. @returns 3 if some stay, for example because they are being sent */
export async function withdrawCommand(
  context: Context,
  options: Pick<ApproveOptions, 'reason' | 'as'>,
  hash: string | undefined,
): Promise<ExitCode> {
  const { actor, why = '' } = confirmationOf(context, options);
  return withMirror(context, async (setup) => {
    const fields = await withdraw(setup, { batch: hash?.toLowerCase(), why, actor });
    const left = fields.filter(({ outcome }) => outcome in staying);
    const [decision = null] = fields.map(({ decision_id }) => decision_id);
    const withdrawn = fields.length - left.length;
    if (context.json) printJson(context, { decision_id: decision, withdrawn, left });
    else {
      printLine(context.out, `${plural(withdrawn, 'field')} taken back${numbered(decision)}`);
      if (fields.length === 0)
        printLine(
          context.out,
          `You have no such unsent edit.${actor === undefined ? ' The owner must add --as <person>.' : ''}`,
        );
      printLeft(context, left);
    }
    return left.length > 0 ? exitCode.waiting : exitCode.ok;
  });
}

/** The number of the decision, for the end of the line that reports it. */
export const numbered = (decision: bigint | null): string =>
  decision === null ? '' : ` (decision ${decision})`;

function showRows(context: Context, { resource, decision, approved, waiting, rest }: DecidedRows): void {
  if (context.json) {
    printJson(context, { decision_id: decision, approved, rejected: 0, waiting });
    return;
  }
  printLine(
    context.out,
    `${approved} missing ${resource.replace('_', ' ')} approved, ${waiting} wait on${numbered(decision)}`,
  );
  printLine(context.out, 'The next complete run marks them as gone, if they are still missing.');
  if (rest !== null)
    printLine(context.out, `To approve the other rows too: musterd approve ${rest}, with the same options`);
}

/** For each outcome that leaves a field unchanged: the reason in words. */
const staying: Readonly<Partial<Record<DecidedBatch['fields'][number]['outcome'], string>>> = {
  moved: 'edited here or changed by the service since they were held. Run "musterd plan" to see them',
  ended: 'no longer edited: taken back, or the same on both sides',
  asked: 'held on request. After that hold they still wait in the batch',
  held: 'held for a reason that needs another decision. Run "musterd held" to see the command',
  'on its way': 'being sent, or of unknown outcome. The next run reads their outcome',
  gone: 'of users who have left',
};

/** True if the field still waits. It does not if its user left, its edit ended, or its approved edit is being sent. */
const isWaiting = ({ outcome }: DecidedBatch['fields'][number], verb: 'approve' | 'reject'): boolean =>
  outcome in staying &&
  outcome !== 'gone' &&
  outcome !== 'ended' &&
  (outcome !== 'on its way' || verb === 'reject');

function printLeft(context: Context, left: DecidedBatch['fields']): void {
  for (const [outcome, words] of Object.entries(staying)) {
    const count = left.filter((row) => row.outcome === outcome).length;
    if (count > 0) printLine(context.out, `Left as they are: ${plural(count, 'field')} ${words}.`);
  }
}

/** @returns 3 if a field of the decision still waits, or a rejected field might still reach the service */
function showBatch(
  context: Context,
  { decision, fields, waiting, batches: now }: DecidedBatch,
  verb: 'approve' | 'reject',
  revert = false,
): ExitCode {
  const withOutcome = (outcome: string) => fields.filter((row) => row.outcome === outcome);
  const usersWith = (outcome: string) => new Set(withOutcome(outcome).map(({ user_id }) => user_id)).size;
  const [approved, rejected] = [usersWith('approved'), usersWith('rejected')];
  const left = fields.filter(({ outcome }) => outcome in staying);
  const code = fields.some((row) => isWaiting(row, verb)) ? exitCode.waiting : exitCode.ok;
  if (context.json) {
    const batches = now.map(({ hash, users }) => ({ batch: hash, users }));
    const held = withOutcome('asked').length;
    printJson(context, {
      decision_id: decision,
      approved,
      rejected,
      waiting,
      held_on_request: held,
      left,
      batches,
    });
    return code;
  }
  const done =
    verb === 'reject' ? `${plural(rejected, 'user')} rejected` : `${plural(approved, 'user')} approved`;
  printLine(context.out, `${done}, ${waiting} wait on${numbered(decision)}`);
  printLeft(context, left);
  if (approved > 0)
    printLine(
      context.out,
      'The next run sends them if neither the edits nor the values of the service have changed by then.',
    );
  if (rejected > 0)
    printLine(
      context.out,
      revert
        ? 'The mirror is set back to the values that both sides last agreed on.'
        : 'They stay in the mirror, and are not sent until they are edited again.',
    );
  if (left.some((row) => isWaiting(row, 'approve')))
    printLine(
      context.out,
      now.length === 0
        ? 'No batch waits now. Run "musterd held" to see the fields that wait.'
        : `Batches that wait now: ${now.map(({ hash, users }) => `${plural(users, 'user')} in ${hash}`).join(', ')}.`,
    );
  return code;
}
