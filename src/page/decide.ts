/** The form that decides about the rows of a list, and the page that asks once more. A form counts only where it comes from here. */
import type { PageField, WaitingList } from '../mirror/page-waiting.ts';
import { printable } from '../model/in-words.ts';
import { shownDigest } from '../model/shown-field.ts';
import { heading, person, table } from './components.ts';
import { fieldName, rowsInWords } from './hold-words.ts';
import { type Html, html, none } from './html.ts';
import { to } from './links.ts';
import { sides } from './pills.ts';
import { changed, value } from './three-values.ts';
import type { PageContext, PageShown } from './view.ts';
import { clockTime, count, listed, many, named } from './words.ts';

/** What is done with an edit; the last three are about which value it is to have. */
export const verbs = ['Approve', 'Reject', 'Withdraw', 'mirror', 'service', 'value'] as const;
export type Verb = (typeof verbs)[number];

/** Whether a person can decide about this team here. */
export const mayDecide = ({ decide }: Pick<PageContext, 'decide'>, team: string): boolean =>
  decide !== null && !decide.barred.has(team);

/** Why nobody decides here although the settings allow it. */
export const whyBarred =
  'This page cannot tell who you are: one token serves everybody, and four eyes are on. Decide with the command, or give status.user and status.passwordFile, so that the page knows who decides.';

/** In the place of the forms that the teams would have. */
export const barredNote = ({ decide }: Pick<PageContext, 'decide'>, teams: readonly string[]): Html =>
  decide !== null && teams.some((team) => decide.barred.has(team))
    ? html`<p class="note">${whyBarred}</p>`
    : none;

export const hidden = (name: string, value: string): Html =>
  html`<input type="hidden" name="${name}" value="${value}">`;

/** A row as a form names it: the field of somebody, and what was shown of it. */
export type ShownHold = Pick<PageField, 'userId' | 'field' | 'editId' | 'mirror' | 'service'>;

export const shownKey = ({ userId, field, editId, mirror, service }: ShownHold): string =>
  `${userId}.${field}.${shownDigest({ edit: editId, mirror, service })}`;

/** `Approve 58`, `Take the mirror’s 37`, with whatever counts in the place of the number. */
export function deedWords(verb: Verb, number: Html | string): Html {
  if (verb === 'mirror' || verb === 'service') return html`Take the ${verb}’s ${number}`;
  return html`${verb} ${number}`;
}

export interface TakeButton {
  readonly team: string;
  readonly state: WaitingList['state'];
  readonly shown: ShownHold;
  readonly verb: 'mirror' | 'service' | 'value';
}

/** Decides about one field where it stands by itself. */
export function takeButton(context: PageContext, { team, state, shown, verb }: TakeButton): Html {
  if (context.decide === null || !mayDecide(context, team)) return none;
  const words = verb === 'value' ? 'Another value' : `Take the ${verb}’s`;
  return html`<form method="post" action="/waiting">${hidden('token', context.decide.token('/waiting'))}${hidden('team', team)}${hidden('state', state)}${hidden('rows', '1')}${hidden('ticks', 'on')}${hidden('row', shownKey(shown))}<button class="button" name="verb" value="${verb}">${words}…</button></form>`;
}

/** What is to be decided, as it is asked once more. */
export interface Question {
  readonly verb: Verb;
  readonly path: string;
  /** Where the list is, with its ticks. */
  readonly back: string;
  /** Missing rows have none. */
  readonly rows: readonly PageField[];
  /** As many as are decided about, which is more than those with values only where the list is decided about as a whole. */
  readonly number: number;
  /** Of so many that wait in the list. */
  readonly all: number;
  /** Edits of the list that whoever decides made: they are left out. */
  readonly own: readonly PageField[];
  /** What the form sends again. */
  readonly values: readonly (readonly [string, string])[];
}

const fieldsOf = (rows: readonly PageField[]) =>
  [...Map.groupBy(rows, ({ field }) => field)].map(([field, of]) => ({ field, rows: of.length }));

const usersOf = (rows: readonly PageField[]): number => new Set(rows.map(({ userId }) => userId)).size;

const nameOf = (context: PageContext, { userId, name }: PageField): Html =>
  context.details && name !== null && name !== '' ? named(name) : html`${String(userId ?? 'all users')}`;

function titleOf({ details }: PageContext, { verb, rows, number, all }: Question): string {
  const [only] = rows;
  if (only !== undefined && number === 1) {
    const who = details && only.name ? printable(only.name) : String(only.userId ?? 'all users');
    const what = `${fieldName(only.field)} of ${who}?`;
    if (verb === 'value') return `Another ${what}`;
    if (verb === 'mirror' || verb === 'service') return `Take the ${verb}’s ${what}`;
    if (all === 1 || verb === 'Withdraw') return `${verb} the ${what}`;
  }
  if (verb === 'mirror' || verb === 'service')
    return `Take the ${verb}’s ${rowsInWords({ rows: number, fields: fieldsOf(rows) })}?`;
  if (number === all) return `${verb} ${number === 1 ? 'it' : `all ${count(all)}`}?`;
  return `${verb} ${count(number)} of ${count(all)}, leave ${count(all - number)} waiting?`;
}

function leadOf({ verb, rows, number, all }: Question): string {
  const it = number === 1 ? 'it' : 'them';
  const values = many(number, 'value');
  const left = all - number;
  const others = left === 0 ? '' : ` ${count(left)} ${left === 1 ? 'waits' : 'wait'} on.`;
  const sends = `The next run sends ${values}, in ${many(Math.max(1, Math.ceil(usersOf(rows) / 25)), 'request')}`;
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

/** Rows that are named before the others are folded. */
const mostNamed = 5;

/** Who, and from what to what: what is there now, and what takes its place. */
function movesOf(context: PageContext, verb: Verb, rows: readonly PageField[]): Html {
  const takesService = verb === 'service' || verb === 'Withdraw';
  const [from, side] = takesService ? (['mirror', 'service'] as const) : (['service', 'mirror'] as const);
  const isMany = new Set(rows.map(({ field }) => field)).size > 1;
  const cells = (row: PageField) => {
    const team = context.teams.find(({ teamId }) => teamId === row.teamId)?.team ?? '';
    const who =
      row.userId === null
        ? 'all users'
        : person(context, team, { id: row.userId, name: row.name, withId: true });
    const into = verb === 'Withdraw' ? row.base : row[side];
    const arrow = html`<span class="quiet">${value(context, row.field, row[from])}</span> <span aria-label="to">→</span> ${changed(context, row.field, { of: into, from: row[from], side })}`;
    return { cells: [who, ...(isMany ? [fieldName(row.field)] : []), arrow] };
  };
  const there = takesService
    ? html`${sides.mirror} Mirror now → ${verb === 'Withdraw' ? 'as last agreed' : html`${sides.service} from the service`}`
    : html`${sides.service} Service now → ${sides.mirror} from the mirror`;
  const columns = [{ label: 'Person' }, ...(isMany ? [{ label: 'Field' }] : []), { label: there, short: '' }];
  const part = (caption: string, some: readonly PageField[]) =>
    table(context, { caption, columns, rows: some.map(cells) });
  const rest = rows.slice(mostNamed);
  const more =
    rest.length === 0
      ? none
      : html`<details class="card flush rest"><summary>and ${count(rest.length)} more</summary>${part('The others', rest)}</details>`;
  return html`${part('What it is about', rows.slice(0, mostNamed))}${more}`;
}

/** Said where somebody else has to decide. */
const ownNote = (context: PageContext, own: readonly PageField[]): Html =>
  own.length === 0
    ? none
    : html`<div class="card sunk"><p><b>${own.length === 1 ? 'One is' : `${count(own.length)} are`} left out, since you edited ${own.length === 1 ? 'it' : 'them'} yourself.</b> Nobody approves their own edits here (four eyes). ${own.length === 1 ? 'It waits' : 'They wait'} for somebody else; nothing happens to ${own.length === 1 ? 'it' : 'them'} now.</p><ul>${own.slice(0, mostNamed).map((row) => html`<li>${nameOf(context, row)} ${fieldName(row.field)} <span class="quiet">${value(context, row.field, row.base)}</span> → ${value(context, row.field, row.mirror)}</li>`)}</ul></div>`;

function facts(context: PageContext, { verb, rows }: Question): Html {
  const editors = [...Map.groupBy(rows, ({ editedBy }) => editedBy ?? 'nobody knows')];
  const times = rows.flatMap(({ editedAt }) => (editedAt === null ? [] : [editedAt.getTime()]));
  const [first, last] = [new Date(Math.min(...times)), new Date(Math.max(...times))];
  const from = clockTime(first, context.now);
  const until = clockTime(last, context.now);
  const when = times.length === 0 ? '' : `, ${from === until ? from : `${from} to ${until}`}`;
  const sent =
    verb === 'Approve'
      ? 'At once, by the daemon'
      : verb === 'mirror'
        ? 'By the next run'
        : verb === 'value'
          ? 'As any other edit'
          : 'Nothing is sent';
  const moved =
    verb === 'Approve' || verb === 'mirror'
      ? html`<dt>If one moves</dt><dd>Before it is sent, it is left out and waits again</dd>`
      : none;
  const fields = fieldsOf(rows).map(({ field }) => fieldName(field));
  return html`<dl class="pairs"><dt>Fields</dt><dd>${listed(fields)}, of ${many(usersOf(rows), 'person', 'people')}</dd><dt>Edited by</dt><dd>${editors.map(([who, of], i) => html`${i === 0 ? '' : ', '}${named(who)} (${count(of.length)})`)}${when}</dd><dt>Sent</dt><dd>${sent}</dd>${moved}</dl>`;
}

/** A page of its own: left what happens, right the form. */
export function confirmation(context: PageContext, question: Question): PageShown {
  const { verb, path, back, rows, number, own, values } = question;
  const { decide } = context;
  const title = titleOf(context, question);
  if (decide === null) return { title, main: none };
  const [first] = rows;
  const isName = first?.field === 'name';
  const typed =
    verb === 'value'
      ? html`<label><span class="label">The ${fieldName(first?.field ?? '')} that is to stand${isName ? ', as first | last' : ''}</span><input name="value" maxlength="1000" autocomplete="off"></label>`
      : none;
  const deed = verb === 'value' ? html`Make this edit` : deedWords(verb, count(number));
  const form = html`<form class="card confirm" method="post" action="${path}">${hidden('token', decide.token(path))}${values.map(([name, one]) => hidden(name, one))}${hidden('confirmed', 'yes')}${rows.length === 0 ? none : facts(context, question)}${typed}<label><span class="label">Reason, kept with the decision</span><textarea name="why" rows="3" required maxlength="1000" autocomplete="off"></textarea></label><div class="buttons"><button class="button main">${deed}</button><a class="button" href="${back}">Back</a></div><p class="note">Recorded as <b>${decide.actor}</b>, with the reason.</p></form>`;
  const left =
    rows.length === 0
      ? none
      : html`<div class="stack">${movesOf(context, verb, rows)}${ownNote(context, own)}</div>`;
  const before = html`<p class="note"><a href="${to(context, '/waiting')}">Waiting</a></p>`;
  return {
    title,
    main: html`${heading(title, leadOf(question), before)}<div class="${rows.length === 0 ? 'stack' : 'columns'}" data-still>${left}${form}</div>`,
  };
}

/** Why nothing was decided, where there is no list to show. */
export interface DecisionRefusal {
  /** 400: the form cannot be read. 403: nobody decides here. 409: something is not as it was shown. */
  readonly status: 400 | 403 | 409;
  readonly message: string;
  readonly hint?: string | undefined;
}

export function refusedPage(context: PageContext, { status, message, hint }: DecisionRefusal): PageShown {
  const title = 'Nothing was decided';
  return {
    title,
    status,
    main: html`<div class="stack">${heading(title, message)}<div class="card"><p>${hint ?? 'What waits may have changed since the page was made.'}</p><p><a href="${to(context, '/waiting')}">What waits now</a></p></div></div>`,
  };
}
