/** The receipts of decisions: one above the list right after it was made, and the last ones in a table below. */
import type { FollowedDecision } from '../read/page-decided.ts';
import type { PageWaiting } from '../read/page-waiting-view.ts';
import { hasNotLeft } from '../../model/waiting-page.ts';
import { isCopy } from './banner.ts';
import { meter, section, table, teamCells, teamColumns } from './components.ts';
import { byWhom } from './hold-words.ts';
import { type Html, html, none } from './html.ts';
import { href, to } from './links.ts';
import { type IconShape, icon } from './pills.ts';
import { deedOf, isUnderWay, partsOf, statusOf } from './receipt-words.ts';
import type { PageContext } from './view.ts';
import { at, clockTime, count, named } from './words.ts';

const dayMs = 86_400_000;
/** Edits that are sent leave within this time. */
const longestFollowedMs = 600_000;

/** The sign of its gravest part. */
function shapeOf(decided: FollowedDecision): readonly [IconShape, 'ok' | 'act' | 'dim'] {
  const { fates } = decided;
  if (fates.refused !== undefined) return ['alarm', 'act'];
  if (fates.asked !== undefined) return ['dashed', 'dim'];
  if (isUnderWay(decided)) return ['half', 'dim'];
  return fates.coming === undefined ? ['tick', 'ok'] : ['clock', 'dim'];
}

/** Names the commands by which it is taken back. */
function wayBack({ decision, fates }: FollowedDecision): Html {
  const isApproved = decision === 'approve' || decision === 'mirror';
  const ways = [
    isApproved && fates.coming !== undefined
      ? html`<code>musterd reject</code> takes back what has not left.`
      : none,
    fates.sent === undefined ? none : html`<code>musterd undo</code> sets back what a run has sent.`,
    decision === 'reject' && fates.kept !== undefined
      ? html`<code>musterd resolve --take mirror</code> sends it all the same.`
      : none,
  ].filter((way) => way !== none);
  return ways.length === 0
    ? none
    : html`<p class="note">${ways.map((way, i) => html`${i === 0 ? '' : ' '}${way}`)}</p>`;
}

const those = (n: number, single: string, more: string): string =>
  n === 1 ? `The one that ${single}` : `The ${count(n)} that ${more}`;

/** The address of the one list in which some of it waits again, or of all lists. */
function waitingOf(context: PageContext, { waitsIn: [list, ...others] }: FollowedDecision): string {
  if (list === undefined || others.length > 0) return to(context, '/waiting');
  return list.batch === null
    ? to(context, '/waiting', { state: list.state })
    : to(context, `/waiting/${list.batch}`);
}

/** Links to what is mentioned. */
function waysOf(context: PageContext, decided: FollowedDecision): readonly Html[] {
  const { decision, fates, number, rows } = decided;
  const changes = (direction: string) => to(context, '/changes', { decision: String(number), direction });
  const again = (fates.edited ?? 0) + (fates.waits ?? 0);
  const valued = fates.sent ?? (hasNotLeft(fates) && fates.coming === undefined ? rows : 0);
  const way = fates.sent !== undefined ? 'pushed' : decision === 'service' ? 'pulled' : 'decided';
  const ways: readonly (readonly [number, string, string])[] = [
    [again, waitingOf(context, decided), those(again, 'waits again', 'wait again')],
    [
      fates.refused ?? 0,
      to(context, '/waiting', { state: 'refused' }),
      those(fates.refused ?? 0, 'was refused', 'were refused'),
    ],
    [
      fates.asked ?? 0,
      changes('pushed'),
      `The ${fates.asked === 1 ? 'one' : count(fates.asked ?? 0)} without an answer`,
    ],
    [valued, changes(way), valued === 1 ? 'The one, with its value' : `The ${count(valued)}, with values`],
  ];
  return ways.flatMap(([n, address, words]) => (n === 0 ? [] : [html`<a href="${address}">${words}</a>`]));
}

/** It stays until somebody closes it or a day has passed. While something is on its way, the script asks again. */
export function receiptCard(
  context: PageContext,
  { done: decided, sending }: Pick<PageWaiting, 'done' | 'sending'>,
): Html {
  if (decided === undefined) return none;
  const [shape, tone] = shapeOf(decided);
  const { fates, why } = decided;
  const isMoving = fates.leaving !== undefined || fates.coming !== undefined;
  const isOpen = isMoving || fates.asked !== undefined;
  const isFollowed =
    sending.listens && isMoving && context.now.getTime() - decided.at.getTime() < longestFollowedMs;
  const again = html`<noscript><a href="${href(context, {})}">Load again</a></noscript>`;
  const reason = why === null || why === '' ? none : html`<p class="note">Reason: ${named(why)}</p>`;
  const ways = [
    ...(isUnderWay(decided) && isFollowed
      ? [meter(fates.sent ?? 0, decided.rows)]
      : waysOf(context, decided)),
    isOpen ? again : none,
    html`<a href="${href(context, { done: null })}">Close</a>`,
  ];
  const command = isCopy(context) ? none : wayBack(decided);
  return html`<div class="notice receipt" role="status" id="receipt"${isFollowed ? html` data-live` : none}>${icon(shape, tone, 20)}<div><p><b>${deedOf(context, decided)} by ${byWhom(context, decided.by)} at ${clockTime(decided.at, context.now, true)}.</b> ${statusOf(context, decided, sending)}</p>${reason}${command}<div class="row ways">${ways}</div></div></div>`;
}

/** Says above a list that nothing was decided. */
export const nothingCard = (words: Html | string): Html =>
  html`<div class="notice receipt" role="status" id="receipt">${icon('alarm', 'act', 20)}<div><b>Nothing was decided.</b> ${words}</div></div>`;

/** By this a second person sees what the first one decided. */
export function decidedLast(context: PageContext, all: readonly FollowedDecision[]): Html {
  if (all.length === 0) return none;
  const rowOf = (decided: FollowedDecision) => {
    const number = String(decided.number);
    const isNew = context.now.getTime() - decided.at.getTime() < dayMs;
    const link = isNew
      ? to(context, '/waiting', { done: number })
      : to(context, '/changes', { decision: number });
    return {
      cells: [
        html`<a href="${link}">${at(decided.at, context.now)}</a>`,
        ...teamCells(context, decided.teamId),
        byWhom(context, decided.by),
        deedOf(context, decided),
        partsOf(context, decided),
      ],
    };
  };
  const list = table(context, {
    caption: 'Decided last',
    columns: [
      { label: 'When' },
      ...teamColumns(context),
      { label: 'By' },
      { label: 'What' },
      { label: 'What became of it', short: 'Became' },
    ],
    rows: all.map(rowOf),
  });
  return section('Decided last', list, {
    more: html`<a href="${to(context, '/changes', { direction: 'decided', since: '2000-01-01' })}">All decisions</a>`,
  });
}
