/** Buttons that decide, and the page that asks once more. A form counts only where it comes from here. */
import type { PageField } from '../mirror/page-waiting.ts';
import type { Id } from '../model/id.ts';
import { shownDigest } from '../model/shown-field.ts';
import { heading, person, table } from './components.ts';
import { fieldName } from './hold-words.ts';
import { type Html, html, none } from './html.ts';
import { to } from './links.ts';
import { headOfThree, threeValues, three } from './three-values.ts';
import type { PageContext, PageShown } from './view.ts';
import { count, many } from './words.ts';

export type Verb = 'Approve' | 'Reject';

/** Whether a person can decide about this team here. */
export const mayDecide = ({ decide }: Pick<PageContext, 'decide'>, team: string): boolean =>
  decide !== null && !decide.barred.has(team);

/** Why nobody decides here although the settings allow it. */
export const whyBarred =
  'Nobody decides here while four eyes are asked for (push.fourEyes), since whoever knows the one token of this page can give any name; the commands decide.';

/** In the place of the forms that the teams would have. */
export const barredNote = ({ decide }: Pick<PageContext, 'decide'>, teams: readonly string[]): Html =>
  decide !== null && teams.some((team) => decide.barred.has(team))
    ? html`<p class="note">${whyBarred}</p>`
    : none;

const hidden = (name: string, value: string): Html =>
  html`<input type="hidden" name="${name}" value="${value}">`;

export interface BatchButton {
  readonly hash: string;
  readonly team: string;
  readonly verb: Verb;
  readonly rows: number;
  /** The ticks belong to the form of this id; `null`: there are none, and all rows are meant. */
  readonly form: string | null;
  readonly isMain?: boolean;
}

/** Nothing where nothing can be decided here. Both verbs share one form where there are ticks. */
export function decideButton(
  context: PageContext,
  { hash, team, verb, rows, form, isMain = false }: BatchButton,
): Html {
  if (context.decide === null || !mayDecide(context, team)) return none;
  const path = `/waiting/${hash}`;
  const words = `${verb} ${count(rows)}…`;
  const kind = isMain ? 'button main' : 'button';
  const inside = html`${hidden('token', context.decide.token(path))}${hidden('team', team)}${hidden('rows', String(rows))}`;
  if (form !== null && !isMain)
    return html`<button class="${kind}" form="${form}" name="verb" value="${verb}">${words}</button>`;
  return html`<form method="post" action="${path}"${form === null ? none : html` id="${form}"`}>${inside}${form === null ? none : hidden('ticks', 'on')}<button class="${kind}" name="verb" value="${verb}">${words}</button></form>`;
}

/** The tick of one row: it stands for the edit alone that the row shows. */
export const editTick = (form: string, edit: Id, what: string): Html =>
  html`<input type="checkbox" name="edit" value="${edit.toString()}" form="${form}" checked aria-label="${`Decide about ${what}`}"> `;

/** What is shown of a held field: its edit, and what each side has. */
export type ShownHold = Pick<PageField, 'field' | 'editId' | 'mirror' | 'service'>;

export const digestOfShown = ({ editId, mirror, service }: ShownHold): string =>
  shownDigest({ edit: editId, mirror, service });

export interface TakeButton {
  readonly team: string;
  readonly id: string;
  readonly shown: ShownHold;
  readonly take: 'mirror' | 'service' | 'value';
  readonly words: string;
}

export function takeButton(context: PageContext, { team, id, shown, take, words }: TakeButton): Html {
  if (context.decide === null || !mayDecide(context, team)) return none;
  const path = `/waiting/${encodeURIComponent(team)}/${id}/${shown.field}`;
  return html`<form method="post" action="${path}">${hidden('token', context.decide.token(path))}${hidden('digest', digestOfShown(shown))}${hidden('take', take)}<button class="button">${words}…</button></form>`;
}

/** What is to be decided, as it is asked once more. */
export interface Question {
  readonly path: string;
  /** `Approve 53 of 55, leave 2 waiting?` */
  readonly title: string;
  readonly text: string;
  /** `Approve 53` */
  readonly deed: string;
  /** What it is about. */
  readonly shown: Html;
  /** What the form sends again. */
  readonly values: readonly (readonly [string, string])[];
  /** The label of a value that is to be typed; `null`: none is. */
  readonly asksFor: string | null;
}

export const batchQuestion = (
  verb: Verb,
  {
    path,
    all,
    chosen,
    unit,
  }: { readonly path: string; readonly all: number; readonly chosen: number; readonly unit: string },
): Pick<Question, 'path' | 'title' | 'text' | 'deed'> => {
  const left = all - chosen;
  const title =
    left === 0
      ? `${verb} ${chosen === 1 ? 'it' : `all ${count(chosen)}`}?`
      : `${verb} ${count(chosen)} of ${count(all)}, leave ${count(left)} waiting?`;
  const what = many(chosen, unit);
  const text =
    verb === 'Approve'
      ? `The next run takes ${what} up, ${many(Math.max(1, Math.ceil(chosen / 25)), 'request')} at most if they are sent. The approval is about these edits only, and lets each pass once.`
      : `${what} stay in the mirror, are held as rejected, and are not sent before somebody edits them again.`;
  return { path, title, text, deed: `${verb} ${count(chosen)}` };
};

export const takeQuestion = (
  path: string,
  { id, field, take }: { readonly id: string; readonly field: string; readonly take: string },
): Pick<Question, 'path' | 'title' | 'text' | 'deed'> =>
  take === 'value'
    ? {
        path,
        title: `Another ${fieldName(field)} for ${id}?`,
        text: 'One field. The mirror gets this value as an edit of yours, and the next run looks at it as at any other edit: where edits wait for an approval, this one does.',
        deed: 'Make this edit',
      }
    : {
        path,
        title: `Take the ${take}’s ${fieldName(field)} of ${id}?`,
        text:
          take === 'mirror'
            ? 'One field. The next run sends the mirror’s value to the service, as long as neither side has changed.'
            : 'One field. The mirror gets the service’s value; nothing is sent.',
        deed: `Take the ${take}’s`,
      };

/** Rows that are named where they are not all shown. */
const mostNamed = 10;

/** Who, which field, and from what to what, of the first rows. */
export function namedRows(context: PageContext, rows: readonly PageField[], all: number): Html {
  if (rows.length === 0) return none;
  const [base, mirror] = headOfThree;
  const shown = rows.slice(0, mostNamed).map((row) => {
    const [from, into] = three(context, row);
    const team = context.teams.find(({ teamId }) => teamId === row.teamId)?.team ?? '';
    const who =
      row.userId === null
        ? 'all users'
        : person(context, team, { id: row.userId, name: row.name, withId: true });
    return { cells: [who, fieldName(row.field), from, into] };
  });
  const columns = [
    { label: 'Person' },
    { label: 'Field' },
    { label: base, short: 'Last agreed' },
    { label: mirror, short: 'Mirror' },
  ];
  const rest = all - shown.length;
  const foot = rest > 0 ? { foot: html`<span>and ${count(rest)} more</span>` } : {};
  return table(context, { caption: 'What it is about', columns, rows: shown, ...foot });
}

/** The three versions of one field. */
export const namedField = (context: PageContext, row: PageField): Html =>
  html`<div class="card">${threeValues(context, row)}</div>`;

/** A page of its own: how many, what follows, why, and who. */
export function confirmation(context: PageContext, question: Question): PageShown {
  const { path, title, text, deed, shown, values, asksFor } = question;
  const { decide } = context;
  if (decide === null) return { title, main: none };
  const inside = values.map(([name, value]) => hidden(name, value));
  const typed =
    asksFor === null
      ? none
      : html`<label><span class="label">${asksFor}</span><input name="value" maxlength="1000" autocomplete="off"></label>`;
  return {
    title,
    main: html`<div class="stack" data-still>${heading(title, text)}${shown}<form class="card confirm" method="post" action="${path}">${hidden('token', decide.token(path))}${inside}${hidden('confirmed', 'yes')}${typed}<label><span class="label">Reason, kept with the decision</span><input name="why" required maxlength="1000" autocomplete="off"></label><div class="buttons"><button class="button main">${deed}</button><a class="button" href="${to(context, '/waiting')}">Back</a><span class="note">Recorded as ${decide.actor}</span></div></form></div>`,
  };
}

/** Why nothing was decided. */
export interface DecisionRefusal {
  /** 400: the form cannot be read. 403: nobody decides here. 409: something is not as it was shown. */
  readonly status: 400 | 403 | 409;
  readonly message: string;
  readonly hint?: string | undefined;
  /** What it is now. */
  readonly now?: Html;
}

/** The refusal of the command, in its words, and what waits now. */
export function refusedPage(
  context: PageContext,
  { status, message, hint, now }: DecisionRefusal,
): PageShown {
  const title = 'Nothing was decided';
  const about = now === undefined ? none : html`<h2 class="h3">As it is now</h2>${now}`;
  return {
    title,
    status,
    main: html`<div class="stack">${heading(title, message)}${about}<div class="card"><p>${hint ?? 'What waits may have changed since the page was made.'}</p><p><a href="${to(context, '/waiting')}">What waits now</a></p></div></div>`,
  };
}
