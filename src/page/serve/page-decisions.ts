/** Decisions on the page. The code of the commands carries them out, in the name of the person who logged in. */
import { MusterdError } from '../../errors.ts';
import type { PageFrame } from '../read/page-reader.ts';
import { type PageField, readHeldRows } from '../read/page-waiting.ts';
import { type PageWaiting, readWaitingView } from '../read/page-waiting-view.ts';
import { shownKey, type Verb } from '../render/decide.ts';
import { href } from '../render/links.ts';
import { confirmation } from '../render/question.ts';
import type { PageContext, PageShown } from '../render/view.ts';
import { waiting } from '../render/waiting-list.ts';
import { count } from '../render/words.ts';
import { approve, reject } from '../../runs/approve-batch.ts';
import { readField } from '../../runs/named-user.ts';
import { ownKey } from '../../model/waiting-page.ts';
import { resolveAll } from '../../runs/resolve-field.ts';
import { readDecisionForm, readReason, readTyped, requireReadable, type RowOfForm } from './decision-form.ts';
import {
  type CarryOut,
  type DecideOptions,
  type FormHandler,
  doneAt,
  type PostedForm,
  setupOf,
} from './deciding.ts';

/** The paths that they are posted to. */
export const decisionPatterns = ['/waiting', '/waiting/:batch'] as const;

/** The list that the form came from, as it is now. */
async function listAgain(
  { question, form }: PostedForm,
  frame: PageFrame,
  context: PageContext,
  {
    status,
    refusal,
    ticks = 'none',
  }: { readonly status: 400 | 409; readonly refusal: string; readonly ticks?: string },
): Promise<PageShown> {
  const back = form.get('back') ?? '';
  const [, search = ''] = back.split(/\?(.*)/s);
  const query = new URLSearchParams(search);
  if (back === '' && context.teams.length > 1) query.set('team', form.get('team') ?? '');
  query.set('ticks', ticks);
  const filter = { params: question.params, query, isCsv: false };
  const read = await readWaitingView(frame.reader, filter);
  return { ...waiting(read, { ...context, ...filter, path: question.path }, refusal), status };
}

/** Finds those of the shown rows that are not as they were. */
function movedIn(shown: readonly RowOfForm[], now: readonly PageField[], batch: string | undefined) {
  const asShown = new Set(now.filter((row) => batch === undefined || row.batch === batch).map(shownKey));
  return shown.filter(({ key }) => !asShown.has(key));
}

const movedWords = (moved: number, all: number): string =>
  all === 1
    ? 'The row was edited, or has moved on the service, while you looked. Look at it and press again.'
    : `${count(moved)} of the ${count(all)} rows ${moved === 1 ? 'was' : 'were'} edited, or moved on the service, while you looked. The other ${count(all - moved)} are ticked below, ${moved === 1 ? 'that one is' : `the ${count(moved)} are`} marked; look at them and press again.`;

/** The verbs of a batch. The others are about fields that are decided about one by one. */
const ofBatch: ReadonlySet<Verb> = new Set(['Approve', 'Reject', 'Withdraw']);

/** Rows of the list that somebody else has to approve, if the verb sends their values. */
const ownLeftOut = (verb: Verb, { lists, own }: PageWaiting): readonly PageField[] =>
  verb === 'Approve' || verb === 'mirror'
    ? (lists[0]?.shown ?? []).filter((row) => own.has(ownKey(row)))
    : [];

/** A form, with the list that it came from as it is now. */
interface FormOfList extends ReturnType<typeof readDecisionForm> {
  readonly batch: string | undefined;
  readonly list: PageWaiting;
  /** The rows that are decided about. */
  readonly now: readonly PageField[];
  /** The number of rows of the list. */
  readonly total: number;
}

/** @throws MusterdError `usage` for a form that belongs to no list */
function readForm({ form, question }: PostedForm) {
  const { batch } = question.params;
  const decisionForm = readDecisionForm(form);
  // To withdraw an edit that no limit holds is to take what the service has.
  const verb = decisionForm.verb === 'Withdraw' && batch === undefined ? 'service' : decisionForm.verb;
  if (ofBatch.has(verb) !== (batch !== undefined) || (decisionForm.rows === null && batch === undefined))
    throw new MusterdError('usage', 'The form cannot be read: it is not of this list');
  return { ...decisionForm, verb, batch };
}

async function besideList(
  form: ReturnType<typeof readForm>,
  frame: PageFrame,
  { question }: PostedForm,
): Promise<FormOfList> {
  const { rows, state, batch } = form;
  const list = await readWaitingView(frame.reader, {
    params: question.params,
    query: new URLSearchParams({ state }),
    isCsv: false,
  });
  const [alone] = list.lists;
  const missing = batch === undefined ? undefined : list.missing[0]?.rows;
  const now = rows === null ? (alone?.shown ?? []) : await readHeldRows(frame.reader, rows);
  return { ...form, list, now, total: missing ?? alone?.rows ?? 0 };
}

const keysOf = ({ rows }: Pick<FormOfList, 'rows'>): readonly string[] => (rows ?? []).map(({ key }) => key);

/** The reason why nothing is decided, with the list and its ticks as they are now; `null` if it is as it was shown. */
function whatMoved(decisionForm: FormOfList) {
  const { rows, all, total, now, batch } = decisionForm;
  if (rows !== null) {
    const moved = movedIn(rows, now, batch).length;
    return moved === 0
      ? null
      : { refusal: movedWords(moved, rows.length), ticks: keysOf(decisionForm).join(',') };
  }
  if (total === all) return null;
  const refusal =
    total === 0 ? 'None of it waits any more.' : `It has ${count(total)} rows now, and not ${count(all)}.`;
  return { refusal, ticks: 'none' };
}

function ask(decisionForm: FormOfList, { question, config }: PostedForm, context: PageContext): PageShown {
  const { verb, rows, all, state, back, list, now, total } = decisionForm;
  const keys = keysOf(decisionForm);
  const [path, search] = (/^\/waiting\b/.test(back) ? back : question.path).split(/\?(.*)/s);
  const query = new URLSearchParams(search);
  return confirmation(context, {
    verb,
    path: question.path,
    back: href({ path: path ?? '', query }, keys.length === 0 ? {} : { ticks: keys.join(',') }),
    rows: now,
    number: rows === null ? total : now.length,
    all: verb === 'Withdraw' ? now.length : Math.max(total, now.length),
    state,
    own: ownLeftOut(verb, list),
    sending: list.sending,
    values: {
      verb,
      team: config.team,
      state,
      rows: String(all),
      back,
      ...(rows === null ? {} : { ticks: 'on' }),
      row: keys,
    },
  });
}

/** Carries out what was confirmed: fields are resolved one by one, a batch is decided about as a whole. */
function carryOut(
  { verb, rows, all, batch, now }: FormOfList,
  options: DecideOptions,
  posted: PostedForm,
  context: PageContext,
): CarryOut {
  const { form } = posted;
  const why = readReason(form);
  const actor = context.decide?.actor;
  const { setup } = setupOf(options, posted);
  if (verb === 'mirror' || verb === 'service' || verb === 'value') {
    const resolutions = (rows ?? []).map(({ userId: id, field: column, key }) => {
      const field = readField(column);
      const seen = { kind: 'shown', digest: key.slice(-12) } as const;
      return { id, field, take: readTyped(form, verb, field), seen, why, actor };
    });
    return async () => {
      return doneAt((await resolveAll(setup, resolutions)).decision);
    };
  }
  return async () => {
    const edits = now.flatMap(({ editId }) => (editId === null ? [] : [editId]));
    const chosen = rows === null ? { edits: null, rows: all } : { edits, rows: null };
    const choice = { batch: batch ?? '', only: null, ...chosen, why, actor };
    const decided =
      verb === 'Approve'
        ? await approve(setup, choice)
        : await reject(setup, { ...choice, revert: verb === 'Withdraw' });
    return 'fields' in decided ? doneAt(decided.decision) : '/waiting?note=missing';
  };
}

const prepare: FormHandler['prepare'] = async (options, posted, frame, context) => {
  requireReadable(posted.form);
  const form = readForm(posted);
  if (form.rows?.length === 0) {
    const refusal = 'No row is ticked. Tick those that you want to decide.';
    return await listAgain(posted, frame, context, { status: 400, refusal });
  }
  const decisionForm = await besideList(form, frame, posted);
  const moved = whatMoved(decisionForm);
  if (moved !== null) return await listAgain(posted, frame, context, { status: 409, ...moved });
  return posted.form.get('confirmed') === null
    ? ask(decisionForm, posted, context)
    : carryOut(decisionForm, options, posted, context);
};

/** The list as it is by now, with the reason why the decision was refused after all. */
const refusedAfterAll: FormHandler['refusedAfterAll'] = async (posted, frame, context, why) => {
  const ticks = posted.form.getAll('row').join(',');
  return await listAgain(posted, frame, context, { status: 409, refusal: why, ticks });
};

/** Decides about what waits in lists. */
export const deciding: FormHandler = { tab: 'Waiting', prepare, refusedAfterAll };
