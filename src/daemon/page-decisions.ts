/** Decisions on the page: confirmed once, then carried out by the code of the commands, in the name of who logged in. */
import type { Config } from '../config/config.ts';
import { MusterdError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { PageFrame } from '../mirror/page-reader.ts';
import { type PageField, readHeldField } from '../mirror/page-waiting.ts';
import { readWaitingBatch } from '../mirror/page-waiting-view.ts';
import { isCopy } from '../page/banner.ts';
import { readFourEyes } from '../mirror/pinned-teams.ts';
import { columnOf } from '../model/field-values.ts';
import {
  batchQuestion,
  confirmation,
  digestOfShown,
  mayDecide,
  namedField,
  namedRows,
  refusedPage,
  takeQuestion,
  whyBarred,
} from '../page/decide.ts';
import { fieldName } from '../page/hold-words.ts';
import { type Fate, numberIn, type Receipt } from '../page/receipt.ts';
import type { PageContext, PageShown } from '../page/view.ts';
import { many } from '../page/words.ts';
import { approve, type DecidedBatch, type DecidedRows, reject } from '../runs/approve-batch.ts';
import { readField } from '../runs/named-user.ts';
import type { Mirror } from '../runs/open.ts';
import { resolve } from '../runs/resolve-field.ts';
import type { PageQuestion } from '../status/page-routes.ts';
import {
  type BatchForm,
  readBatchForm,
  readFieldForm,
  readReason,
  readTyped,
  readUserId,
  requireReadable,
} from './decision-form.ts';

/** By the path that they are posted to. */
export const decisionPatterns = ['/waiting/:batch', '/waiting/:team/:id/:field'] as const;

export interface DecideOptions {
  readonly mirror: Mirror;
  readonly log: Log;
  readonly configs: () => readonly Config[];
}

interface Posted {
  readonly question: PageQuestion;
  readonly form: URLSearchParams;
  readonly config: Config;
}

/** A decision that was confirmed and is about what was shown. @throws MusterdError if it is about something else after all */
export type CarryOut = () => Promise<Receipt>;

/** How long a page waits for the lease, shorter than a command; then the person is asked to try again. */
const waitMs = 3_000;

const setupOf = ({ mirror, log }: DecideOptions, { config }: Posted) => ({
  setup: { config, log, mirror },
  leased: { team: config.team, lease: { ...config.lease, waitMs } },
});

/** Four eyes may have been asked for elsewhere: a command can do so, too. */
async function requireKnownName(options: DecideOptions, { question, config }: Posted): Promise<void> {
  if (question.isKnown) return;
  if ((await readFourEyes(options.mirror.db.kysely, config.team)) === true)
    throw new MusterdError('usage', whyBarred);
}

function receiptOf(decided: DecidedBatch | DecidedRows): Receipt {
  if (decided.of !== 'fields') return new Map([['missing', decided.approved], ...numberIn(decided)]);
  const fates = decided.fields.map(
    ({ outcome }): Fate => (outcome === 'on its way' ? 'on-its-way' : outcome),
  );
  return new Map([
    ...[...Map.groupBy(fates, (fate) => fate)].map(([fate, all]) => [fate, all.length] as const),
    ...numberIn(decided),
  ]);
}

interface BatchNow {
  readonly rows: readonly PageField[];
  readonly all: number;
  readonly unit: string;
}

async function readBatchNow(frame: PageFrame, question: PageQuestion): Promise<BatchNow> {
  const waiting = await readWaitingBatch(frame.reader, question);
  const [batch] = waiting?.batches ?? [];
  const [missing] = waiting?.missing ?? [];
  return {
    rows: waiting?.rows ?? [],
    all: batch?.rows ?? missing?.rows ?? 0,
    unit: batch === undefined ? 'missing row' : 'row',
  };
}

/** Why it cannot be decided about as it was shown; `null`: it can. */
function whatMoved({ edits, rows }: BatchForm, now: BatchNow): string | null {
  if (now.all === 0) return 'None of it waits any more';
  if (edits === null)
    return now.all === rows ? null : `The batch has ${many(now.all, now.unit)} now, and not ${rows}`;
  const inBatch = new Set(now.rows.map(({ editId }) => editId));
  const others = edits.filter((edit) => !inBatch.has(edit));
  return others.length === 0
    ? null
    : `${others.length} of the ${many(edits.length, 'edit')} ${others.length === 1 ? 'is' : 'are'} not in this batch any more`;
}

async function prepareBatch(
  options: DecideOptions,
  posted: Posted,
  frame: PageFrame,
  context: PageContext,
): Promise<PageShown | CarryOut> {
  const { form, question, config } = posted;
  const read = readBatchForm(form);
  const { verb, edits, rows } = read;
  if (edits?.length === 0)
    return refusedPage(context, {
      status: 400,
      message: 'No row has a tick',
      hint: 'Go back, and tick those that are meant.',
    });
  const now = await readBatchNow(frame, question);
  const moved = whatMoved(read, now);
  if (moved !== null)
    return refusedPage(context, {
      status: 409,
      message: moved,
      ...(now.rows.length === 0 ? {} : { now: namedRows(context, now.rows, now.all) }),
    });
  const isChosen = new Set(edits);
  const chosen =
    edits === null ? now.rows : now.rows.filter(({ editId }) => editId !== null && isChosen.has(editId));
  const number = edits === null ? now.all : chosen.length;
  if (form.get('confirmed') === null)
    return confirmation(context, {
      ...batchQuestion(verb, { path: question.path, all: now.all, chosen: number, unit: now.unit }),
      shown: namedRows(context, chosen, number),
      values: [
        ['verb', verb],
        ['team', config.team],
        ['rows', String(rows)],
        ...(edits === null ? [] : [['ticks', 'on'] as const]),
        ...(edits ?? []).map((edit) => ['edit', edit.toString()] as const),
      ],
      asksFor: null,
    });
  const why = readReason(form);
  const actor = context.decide?.actor;
  return async () => {
    await requireKnownName(options, posted);
    const { setup, leased } = setupOf(options, posted);
    const batch = question.params['batch'] ?? '';
    const choice = { batch, only: null, edits, rows: edits === null ? rows : null, why, actor };
    const decided =
      verb === 'Reject'
        ? await reject(setup, leased, { ...choice, revert: false })
        : await approve(setup, leased, choice);
    return receiptOf(decided);
  };
}

async function prepareField(
  options: DecideOptions,
  posted: Posted,
  frame: PageFrame,
  context: PageContext,
): Promise<PageShown | CarryOut> {
  const { form, question } = posted;
  const id = readUserId(question.params['id'] ?? '');
  const field = readField(question.params['field'] ?? '');
  const column = columnOf(field);
  const { take, digest } = readFieldForm(form);
  const row = await readHeldField(frame.reader, id, column);
  if (row === null) return refusedPage(context, { status: 409, message: 'It does not wait any more' });
  if (digestOfShown(row) !== digest)
    return refusedPage(context, {
      status: 409,
      message: `The ${fieldName(column)} of ${id} is not as it was shown`,
      hint: 'Look at it again, and decide about what is there now.',
      now: namedField(context, row),
    });
  if (form.get('confirmed') === null)
    return confirmation(context, {
      ...takeQuestion(question.path, { id: id.toString(), field: column, take }),
      shown: namedField(context, row),
      values: [
        ['take', take],
        ['digest', digest],
      ],
      asksFor:
        take === 'value'
          ? `The ${fieldName(column)} that is to stand${field === 'name' ? ', as first | last' : ''}`
          : null,
    });
  const why = readReason(form);
  const chosen = readTyped(form, take, field);
  const actor = context.decide?.actor;
  return async () => {
    await requireKnownName(options, posted);
    const { setup, leased } = setupOf(options, posted);
    const seen = { kind: 'shown', digest } as const;
    const resolution = { field, take: chosen, seen, why, actor };
    const { waits, decision } = await resolve(setup, leased, id.toString(), resolution);
    const fate = take === 'value' ? (waits ? 'edited-waits' : 'edited') : take;
    return new Map([[fate, 1], ...numberIn({ decision })]);
  };
}

/**
 * @returns a page that asks for confirmation, or says why nothing is decided; or else what carries out the decision
 */
export async function prepareDecision(
  options: DecideOptions,
  question: PageQuestion,
  frame: PageFrame,
  context: PageContext,
): Promise<PageShown | CarryOut> {
  const { form = new URLSearchParams() } = question;
  const team = question.params['team'] ?? form.get('team');
  const config = options.configs().find((one) => one.team === team);
  if (isCopy(context))
    return refusedPage(context, {
      status: 403,
      message: 'Nothing is decided in a copy',
      hint: 'Whatever is approved here would not be sent.',
    });
  if (config === undefined || context.decide === null)
    return refusedPage(context, {
      status: 403,
      message: 'Nothing can be decided here',
      hint: 'The daemon of this page does not serve that team.',
    });
  if (!mayDecide(context, config.team))
    return refusedPage(context, {
      status: 403,
      message: whyBarred,
      hint: 'With status.user and status.passwordFile the page knows who decides.',
    });
  const posted = { question, form, config };
  const prepare = question.pattern === decisionPatterns[0] ? prepareBatch : prepareField;
  try {
    requireReadable(form);
    return await prepare(options, posted, frame, context);
  } catch (error) {
    if (!(error instanceof MusterdError)) throw error;
    return refusedPage(context, { status: 400, message: error.message, hint: error.hint });
  }
}

/** What refused a decision that was to be carried out, and what it is about by now. */
export async function refusedAfterAll(
  question: PageQuestion,
  frame: PageFrame,
  context: PageContext,
  { message, hint }: MusterdError,
): Promise<PageShown> {
  const { id, field = '' } = question.params;
  const refusal = { status: 409, message, hint } as const;
  if (id === undefined) {
    const { rows, all } = await readBatchNow(frame, question);
    return refusedPage(
      context,
      rows.length === 0 ? refusal : { ...refusal, now: namedRows(context, rows, all) },
    );
  }
  const row = await readHeldField(frame.reader, readUserId(id), field);
  return refusedPage(context, row === null ? refusal : { ...refusal, now: namedField(context, row) });
}
