/** Waiting: what each person did and a run stopped, with evidence and one decision about the ticked rows. */
import { editStates, holdReasons } from '../../model/edit-state.ts';
import type { ListWithRows, MissingRows, PageWaiting } from '../read/page-waiting.ts';
import type { SeenTeam } from '../read/page-reader.ts';
import { hasBanner, isCopy } from './banner.ts';
import { chips, csvChip, empty, heading } from './components.ts';
import { barredNote, mayDecide, postForm } from './decide-form.ts';
import { editorsIn, listTitle } from './hold-words.ts';
import { type Html, html, none } from './html.ts';
import { csvOf, to } from './links.ts';
import { decidedLast, receiptCard } from './receipt.ts';
import { legend, textOf } from './three-values.ts';
import { type Csv, csvFrom, type PageContext, type PageShown, teamOf } from './view.ts';
import { detailsAbove, listBody, listFilters, type ListOnPage, listOnPage } from './waiting-rows.ts';
import { at, capital, clockTime, count, many, named, span, visible } from './words.ts';

export const inTeam = (context: PageContext, { team }: SeenTeam): Html =>
  context.team === null ? html` in ${named(team)}` : none;

/** The card is red if somebody has to do something, which in a copy nobody has. */
const cardOf = (context: PageContext): string =>
  isCopy(context) ? 'card flush batch' : 'card flush act-bar batch';

const since = ({ now }: PageContext, when: Date): Html =>
  html`<span>Since ${at(when, now)}, ${span(now.getTime() - when.getTime())}</span>`;

/** Why it waits, what that means, and who did it when. */
function aboutOf({ list, context }: ListOnPage): Html {
  const { editedFrom, editedTo, batch, runId, users, decided } = list;
  const [from, until] = [editedFrom, editedTo].map((when) =>
    when === null ? '' : clockTime(when, context.now),
  );
  const details = detailsAbove(list).map((detail) => html`${visible(capital(detail))}. `);
  const means = list.reasons.map(
    ({ what }) =>
      `${list.reasons.length === 1 ? '' : `${capital(holdReasons[what].words)}: `}${holdReasons[what].means} `,
  );
  const edited =
    editedTo === null
      ? none
      : html`<span>Edited here by ${editorsIn(context, list)}, ${from === until ? from : `${from} to ${until}`}</span>`;
  const named =
    batch === null
      ? none
      : html`<span>Batch <code>${batch}</code>${runId === null ? none : html`, <a href="${to(context, `/runs/${runId}`)}">run ${count(runId)}</a>`}${decided === 0 ? '' : `; ${count(decided)} decided before`}</span>`;
  return html`<p class="dim">${details}${means}</p><p class="row about">${since(context, list.since)}${edited}<span>${many(users, 'person', 'people')}</span>${named}</p>`;
}

function listCard(read: PageWaiting, list: ListWithRows, context: PageContext): Html {
  const standing = listOnPage(read, list, context);
  const id = list.batch === null ? `${list.reasons[0]?.what}-${standing.team.team}` : `batch-${list.batch}`;
  const filters = read.isAlone ? html`<div class="part row">${listFilters(standing)}</div>` : none;
  return html`<section class="${cardOf(context)}" id="${id}">
<div class="part head"><h2 class="h3">${listTitle(list)}${inTeam(context, standing.team)}</h2>${aboutOf(standing)}</div>
${filters}${listBody(standing)}
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

/** The view of all lists, or of one alone. Below a banner nothing is called well. */
export function waiting(read: PageWaiting, context: PageContext): PageShown {
  const { lists, missing, all } = read;
  const sum = all.reduce((total, { rows }) => total + rows, 0) + missing.length;
  const isNamed = context.params['batch'] !== undefined;
  const receipt = receiptCard(context, read);
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
  const title =
    read.isAlone && alone !== undefined ? listTitle(alone) : `${capital(editStates.held)}: ${count(sum)}`;
  const text = 'Nothing that waits is lost, and nothing of it is sent before somebody decides.';
  const barred = barredNote(context);
  const before = read.isAlone
    ? html`<p class="note"><a href="${to(context, '/waiting')}">Waiting</a></p>`
    : none;
  const cards = html`${missing.map((one) => missingCard(one, context))}${lists.map((list) => listCard(read, list, context))}`;
  return {
    title,
    main: html`${receipt}${heading(title, text, before)}${stateChips(read, context, sum)}<div class="stack">${barred}${cards}</div>${last}`,
  };
}

export function waitingCsv(read: PageWaiting, context: PageContext): Csv {
  const shownValue = (field: string, value: unknown) =>
    context.details || field === 'role_id' ? textOf(value) : value === null ? null : 'not shown';
  return csvFrom(
    read.lists.flatMap((list) => list.shown),
    {
      team: (row) => teamOf(context, row.teamId).team,
      user_id: (row) => row.userId,
      ...(context.details ? { name: (row) => row.name } : {}),
      field: (row) => row.field,
      state: () => 'held',
      reason: (row) => row.reason,
      detail: (row) => row.detail,
      last_agreed: (row) => shownValue(row.field, row.base),
      mirror: (row) => shownValue(row.field, row.mirror),
      service: (row) => shownValue(row.field, row.service),
      since: (row) => row.since,
      edited_by: (row) => row.editedBy,
      batch: (row) => row.batch,
    },
  );
}
