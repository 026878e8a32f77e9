/** The view Waiting: lists of held edits, each with evidence and one decision about the ticked rows. */
import { editStates, holdReasons } from '../../model/edit-state.ts';
import { type FollowedDecision, readDone } from '../read/page-decided.ts';
import type { PageReader } from '../read/page-reader.ts';
import {
  type MissingRows,
  readOwn,
  readSending,
  readWaitingLists,
  type Sending,
  type WaitingList,
} from '../read/page-waiting.ts';
import { hasBanner, isCopy } from '../render/banner.ts';
import { chips, csvChip, empty, heading, inTeam } from '../render/components.ts';
import { barredNote, mayDecide, postForm } from '../render/decide-form.ts';
import { detailsAbove, editorsIn, listTitle } from '../render/hold-words.ts';
import { type Html, html, none } from '../render/html.ts';
import { csvOf, to } from '../render/links.ts';
import { decidedLast, receiptCard } from '../render/receipt.ts';
import { legend } from '../render/three-values.ts';
import {
  type Csv,
  csvFrom,
  type PageContext,
  type PageShown,
  teamOf,
  type ViewRequest,
  view,
} from '../render/view.ts';
import { at, capital, count, fromTo, many, span, visible } from '../render/words.ts';
import { heldCsv, heldRows, type ListOnPage, listBody } from './held-rows.ts';
import { readListRows } from './list.ts';

export interface PageWaiting {
  readonly all: readonly WaitingList[];
  readonly lists: readonly ListOnPage[];
  readonly missing: readonly MissingRows[];
  readonly sending: Sending;
  /** The decision that `?done=` names, if it is less than a day old. */
  readonly done: FollowedDecision | undefined;
  /** The newest decisions. It is empty if the page shows only one list. */
  readonly decided: readonly FollowedDecision[];
}

const lastDecided = 5;

/** Reads the first rows of each list or, if the page shows only one list, the requested page of its rows. */
async function readListsOnPage(
  reader: PageReader,
  wanted: readonly WaitingList[],
  request: ViewRequest,
  isAlone: boolean,
): Promise<readonly ListOnPage[]> {
  const lists: ListOnPage[] = [];
  const asked = isAlone ? request : { ...request, query: new URLSearchParams() };
  for (const list of wanted) {
    const page = await readListRows(heldRows({ ...list, isAlone, own: new Set() }), reader, asked, list.rows);
    lists.push({ ...list, isAlone, page, own: await readOwn(reader, page.rows) });
  }
  return lists;
}

export async function readWaitingView(reader: PageReader, request: ViewRequest): Promise<PageWaiting> {
  const { params, query, isCsv } = request;
  const { batch } = params;
  const state = batch === undefined ? query.get('state') : null;
  const all = await readWaitingLists(reader);
  const some = all.lists.filter(
    ({ reasons }) => state === null || reasons.some(({ what }) => what === state),
  );
  const isWhole = state === null || some.every(({ reasons }) => reasons.length === 1);
  const asked = isWhole ? some : (await readWaitingLists(reader, state)).lists;
  const wanted = batch === undefined ? asked : asked.filter((list) => list.batch === batch);
  const missing = all.missing.filter(({ hash }) =>
    batch === undefined ? [null, 'missing'].includes(state) : hash === batch,
  );
  const isNarrow = batch !== undefined || state !== null;
  const isAlone = wanted.length === 1 && missing.length === 0 && isNarrow;
  const lists = await readListsOnPage(reader, wanted, request, isAlone);
  const { decided, done } = await readDone(reader, query, isAlone || isCsv ? 0 : lastDecided);
  const sending = await readSending(done === undefined ? reader : { ...reader, teamIds: [done.teamId] });
  return { all: all.lists, missing, lists, sending, done, decided };
}

/** The card is red, because a person has to decide. In a copy it is not red, because nothing can be decided there. */
const cardOf = (context: PageContext): string =>
  isCopy(context) ? 'card flush batch' : 'card flush act-bar batch';

const since = ({ now }: PageContext, when: Date): Html =>
  html`<span>Since ${at(when, now)}, ${span(now.getTime() - when.getTime())}</span>`;

function aboutOf(list: ListOnPage, context: PageContext): Html {
  const { editedFrom, editedTo, batch, runId, users, reasons } = list;
  const means = reasons.map(
    ({ what }) =>
      `${reasons.length === 1 ? '' : `${capital(holdReasons[what].words)}: `}${holdReasons[what].means} `,
  );
  const edited =
    editedFrom !== null &&
    editedTo !== null &&
    html`<span>Edited here by ${editorsIn(context, list)}, ${fromTo(editedFrom, editedTo, context.now)}</span>`;
  const run = runId !== null && html`, <a href="${to(context, `/runs/${runId}`)}">run ${count(runId)}</a>`;
  const named = batch !== null && html`<span>Batch <code>${batch}</code>${run}</span>`;
  return html`<p class="dim">${detailsAbove(context, list)}${means}</p><p class="row about">${since(context, list.since)}${edited}<span>${many(users, 'person', 'people')}</span>${named}</p>`;
}

function listCard(list: ListOnPage, context: PageContext): Html {
  const team = teamOf(context, list.teamId);
  const id = list.batch === null ? `${list.reasons[0]?.what}-${team.team}` : `batch-${list.batch}`;
  return html`<section class="${cardOf(context)}" id="${id}">
<div class="part head"><h2 class="h3">${listTitle(list)}${inTeam(context, team)}</h2>${aboutOf(list, context)}</div>
${listBody(list, context)}
</section>`;
}

function missingCard(missing: MissingRows, context: PageContext): Html {
  const team = teamOf(context, missing.teamId);
  const { hash, rows } = missing;
  const button = mayDecide(context)
    ? html`<div class="part">${postForm(
        context,
        { team: team.team, batch: hash, rows: String(rows) },
        html`<button class="button main" name="verb" value="approve">Approve ${count(rows)}…</button> <span class="note">They are really gone: the next complete run marks them so, if they are still missing.</span>`,
      )}</div>`
    : none;
  return html`<section class="${cardOf(context)}" id="${`missing-${hash}`}">
<div class="part head"><h2 class="h3">${count(rows)} ${missing.resource.replace('_', ' ')}: missing on the service${inTeam(context, team)}</h2><p class="dim">${visible(capital(missing.reason))}. None of them is marked as gone before somebody agrees; they stay in the mirror.</p><p class="row about">${since(context, missing.since)}</p></div>
${button}
</section>`;
}

function stateChips({ all, missing }: PageWaiting, context: PageContext, sum: number): Html {
  const reasons = all.flatMap((list) => list.reasons);
  const chip = (label: string, state: string | null, number: number) => ({
    label,
    count: number,
    href: to(context, '/waiting', { state }),
    isCurrent: context.params['batch'] === undefined && context.query.get('state') === state,
  });
  const chosen = [
    chip('All', null, sum),
    ...[...Map.groupBy(reasons, ({ what }) => what)].map(([state, of]) =>
      chip(
        capital(holdReasons[state].words),
        state,
        of.reduce((total, { rows }) => total + rows, 0),
      ),
    ),
    ...(missing.length > 0 ? [chip('Missing rows', 'missing', missing.length)] : []),
  ];
  return chips('What waits', chosen, html`${legend}${csvChip(csvOf(context))}`);
}

/** The view of all lists, or of one list. While a banner shows a problem, an empty view has no tick for "all is well". */
export function waiting(read: PageWaiting, context: PageContext): PageShown {
  const { lists, missing, all } = read;
  const sum = all.reduce((total, { rows }) => total + rows, 0) + missing.length;
  const isNamed = context.params['batch'] !== undefined;
  const receipt = receiptCard(context, read.done, read.sending);
  const last = decidedLast(context, read.decided);
  if (lists.length + missing.length === 0 && (isNamed || sum === 0)) {
    const title = isNamed ? 'Nothing waits under this name' : 'Nothing needs a decision';
    const text = isNamed
      ? 'It was decided, or the edits have changed since, and what waits now has another name.'
      : 'Fields stand here when both sides changed one, when the service refuses a value, or when a limit stops what somebody did.';
    const more = isNamed ? html`<p><a href="${to(context, '/waiting')}">What waits now</a></p>` : none;
    const sign = empty(hasBanner(context) ? 'dashed' : 'tick', title, text, more);
    return { title, main: html`${receipt}<h1 class="away">${title}</h1>${sign}${last}` };
  }
  const [alone] = lists;
  const isAlone = alone?.isAlone === true;
  const title = isAlone ? listTitle(alone) : `${capital(editStates.held)}: ${count(sum)}`;
  const text = 'Nothing that waits is lost, and nothing of it is sent before somebody decides.';
  const barred = barredNote(context);
  const before = isAlone && html`<p class="note"><a href="${to(context, '/waiting')}">Waiting</a></p>`;
  const cards = html`${missing.map((one) => missingCard(one, context))}${lists.map((list) => listCard(list, context))}`;
  return {
    title,
    main: html`${receipt}${heading(title, text, before)}${stateChips(read, context, sum)}<div class="stack">${barred}${cards}</div>${last}`,
  };
}

export const waitingCsv = ({ lists }: Pick<PageWaiting, 'lists'>, context: PageContext): Csv =>
  csvFrom(
    lists.flatMap(({ page }) => page.rows),
    heldCsv(context),
  );

export const waitingViews = ['/waiting', '/waiting/:batch'].map((path) =>
  view({ path, tab: 'Waiting', read: readWaitingView, render: waiting, csv: waitingCsv }),
);
