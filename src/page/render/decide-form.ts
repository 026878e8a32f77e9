/** The parts of forms for decisions. The page accepts only its own forms; `question.ts` asks the viewer to confirm. */
import { isApprovable } from '../../model/user-plan.ts';
import { shownDigest } from '../../model/shown-field.ts';
import type { FieldOnHold, WaitingList } from '../read/page-waiting.ts';
import { isCopy, nothingDecided } from './banner.ts';
import { type Html, html, none } from './html.ts';
import { commandOf, href } from './links.ts';
import type { PageContext } from './view.ts';
import { count } from './words.ts';

/** The path of every form. Reloading the answer to a form shows the waiting lists. */
export const decidePath = '/waiting';

/** The decisions about held edits, with the texts of their buttons. `undo` reverts the changes of a run. */
export const verbs = {
  putBack: 'Reject and put back',
  reject: 'Reject',
  approve: 'Approve',
  withdraw: 'Withdraw',
  mirror: 'Take the mirror’s',
  service: 'Take the service’s',
  value: 'Another value for',
  undo: 'Take back',
} as const;
export type Verb = keyof typeof verbs;
/** The verbs of a batch. The other verbs choose a side for each field. */
export const ofBatch: ReadonlySet<Verb> = new Set(['putBack', 'reject', 'approve', 'withdraw']);

/** True if the verb fits the hold. An edit held by a limit or a review is approved; for other holds, a side is chosen. */
export function decides(verb: Verb, { reason, batch }: Pick<FieldOnHold, 'reason' | 'batch'>): boolean {
  if (verb === 'approve') return isApprovable(reason);
  if (verb === 'mirror' && reason === 'refused') return false;
  return ofBatch.has(verb) || verb === 'value' || batch === null || !isApprovable(reason);
}

/** True if one transaction changed more people than the hold limits allow, which might be an accident. */
export const isAccident = ({ batch, reasons, isOneEdit }: WaitingList): boolean =>
  batch !== null && isOneEdit && reasons.every(({ what }) => what === 'limit');

/** The verbs that fit some of these rows. If the list is an accident, the first is the likeliest; else the last. */
export function verbsOf(list: Pick<WaitingList, 'batch' | 'reasons'>): readonly Verb[] {
  const all = (Object.keys(verbs) as Verb[]).filter((verb) => !['withdraw', 'value', 'undo'].includes(verb));
  const order = [...all.filter((verb) => verb !== 'approve'), 'approve' as const];
  return order.filter(
    (verb) =>
      (list.batch !== null || !ofBatch.has(verb)) &&
      list.reasons.some(({ what }) => decides(verb, { reason: what, batch: list.batch })),
  );
}

export const mayDecide = (context: PageContext): boolean =>
  context.decide?.barred === null && !isCopy(context);

export function barredNote(context: PageContext): Html {
  if (isCopy(context))
    return html`<p class="note">${nothingDecided}. What waits is shown as it was restored, and as it was edited since.</p>`;
  if (context.decide === null)
    return html`<p class="note">Nobody decides on this page: <code>musterd held</code> names the commands.</p>`;
  return context.decide.barred === null ? none : html`<p class="note">${context.decide.barred}</p>`;
}

const hidden = (name: string, value: string): Html =>
  html`<input type="hidden" name="${name}" value="${value}">`;

export type FormValues = Readonly<Record<string, string | readonly string[]>>;

/** A form of the page, with a token that proves that it comes from this page, and the address to return to. */
export const postForm = (
  context: PageContext,
  values: FormValues,
  inside: Html,
  attributes: Html = none,
): Html => {
  const all = {
    token: context.decide?.token(decidePath) ?? '',
    back: href(context, { ticks: null, done: null, page: context.query.get('page') }),
    ...values,
  };
  return html`<form method="post" action="${decidePath}"${attributes}>${Object.entries(all).map(([name, value]) => [value].flat().map((one) => hidden(name, one)))}${inside}</form>`;
};

/** The button that previews reverting the changes of a run. A viewer who cannot decide sees a note instead. */
export function takeBack(context: PageContext, team: string, run: bigint): Html {
  const button = html`<button class="button">Take back what run ${count(run)} has moved…</button>`;
  if (mayDecide(context)) return postForm(context, { team, verb: 'undo', run: `${run}` }, button);
  if (context.decide !== null || isCopy(context)) return barredNote(context);
  return html`<p class="note"><code>${commandOf(context, team, `undo ${run}`)}</code> shows what it would set back.</p>`;
}

/** The values that identify a row in a form: user and field, the edit, and both values that were shown. */
type ShownHold = Pick<FieldOnHold, 'userId' | 'field' | 'editId' | 'mirror' | 'service'>;

export const shownKey = ({ userId, field, editId, mirror, service }: ShownHold): string =>
  `${userId}.${field}.${shownDigest({ edit: editId, mirror, service })}`;
