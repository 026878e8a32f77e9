/** The outcome of decisions, from `report.decisions`: a receipt above the list, and a table of the last decisions below. */
import { type EditState, editStates, holdReasons, needDecision } from '../../model/edit-state.ts';
import type { Deed } from '../../model/waiting-page.ts';
import type { DecidedPart, FollowedDecision } from '../read/page-decided.ts';
import type { Sending } from '../read/page-waiting.ts';
import { isCopy } from './banner.ts';
import { section, table, teamCells, teamColumns } from './components.ts';
import { mayDecide, takeBack } from './decide-form.ts';
import { byWhom, fieldName, fieldsInWords, fieldTitle, shownDetail } from './hold-words.ts';
import { type Html, html, none } from './html.ts';
import { commandOf, href, to } from './links.ts';
import { type IconShape, icon, type Tone } from './pills.ts';
import { value } from './three-values.ts';
import { type PageContext, teamOf } from './view.ts';
import { at, clockTime, count, listed, named, visible } from './words.ts';
import { dayMs, minuteMs } from '../../model/zone-time.ts';

/** For this long after a decision, the receipt is updated. By then, approved edits have usually been sent. */
const longestFollowedMs = 600_000;

const pastOf: Readonly<Record<Exclude<Deed, 'value'>, string>> = {
  approve: 'approved',
  reject: 'rejected',
  withdraw: 'put back to what both sides last agreed on',
  mirror: 'to be as in the mirror',
  service: 'to be as on the service',
};

/** `58 phone numbers approved`, `Email of Ada Berg set to ada@example.com` */
function deedOf(context: PageContext, decided: FollowedDecision): Html {
  const { deed, rows, fields, isMore } = decided;
  const [field = ''] = fields;
  if (deed === 'value') {
    const whose = context.details && decided.name !== null ? html` of ${named(decided.name)}` : none;
    return html`${fieldTitle(field)}${whose} set to ${value(context, { ...decided, field }, decided.value)}`;
  }
  const what =
    fields.length === 1
      ? fieldsInWords([{ what: field, rows }], rows)
      : `${count(rows)} fields (${listed(fields.map(fieldName))})`;
  return html`${isMore ? 'Of more than these, the first ' : ''}${what} ${pastOf[deed]}`;
}

const rowsIn = ({ parts }: FollowedDecision, ...states: readonly (EditState | null)[]): number =>
  parts.reduce((sum, { state, rows }) => (states.includes(state) ? sum + rows : sum), 0);

/** The most different reasons to name. If there are more, only the linked list has them. */
const mostReasons = 3;

/** The outcomes, such as `56 confirmed; 2 need a decision (somebody has edited the field again)`. They add up to all rows. */
function partsOf(context: PageContext, { parts, why: given }: FollowedDecision): Html {
  const whyOf = ({ state, reason, detail }: DecidedPart): string =>
    [state === 'held' && reason !== null ? holdReasons[reason].words : '', detail ?? '']
      .filter((why) => why !== '')
      .join(': ');
  const all = [...Map.groupBy(parts, ({ state }) => state)].map(([state, of]) => {
    const reasons = [...new Set(of.map(whyOf).filter((why) => why !== '' && why !== given))];
    const why =
      reasons.length === 0 || reasons.length > mostReasons
        ? none
        : html` (${visible(shownDetail(context, reasons.join('; ')))})`;
    const rows = of.reduce((sum, part) => sum + part.rows, 0);
    const words =
      state === null ? 'of which nobody knows' : state === 'held' ? needDecision(rows) : editStates[state];
    return html`${count(rows)} ${words}${why}`;
  });
  return html`${all.map((part, i) => html`${i === 0 ? '' : '; '}${part}`)}`;
}

const runsOf = (context: PageContext, { runs }: FollowedDecision): Html =>
  html`${runs.slice(0, 3).map((run) => html` <a href="${to(context, `/runs/${run}`)}">Run ${count(run)}</a>`)}`;

function nextOf(context: PageContext, decided: FollowedDecision, { listens, nextRun }: Sending): Html {
  if (rowsIn(decided, 'waiting', 'unknown') === 0) return none;
  const { team } = teamOf(context, decided.teamId);
  if (!listens)
    return html` No daemon runs, so nothing is sent before somebody begins one, or: <code>${commandOf(context, team, 'reconcile')}</code>`;
  const isNew = context.now.getTime() - decided.at.getTime() < minuteMs;
  if (isNew && rowsIn(decided, 'unknown') === 0) return html` The daemon begins with it now.`;
  return nextRun === null ? none : html` The next run is at ${at(nextRun, context.now)}.`;
}

function wayBack(context: PageContext, decided: FollowedDecision): Html {
  const { team } = teamOf(context, decided.teamId);
  const { deed, batch } = decided;
  const code = (words: string) => html`<code>${commandOf(context, team, words)}</code>`;
  const ways = [
    batch !== null && deed === 'approve' && rowsIn(decided, 'waiting') > 0
      ? html`${code(`reject ${batch}`)} takes back what has not left. `
      : none,
    batch !== null && deed === 'reject' && rowsIn(decided, 'rejected') > 0
      ? html`${code(`resolve --batch ${batch} --take mirror`)} sends it all the same. `
      : none,
  ];
  return isCopy(context) || ways.every((way) => way === none) ? none : html`<p class="note">${ways}</p>`;
}

function shapeOf(decided: FollowedDecision): readonly [IconShape, Tone] {
  if (rowsIn(decided, 'held') > 0) return ['alarm', 'act'];
  if (rowsIn(decided, 'unknown', null) > 0) return ['dashed', 'dim'];
  if (rowsIn(decided, 'sending') > 0) return ['half', 'dim'];
  return rowsIn(decided, 'waiting') > 0 ? ['clock', 'dim'] : ['tick', 'ok'];
}

/** The receipt stays until the viewer closes it or a day has passed. While edits are being sent, the script updates it. */
export function receiptCard(
  context: PageContext,
  decided: FollowedDecision | undefined,
  sending: Sending,
): Html {
  if (decided === undefined) return none;
  const [shape, tone] = shapeOf(decided);
  const isMoving = rowsIn(decided, 'waiting', 'sending') > 0;
  const isFollowed =
    sending.listens && isMoving && context.now.getTime() - decided.at.getTime() < longestFollowedMs;
  const held = decided.parts.filter(({ state }) => state === 'held');
  const [run] = decided.runs;
  const [state, ...others] = new Set(held.map(({ reason }) => reason));
  const ways = [
    ...(state === undefined
      ? []
      : [
          html`<a href="${to(context, '/waiting', { state: others.length === 0 ? state : null })}">What waits again</a>`,
        ]),
    html`<a href="${to(context, '/changes', { decision: String(decided.number) })}">With values</a>`,
    html`<a href="${href(context, { done: null })}">Close</a>`,
    run !== undefined &&
      mayDecide(context) &&
      rowsIn(decided, 'confirmed') > 0 &&
      takeBack(context, teamOf(context, decided.teamId).team, run),
  ];
  const reason =
    decided.why === null || decided.why === ''
      ? none
      : html`<p class="note">Reason: ${named(decided.why)}</p>`;
  return html`<div class="notice receipt" role="status" id="receipt"${isFollowed ? html` data-live` : none}>${icon(shape, tone, 20)}<div><p><b>${deedOf(context, decided)} by ${byWhom(context, decided.by)} at ${clockTime(decided.at, context.now, true)}.</b> ${partsOf(context, decided)}.${nextOf(context, decided, sending)}${runsOf(context, decided)}</p>${reason}${wayBack(context, decided)}<div class="row">${ways}</div></div></div>`;
}

/** A table of the last decisions, so that approvers see each other's decisions. */
export function decidedLast(context: PageContext, all: readonly FollowedDecision[]): Html {
  if (all.length === 0) return none;
  const rows = all.map((decided) => {
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
        html`${partsOf(context, decided)}${runsOf(context, decided)}`,
      ],
    };
  });
  const columns = ['When', ...teamColumns(context), 'By', 'What', 'Became of it'];
  return section('Decided last', table(context, { caption: 'Decided last', columns, rows }), {
    more: html`<a href="${to(context, '/changes', { direction: 'decided' })}">All decisions</a>`,
  });
}
