/** Buttons that decide, and the page that asks once more. A form counts only where it comes from here. */
import { heading } from './components.ts';
import { fieldName } from './hold-words.ts';
import { type Html, html, none } from './html.ts';
import { to } from './links.ts';
import type { PageContext, PageShown } from './view.ts';
import { count, many } from './words.ts';

export type Verb = 'Approve' | 'Reject';

const hidden = (name: string, value: string): Html =>
  html`<input type="hidden" name="${name}" value="${value}">`;

export interface BatchButton {
  readonly hash: string;
  readonly team: string;
  readonly verb: Verb;
  readonly rows: number;
  /** The ticks belong to the form of this id; `null`: there are none. */
  readonly form: string | null;
  readonly isMain?: boolean;
}

/** Nothing where nothing can be decided here. Both verbs share one form where there are ticks. */
export function decideButton(
  context: PageContext,
  { hash, team, verb, rows, form, isMain = false }: BatchButton,
): Html {
  if (context.decide === null) return none;
  const path = `/waiting/${hash}`;
  const words = `${verb} ${count(rows)}…`;
  const kind = isMain ? 'button main' : 'button';
  const inside = html`${hidden('token', context.decide.token(path))}${hidden('team', team)}${hidden('rows', String(rows))}`;
  if (form !== null && !isMain)
    return html`<button class="${kind}" form="${form}" name="verb" value="${verb}">${words}</button>`;
  return html`<form method="post" action="${path}"${form === null ? none : html` id="${form}"`}>${inside}${form === null ? none : hidden('ticks', 'on')}<button class="${kind}" name="verb" value="${verb}">${words}</button></form>`;
}

export interface TakeButton {
  readonly team: string;
  readonly id: string;
  readonly field: string;
  readonly take: 'mirror' | 'service' | 'value';
  readonly words: string;
}

export function takeButton(context: PageContext, { team, id, field, take, words }: TakeButton): Html {
  if (context.decide === null) return none;
  const path = `/waiting/${encodeURIComponent(team)}/${id}/${field}`;
  return html`<form method="post" action="${path}">${hidden('token', context.decide.token(path))}${hidden('take', take)}<button class="button">${words}…</button></form>`;
}

/** What is to be decided, as it is asked once more. */
export interface Question {
  readonly path: string;
  /** `Approve 53 of 55, leave 2 waiting?` */
  readonly title: string;
  readonly text: string;
  /** `Approve 53` */
  readonly deed: string;
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
      ? `The next run takes ${what} up, ${many(Math.max(1, Math.ceil(chosen / 25)), 'request')} at most if they are sent. The approval stands for these values only, and lets each pass once.`
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
        text: 'One field. The mirror gets this value, and the next run sends it to the service, as long as neither side has changed.',
        deed: 'Send this value',
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

/** A page of its own: how many, what follows, why, and who. */
export function confirmation(context: PageContext, question: Question): PageShown {
  const { path, title, text, deed, values, asksFor } = question;
  const { decide } = context;
  if (decide === null) return { title, main: none };
  const inside = values.map(([name, value]) => hidden(name, value));
  const typed =
    asksFor === null
      ? none
      : html`<label><span class="label">${asksFor}</span><input name="value" maxlength="1000" autocomplete="off"></label>`;
  return {
    title,
    main: html`<div data-still>${heading(title, text)}<form class="card confirm" method="post" action="${path}">${hidden('token', decide.token(path))}${inside}${hidden('confirmed', 'yes')}${typed}<label><span class="label">Reason, kept with the decision</span><input name="why" required maxlength="1000" autocomplete="off"></label><div class="buttons"><button class="button main">${deed}</button><a class="button" href="${to(context, '/waiting')}">Back</a><span class="note">Recorded as ${decide.actor}</span></div></form></div>`,
  };
}

/** The refusal of the command, in its words, and what waits now. */
export function refusedPage(context: PageContext, message: string, hint: string | undefined): PageShown {
  const title = 'Nothing was decided';
  return {
    title,
    main: html`${heading(title, message)}<div class="card"><p>${hint ?? 'What waits may have changed since the page was made.'}</p><p><a href="${to(context, '/waiting')}">What waits now</a></p></div>`,
  };
}
