/** What became of a decision: above the list once it was made, and of the last ones in a table below. */
import type { Decided } from '../mirror/page-decided.ts';
import { type Fate, fates } from '../model/waiting-page.ts';
import { section, table } from './components.ts';
import { type Html, html, none } from './html.ts';
import { href, to } from './links.ts';
import { type IconShape, icon } from './pills.ts';
import type { PageContext } from './view.ts';
import { at, clockTime, count, many, named } from './words.ts';

const deeds = { approve: 'approved', reject: 'rejected' } as const;

/** `58 approved`, `the mirror’s 37 taken` */
const deedOf = ({ decision, rows }: Decided): string =>
  decision === 'approve' || decision === 'reject'
    ? `${count(rows)} ${deeds[decision]}`
    : `The ${decision}’s ${rows === 1 ? 'value' : `${count(rows)} values`} taken`;

const isMine = ({ decide }: PageContext, { by }: Decided): boolean =>
  decide !== null && by !== null && (by === decide.actor || by.endsWith(` for ${decide.actor}`));

const byWhom = (context: PageContext, decided: Decided): Html =>
  isMine(context, decided) ? html`you` : named(decided.by ?? 'somebody');

/** Of so many. The parts add up to all of it. */
function partOf(context: PageContext, fate: Fate, n: number, decided: Decided): Html {
  const { runId, sentAt, decision } = decided;
  switch (fate) {
    case 'sent': {
      const run =
        runId === null ? none : html` in <a href="${to(context, `/runs/${runId}`)}">run ${count(runId)}</a>`;
      const since = sentAt === null ? none : html` since ${at(sentAt, context.now, true)}`;
      return html`${many(n, 'was', 'were')} sent${run} and ${n === 1 ? 'is' : 'are'} confirmed${since}`;
    }
    case 'asked':
      return html`of ${count(n)} no answer is known yet: the next run looks whether ${n === 1 ? 'it' : 'they'} arrived, and sends ${n === 1 ? 'it' : 'them'} again only if not`;
    case 'refused':
      return html`${many(n, 'was', 'were')} refused by the service and ${n === 1 ? 'waits' : 'wait'} for somebody`;
    case 'coming':
      return html`${many(n, 'goes', 'go')} with the next run`;
    case 'waits':
      return html`${many(n, 'waits', 'wait')} again`;
    case 'moved':
      return html`${many(n, 'was', 'were')} edited again or taken back meanwhile`;
    case 'kept':
      return decision === 'reject'
        ? html`${many(n, 'stays', 'stay')} in the mirror; nothing was sent`
        : html`The mirror has ${n === 1 ? 'it' : 'them'}; nothing was sent`;
    default:
      return fate satisfies never;
  }
}

function partsOf(context: PageContext, decided: Decided): Html {
  const all = fates.flatMap((fate) => {
    const n = decided.fates[fate] ?? 0;
    return n === 0 ? [] : [partOf(context, fate, n, decided)];
  });
  return html`${all.map((part, i) => html`${i === 0 ? '' : '; '}${part}`)}`;
}

/** The gravest of its parts. */
function shapeOf({ fates: of }: Decided): readonly [IconShape, 'ok' | 'act' | 'quiet'] {
  if (of.refused !== undefined) return ['alarm', 'act'];
  if (of.asked !== undefined) return ['dashed', 'quiet'];
  if (of.coming !== undefined) return of.sent === undefined ? ['clock', 'quiet'] : ['half', 'quiet'];
  return ['tick', 'ok'];
}

/** It stands until somebody closes it. */
export function receiptCard(context: PageContext, decided: Decided | undefined): Html {
  if (decided === undefined) return none;
  const [shape, tone] = shapeOf(decided);
  const { now } = context;
  const { sent, waits, refused, coming, asked } = decided.fates;
  const again = (waits ?? 0) + (refused ?? 0);
  const links = [
    ...(again === 0
      ? []
      : [
          html`<a href="${href(context, { done: null })}">The ${count(again)} that ${again === 1 ? 'waits' : 'wait'} again</a>`,
        ]),
    ...(sent === undefined || decided.runId === null
      ? []
      : [
          html`<a href="${to(context, '/changes', { run: decided.runId.toString() })}">The ${count(sent)}, with values</a>`,
        ]),
    ...(coming === undefined && asked === undefined
      ? []
      : [html`<a href="${href(context, { done: decided.number.toString() })}" data-again>Load again</a>`]),
    html`<a href="${href(context, { done: null })}">Close</a>`,
  ];
  const why =
    decided.why === null || decided.why === ''
      ? none
      : html`<p class="note">Reason: ${named(decided.why)}</p>`;
  return html`<div class="card receipt" role="status" id="receipt">${icon(shape, tone, 20)}<div><p><b>${deedOf(decided)} by ${byWhom(context, decided)} at ${clockTime(decided.at, now, true)}.</b> ${partsOf(context, decided)}.</p>${why}<p class="note">This is decision ${decided.number.toString()}: <code>musterd undo --decision ${decided.number.toString()}</code> shows what can be taken back of it.</p><p class="ways">${links}</p></div></div>`;
}

/** What is said above a list that comes back because nothing was decided. */
export const nothingCard = (words: string): Html =>
  html`<div class="card receipt" role="status" id="receipt">${icon('alarm', 'act', 20)}<div><p><b>Nothing was decided.</b> ${words}</p></div></div>`;

/** That is how a second pair of eyes sees the first. */
export function decidedLast(context: PageContext, all: readonly Decided[]): Html {
  if (all.length === 0) return none;
  const isMany = context.team === null;
  const rowOf = (decided: Decided) => ({
    cells: [
      html`<a href="${to(context, '/waiting', { done: decided.number.toString() })}">${at(decided.at, context.now)}</a>`,
      ...(isMany ? [named(context.teams.find(({ teamId }) => teamId === decided.teamId)?.team ?? '')] : []),
      byWhom(context, decided),
      deedOf(decided),
      partsOf(context, decided),
    ],
  });
  const columns = ['When', ...(isMany ? ['Team'] : []), 'By', 'What', 'What became of it'];
  const list = table(context, {
    caption: 'Decided last',
    columns: columns.map((label) => ({ label })),
    rows: all.map(rowOf),
  });
  return section('Decided last', list, {
    more: html`<a href="${to(context, '/changes', { direction: 'decided' })}">All decisions</a>`,
  });
}
