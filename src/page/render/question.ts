/** The page that asks once more before a decision. It shows what will happen, and the form that does it. */
import type { Id } from '../../model/id.ts';
import { printable } from '../../model/in-words.ts';
import { perRequest } from '../../model/waiting-page.ts';
import type { PageField } from '../read/page-waiting.ts';
import type { Sending } from '../read/page-waiting-view.ts';
import { heading, person, table } from './components.ts';
import { deedWords, type FormValues, postForm, type Verb } from './decide.ts';
import { fieldName, fieldsOf, fieldTitle, fieldWords, rowsInWords } from './hold-words.ts';
import { type Html, html, none } from './html.ts';
import { to } from './links.ts';
import { icon, sides } from './pills.ts';
import { changed, knownAs, type FieldOfTeam, type Side, value } from './three-values.ts';
import type { PageContext, PageShown } from './view.ts';
import { clockTime, count, many, named } from './words.ts';

/** The decision, once it is confirmed. */
export interface Question {
  readonly verb: Verb;
  readonly path: string;
  /** The address of the list, with its ticks. */
  readonly back: string;
  /** The rows that have values; missing rows of a listing have none. */
  readonly rows: readonly PageField[];
  /** The number of rows to decide about, which is larger than that of `rows` if a list is decided about as a whole. */
  readonly number: number;
  /** The number of all rows that wait in the list. */
  readonly all: number;
  /** The reason why the others wait. */
  readonly state: string;
  /** Edits of the list by the person who decides, which are left out. */
  readonly own: readonly PageField[];
  readonly sending: Sending;
  /** The fields that the form sends again. */
  readonly values: FormValues;
}

const requestsFor = (rows: readonly PageField[]): number =>
  Math.ceil(new Set(rows.map(({ userId }) => userId)).size / perRequest);

function titleOf({ details }: PageContext, { verb, rows, number, all }: Question): string {
  const [only] = rows;
  if (only !== undefined && number === 1) {
    const name = details && only.name ? printable(only.name) : String(only.userId ?? 'all users');
    const what = `${fieldName(only.field)} of ${name}?`;
    if (verb === 'value') return `Another ${what}`;
    if (verb === 'mirror' || verb === 'service') return `Take the ${verb}’s ${what}`;
    if (all === 1 || verb === 'Withdraw') return `${verb} the ${what}`;
  }
  if (verb === 'mirror' || verb === 'service') return `Take the ${verb}’s ${rowsInWords(fieldsOf(rows))}?`;
  if (number === all) return `${verb} ${number === 1 ? 'it' : `all ${count(all)}`}?`;
  return `${verb} ${count(number)} of ${count(all)}, leave ${count(all - number)} waiting?`;
}

/** Names the rows that go on waiting, because nothing is decided about them. */
function othersOf({ number, all, state }: Question): string {
  const left = all - number;
  if (left === 0) return '';
  return ` ${state === 'conflict' ? many(left, 'conflict') : count(left)} ${left === 1 ? 'waits' : 'wait'} on.`;
}

function leadOf(question: Question): string {
  const { verb, rows, number } = question;
  const it = number === 1 ? 'it' : 'them';
  const values = many(number, 'value');
  const others = othersOf(question);
  const sends = `The next run sends ${values}, in ${many(requestsFor(rows), 'request')}`;
  switch (verb) {
    case 'Approve':
      if (rows.length === 0)
        return `The next complete run calls ${many(number, 'row')} gone, if ${number === 1 ? 'it is' : 'they are'} missing still.`;
      return `${sends}. The approval stands for ${number === 1 ? 'this edit' : 'these edits'} only, and lets each pass once.${others}`;
    case 'Reject':
      return `${many(number, 'edit')} ${number === 1 ? 'stays' : 'stay'} in the mirror, ${number === 1 ? 'is' : 'are'} held as rejected, and ${number === 1 ? 'is' : 'are'} not sent before somebody edits ${it} again.${others}`;
    case 'Withdraw':
      return 'The mirror gets back what both sides last agreed on; nothing is sent.';
    case 'mirror':
      return `${sends}, in the place of what the service shows now.${others}`;
    case 'service':
      return `The mirror gets ${values} of the service; nothing is sent. What was edited here is kept in the history.${others}`;
    case 'value':
      return 'The mirror gets this value as an edit of yours, and the next run looks at it as at any other edit: where edits wait for an approval, this one does.';
    default:
      return verb satisfies never;
  }
}

/** Most rows that are named before the others are folded. */
const mostNamed = 5;

/** One of the rows that a question is about: the person, the field, and the two values. */
interface QuestionRow {
  readonly teamId: Id;
  readonly userId: Id | null;
  readonly name: string | null;
  readonly field: string;
  readonly into: Html;
}

const whoseField = (context: PageContext, { teamId, userId, name }: Omit<QuestionRow, 'into'>): Html =>
  userId === null
    ? html`all users`
    : person(context, teamId, {
        id: userId,
        name,
        withId: true,
      });

/** `from → to`, each in the colour of the side that it comes from. */
const inPlaceOf = (
  context: PageContext,
  {
    of: row,
    from,
    to,
    side,
  }: { readonly of: FieldOfTeam; readonly from: unknown; readonly to: unknown; readonly side: Side },
): Html => {
  const [there, next] = [knownAs(context, row, from), knownAs(context, row, to)];
  return html`<span class="quiet">${value(context, row.field, there)}</span> <span aria-label="to">→</span> ${changed(context, row.field, { to: next, from: there, side })}`;
};

/** Shows the first of them, and the others folded. */
function movesTable(context: PageContext, head: Html, moves: readonly QuestionRow[]): Html {
  const isMany = new Set(moves.map(({ field }) => field)).size > 1;
  const columns = [{ label: 'Person' }, ...(isMany ? [{ label: 'Field' }] : []), { label: head, short: '' }];
  const cells = (move: QuestionRow) => ({
    cells: [whoseField(context, move), ...(isMany ? [fieldName(move.field)] : []), move.into],
  });
  const part = (caption: string, some: readonly QuestionRow[]) =>
    table(context, { caption, columns, rows: some.map(cells) });
  const rest = moves.slice(mostNamed);
  const more =
    rest.length === 0
      ? none
      : html`<details class="part"><summary>and ${count(rest.length)} more</summary>${part('The others', rest)}</details>`;
  return html`${part('What it is about', moves.slice(0, mostNamed))}${more}`;
}

/** Shows each person, what is there now, and what takes its place. */
function movesOf(context: PageContext, verb: Verb, rows: readonly PageField[]): Html {
  const takesService = verb === 'service' || verb === 'Withdraw';
  const [from, side] = takesService ? (['mirror', 'service'] as const) : (['service', 'mirror'] as const);
  const there = takesService
    ? html`${sides.mirror} Mirror now → ${verb === 'Withdraw' ? 'as last agreed' : html`${sides.service} from the service`}`
    : html`${sides.service} Service now → ${sides.mirror} from the mirror`;
  const moves = rows.map((row) => {
    const to = verb === 'Withdraw' ? row.base : row[side];
    return { ...row, into: inPlaceOf(context, { of: row, from: row[from], to, side }) };
  });
  return movesTable(context, there, moves);
}

/** Says that somebody else has to decide. */
function ownNote(context: PageContext, own: readonly PageField[]): Html {
  if (own.length === 0) return none;
  const [is, them, wait] =
    own.length === 1 ? ['One is', 'it', 'It waits'] : [`${count(own.length)} are`, 'them', 'They wait'];
  const words = html`<b>${is} left out, since you edited ${them} yourself.</b> Nobody approves their own edits here (four eyes). ${wait} for somebody else; nothing happens to ${them} now.`;
  const shown = own.slice(0, mostNamed).map((row) => {
    const into = inPlaceOf(context, { of: row, from: row.base, to: row.mirror, side: 'mirror' });
    return html`<li>${whoseField(context, row)} ${fieldName(row.field)} ${into}</li>`;
  });
  const more = own.length > mostNamed ? html`<p>and ${count(own.length - mostNamed)} more</p>` : none;
  return html`<div class="part stack left-out"><p>${icon('pause')} ${words}</p><ul>${shown}</ul>${more}</div>`;
}

/** Says what sends it and when, if it is sent. */
const sentBy = ({ listens }: Sending): string =>
  listens ? 'At once, by the daemon' : 'By the next run; no daemon runs';

/** `Field: phone, of 37 people`; for several fields, the number of each. */
function fieldsFact(rows: readonly Pick<PageField, 'field' | 'userId'>[]): Html {
  const people = many(new Set(rows.map(({ userId }) => userId)).size, 'person', 'people');
  const [first, ...others] = fieldsOf(rows).fields;
  if (first === undefined) return none;
  if (others.length === 0) return html`<dt>Field</dt><dd>${fieldTitle(first.field)}, of ${people}</dd>`;
  const each = [first, ...others].map((group) => many(group.rows, ...fieldWords(group.field)));
  return html`<dt>Fields</dt><dd>${each.join(', ')}, of ${people}</dd>`;
}

function facts(context: PageContext, { verb, rows, sending }: Question): Html {
  const editors = [...Map.groupBy(rows, ({ editedBy }) => editedBy ?? 'nobody knows')];
  const times = rows.flatMap(({ editedAt }) => (editedAt === null ? [] : [editedAt.getTime()]));
  const clock = (...all: readonly number[]) => all.map((ms) => clockTime(new Date(ms), context.now));
  const [from, until] = times.length === 0 ? [] : clock(Math.min(...times), Math.max(...times));
  const when = from === undefined ? '' : `, ${from === until ? from : `${from} to ${until}`}`;
  const editorWords = editors.map(
    ([name, of], i) => html`${i === 0 ? '' : ', '}${named(name)}, ${count(of.length)}`,
  );
  const isSent = verb === 'Approve' || verb === 'mirror';
  const sent = isSent ? sentBy(sending) : verb === 'value' ? 'As any other edit' : 'Nothing is sent';
  const moved = isSent
    ? html`<dt>If one moves</dt><dd>Before it is sent, it is left out and waits again</dd>`
    : none;
  return html`<dl class="pairs"><dt>Edited by</dt><dd>${editorWords}${when}</dd>${fieldsFact(rows)}<dt>Sent</dt><dd>${sent}</dd>${moved}</dl>`;
}

/** A page of its own, with what happens at the left and the form at the right. */
export function confirmation(context: PageContext, question: Question): PageShown {
  const { verb, path, back, rows, number, own, values } = question;
  const title = titleOf(context, question);
  const { decide } = context;
  if (decide === null) return { title, main: none };
  const [first] = rows;
  const isName = first?.field === 'name';
  const typed =
    verb === 'value'
      ? html`<label class="field"><span class="label">The ${fieldName(first?.field ?? '')} that is to stand${isName ? ', as first | last' : ''}</span><input name="value" maxlength="1000" autocomplete="off"></label>`
      : none;
  const deed = verb === 'value' ? html`Make this edit` : deedWords(verb, count(number));
  const form = postForm(
    decide,
    path,
    { ...values, confirmed: 'yes' },
    html`${rows.length === 0 ? none : facts(context, question)}${typed}<label class="field"><span class="label">Reason, kept with the decision</span><textarea name="why" rows="3" required maxlength="1000" autocomplete="off"></textarea></label><div class="row buttons"><button class="button main">${deed}</button><a class="button" href="${back}">Back</a></div><p class="note">Recorded as <b>${named(decide.actor)}</b>, with the reason.</p>`,
    html` class="card stack"`,
  );
  const left =
    rows.length === 0
      ? none
      : html`<div class="card flush">${movesOf(context, verb, rows)}${ownNote(context, own)}</div>`;
  const way = html`<p class="note"><a href="${to(context, '/waiting')}">Waiting</a></p>`;
  return {
    title,
    main: html`${heading(title, leadOf(question), way)}<div class="${left === none ? 'stack' : 'columns'}" data-still>${left}${form}</div>`,
  };
}
