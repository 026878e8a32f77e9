/** The parts of a form that decides. It counts only if it comes from here; `question.ts` asks once more. */
import type { PageField, WaitingList } from '../read/page-waiting.ts';
import { shownDigest } from '../../model/shown-field.ts';
import { heading } from './components.ts';
import { type Html, html, none } from './html.ts';
import { to } from './links.ts';
import { isShown } from './three-values.ts';
import type { DecisionTerms, PageContext, PageShown } from './view.ts';
import { listed } from './words.ts';

/** The possible decisions about an edit. The last three say which value it is to have. */
export const verbs = ['Approve', 'Reject', 'Withdraw', 'mirror', 'service', 'value'] as const;
export type Verb = (typeof verbs)[number];

/** Whether a person can decide about this team here. */
export const mayDecide = ({ decide }: Pick<PageContext, 'decide'>, team: string): boolean =>
  decide !== null && !decide.barred.has(team);

/** Says to whom may look who decides. */
export const whoDecides = (names: readonly string[]): string =>
  names.length === 0
    ? 'Nobody decides here: status.people lets everybody look alone.'
    : `You may look, and ${listed(names)} may decide (status.people).`;

/** The reason why nobody decides here although the settings allow it. */
export const whyBarred =
  'This page cannot tell who you are: one token serves everybody, and four eyes are on. Decide with the command, or give status.people, so that the page knows who decides.';

/** Stands in place of the forms of these teams. */
export const barredNote = ({ decide }: Pick<PageContext, 'decide'>, teams: readonly string[]): Html =>
  decide !== null && teams.some((team) => decide.barred.has(team))
    ? html`<p class="note">${decide.why}</p>`
    : none;

export const hidden = (name: string, value: string): Html =>
  html`<input type="hidden" name="${name}" value="${value}">`;

/** What a form sends besides what is ticked and typed. */
export type FormValues = Readonly<Record<string, string | readonly string[]>>;

/** A form of the page, with the token by which it can only come from here. */
export const postForm = (
  { token }: DecisionTerms,
  path: string,
  values: FormValues,
  inside: Html,
  attributes: Html = none,
): Html =>
  html`<form method="post" action="${path}"${attributes}>${hidden('token', token(path))}${Object.entries(values).map(([name, value]) => [value].flat().map((one) => hidden(name, one)))}${inside}</form>`;

/** The options by which a command names what was seen. They show no value where the page shows none. */
export function asSeen(context: PageContext, { field, editId, mirror, service }: ShownHold): string {
  if (!isShown(context, field)) return editId === null ? '' : ` --edit ${editId}`;
  return ` ${context.saySeen({ field, edit_id: editId, mirror_value: mirror, service_value: service })}`;
}

/** A row as a form names it: the field of somebody, with the values that were shown. */
export type ShownHold = Pick<PageField, 'userId' | 'field' | 'editId' | 'mirror' | 'service'>;

export const shownKey = ({ userId, field, editId, mirror, service }: ShownHold): string =>
  `${userId}.${field}.${shownDigest({ edit: editId, mirror, service })}`;

/** `Approve 58`, `Take the mirror’s 37`, with whatever counts in place of the number. */
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

/** A button that decides about one field outside of a list. */
export function takeButton(context: PageContext, { team, state, shown, verb }: TakeButton): Html {
  if (context.decide === null || !mayDecide(context, team)) return none;
  const words = verb === 'value' ? 'Another value' : `Take the ${verb}’s`;
  const values = { team, state, rows: '1', ticks: 'on', row: shownKey(shown) };
  const button = html`<button class="button" name="verb" value="${verb}">${words}…</button>`;
  return postForm(context.decide, '/waiting', values, button);
}

/** The reason why nothing was decided, if there is no list to show. */
export interface DecisionRefusal {
  /** 400 if the form cannot be read, 403 if nobody decides here, 409 if something is not as it was shown. */
  readonly status: 400 | 403 | 409;
  readonly message: string;
  readonly hint: string | undefined;
}

export function refusedPage(context: PageContext, { status, message, hint }: DecisionRefusal): PageShown {
  const title = 'Nothing was decided';
  return {
    title,
    status,
    main: html`<div class="stack">${heading(title, message)}<div class="card"><p>${hint ?? 'What waits may have changed since the page was made.'}</p><p><a href="${to(context, '/waiting')}">What waits now</a></p></div></div>`,
  };
}
