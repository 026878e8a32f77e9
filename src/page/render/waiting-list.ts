/** Waiting: a list for each reason, batches first, with evidence and one decision about the ticked rows. */
import type { ListRead, PageWaiting } from '../read/page-waiting-view.ts';
import { holdReasons, needDecision } from '../../model/edit-state.ts';
import { mostWhole, ownKey } from '../../model/waiting-page.ts';
import { hasBanner, isCopy, nothingDecided } from './banner.ts';
import { chips, csvChip, empty, heading } from './components.ts';
import { barredNote } from './decide.ts';
import { byWhom, editorsIn, isMine, listTitle } from './hold-words.ts';
import { type Html, html, none } from './html.ts';
import { csvOf, href, to } from './links.ts';
import { decidedBelow, listFilters, lookAtAll } from './list-form.ts';
import { rowsTable, type ListOnPage, listOnPage } from './list-rows.ts';
import { decidedLast, nothingCard, receiptCard } from './receipt.ts';
import { cardOf, inTeam, missingCard, since } from './waiting-cards.ts';
import { legend, textOf } from './three-values.ts';
import { type Csv, csvFrom, type PageContext, type PageShown, teamOf } from './view.ts';
import { at, capital, clockTime, count, inLetters, listed, many, span, visible } from './words.ts';

/** Below a banner nothing is called well. */
const wellIn = (context: PageContext) => (hasBanner(context) ? 'dashed' : 'tick');

/** `4 of 60 edits are left`, if some of it was decided before. */
const titleOf = (list: ListRead): string =>
  list.decided === null
    ? listTitle(list)
    : `${count(list.rows)} of ${many(list.rows + list.decided.rows, 'edit')} ${list.rows === 1 ? 'is' : 'are'} left`;

function decidedBefore(context: PageContext, { decided }: ListRead): readonly Html[] {
  if (decided === null) return [];
  const { rows, approved, by, at: when } = decided;
  const what = approved === rows ? 'approved' : approved === 0 ? 'rejected' : 'decided about, the last';
  return [
    html`<span>${count(rows)} ${what} by <b>${byWhom(context, by)}</b> at ${at(when, context.now)}</span>`,
  ];
}

function aboutOf({ list, context, read }: ListOnPage): Html {
  const { editedFrom, editedTo, batch, runId } = list;
  const from = editedFrom === null ? '' : clockTime(editedFrom, context.now);
  const until = editedTo === null ? '' : clockTime(editedTo, context.now);
  const about = [
    ...(read.isAlone
      ? [
          html`<span>Waits since ${at(list.since, context.now)}, ${span(context.now.getTime() - list.since.getTime())}</span>`,
        ]
      : []),
    ...(editedTo === null
      ? []
      : [
          html`<span>Edited here by ${editorsIn(context, list)}, ${from === until ? from : `${from} to ${until}`}</span>`,
        ]),
    ...(list.state === 'conflict' ? [html`<span>On the service: by whom, it does not say</span>`] : []),
    ...(batch === null
      ? []
      : [
          ...decidedBefore(context, list),
          html`<span>Batch <code>${batch}</code>${runId === null ? none : html`, <a href="${to(context, `/runs/${runId}`)}">run ${count(runId)}</a>`}</span>`,
        ]),
  ];
  return html`<p class="row about">${about}</p>`;
}

/** The reason why it waits, and what that means. */
function meaningOf({ list, context, read, isDecided }: ListOnPage): Html {
  const details =
    list.batch !== null || (list.state === 'limit' && list.details.length === 1)
      ? list.details.filter((detail) => detail !== '').map((detail) => html`${visible(capital(detail))}. `)
      : [];
  const means =
    list.batch === null
      ? holdReasons[list.state].means[list.rows === 1 ? 0 : 1]
      : isCopy(context)
        ? 'None of it is sent from here.'
        : 'None of it was sent. It waits until somebody decides or the edits change; all else goes on.';
  const own = isDecided ? list.shown.filter((row) => read.own.has(ownKey(row))).length : 0;
  const some = `${capital(inLetters(own))} of them ${own === 1 ? 'is your own edit' : 'are your own edits'}`;
  const all = own === 1 ? 'It is your own edit' : `All ${count(own)} are your own edits`;
  const mine =
    own === 0
      ? none
      : html` <b>${own === list.rows ? all : some}</b>, which somebody else has to approve (four eyes).`;
  return html`${details}${means}${overtakenIn(context, list)}${mine}`;
}

/** Says that somebody has approved an earlier edit of which nothing was sent. */
function overtakenIn(context: PageContext, { shown }: ListRead): Html {
  const by = shown.flatMap(({ overtaken }) => overtaken ?? []);
  const [first, ...others] = new Set(by);
  if (first === undefined) return none;
  const approval =
    others.length > 0
      ? 'the approvals do'
      : isMine(context, first)
        ? 'your approval does'
        : html`the approval of ${byWhom(context, first)} does`;
  const [were, them] = by.length === 1 ? ['was', 'it'] : ['were', 'them'];
  return html` ${capital(inLetters(by.length))} ${were} edited again before ${by.length === 1 ? 'it was' : 'they were'} sent, so ${approval} not reach ${them}.`;
}

function listCard(read: PageWaiting, list: ListRead, context: PageContext): Html {
  const standing = listOnPage(read, list, context);
  const isWhole = list.rows <= mostWhole;
  const id = list.batch === null ? `${list.state}-${standing.team.team}` : `batch-${list.batch}`;
  return html`<section class="${cardOf(context)}" id="${id}">
<div class="part row between head"><div><h2 class="h3">${titleOf(list)}${inTeam(context, standing.team)}</h2><p class="dim">${meaningOf(standing)}</p>${aboutOf(standing)}</div>${since(context, list.since)}</div>
${isWhole ? decidedBelow(standing) : html`${rowsTable(standing)}${lookAtAll(standing)}`}
</section>`;
}

function stateChips({ all, missing }: PageWaiting, context: PageContext): Html {
  const states = [...Map.groupBy(all, ({ state }) => state)].map(
    ([state, of]) => [state, of.reduce((sum, { rows }) => sum + rows, 0)] as const,
  );
  const sum = states.reduce((total, [, rows]) => total + rows, 0) + missing.length;
  const chip = (label: string, state: string | null, number: number) => ({
    label,
    count: number,
    href: href(context, { state }),
    isCurrent: context.query.get('state') === state,
  });
  const chosen = [
    chip('All', null, sum),
    ...states.map(([state, rows]) => chip(capital(holdReasons[state].words), state, rows)),
    ...(missing.length > 0 ? [chip('Missing rows', 'missing', missing.length)] : []),
  ];
  return chips('What waits', chosen, html`${legend}${csvChip(csvOf(context))}`);
}

function leadOf({ all, missing }: PageWaiting): string {
  const batches = all.filter(({ batch }) => batch !== null);
  const others = all.filter(({ batch }) => batch === null);
  const inBatches = batches.reduce((sum, { rows }) => sum + rows, 0);
  const byState = [...Map.groupBy(others, ({ state }) => state)].map(
    ([state, of]) => `${count(of.reduce((sum, { rows }) => sum + rows, 0))} ${holdReasons[state].words}`,
  );
  const parts = [
    ...(batches.length === 0
      ? []
      : [
          `${batches.length === 1 ? 'One batch' : `${count(batches.length)} batches`} of ${count(inBatches)}`,
        ]),
    ...(missing.length === 0 ? [] : [`${many(missing.length, 'list')} of missing rows`]),
    ...byState,
  ];
  return `${listed(parts)}. Nothing that waits is lost, and nothing of it is sent before somebody decides.`;
}

/** The messages of `?note=`. */
const notes: Readonly<Record<string, Html>> = {
  missing: html`<div class="notice receipt" role="status" id="receipt"><p><b>It is agreed that they are gone.</b> The next complete run marks them so, if it does not find them.</p></div>`,
};

/** The view of all lists, or of one alone. @param refusal why nothing was decided, if the list comes back */
export function waiting(read: PageWaiting, context: PageContext, refusal?: string): PageShown {
  const receipt =
    refusal === undefined
      ? html`${notes[context.query.get('note') ?? ''] ?? none}${receiptCard(context, read)}`
      : nothingCard(refusal);
  const [alone] = read.lists;
  if (read.isAlone && alone !== undefined) return aloneList(read, alone, context, receipt);
  const barred = barredNote(
    context,
    [...read.lists, ...read.missing].map(({ teamId }) => teamOf(context, teamId).team),
  );
  const cards = html`<div class="stack">${barred}${read.lists.filter(({ batch }) => batch !== null).map((list) => listCard(read, list, context))}${read.missing.map((one) => missingCard(one, context))}${read.lists.filter(({ batch }) => batch === null).map((list) => listCard(read, list, context))}</div>`;
  const last = decidedLast(context, read.decided);
  const rows = read.all.reduce((sum, list) => sum + list.rows, 0) + read.missing.length;
  if (context.params['batch'] !== undefined && read.lists.length + read.missing.length === 0) {
    const title = 'Nothing waits under this name';
    const text = 'It was decided, or the edits have changed since, and what waits now has another name.';
    const more = html`<p><a href="${to(context, '/waiting')}">What waits now</a></p>`;
    return {
      title,
      main: html`${receipt}<h1 class="away">${title}</h1>${empty(wellIn(context), title, text, more)}`,
    };
  }
  if (rows === 0) {
    const text =
      'Fields appear here when both sides changed one, when the service refuses a value, or when a run would push to more users than the guard lets pass.';
    const title = 'Nothing needs a decision';
    return {
      title,
      main: html`${receipt}<h1 class="away">${title}</h1>${empty(wellIn(context), title, text)}${last}`,
    };
  }
  const title = `${many(rows, 'field')} ${needDecision(rows)}`;
  const text = isCopy(context) ? nothingDecided : leadOf(read);
  return {
    title,
    main: html`${receipt}${heading(title, text)}${stateChips(read, context)}${cards}${last}`,
  };
}

/** The page of one list, with its title and its meaning at the top. */
function aloneList(read: PageWaiting, list: ListRead, context: PageContext, receipt: Html): PageShown {
  const standing = listOnPage(read, list, context);
  const title = titleOf(list);
  const tick =
    list.state === 'conflict' && standing.isDecided
      ? ' Tick the rows of which you know which side is right, then say which; the next page asks once more.'
      : '';
  const text = isCopy(context) ? html`${nothingDecided}` : html`${meaningOf(standing)}${tick}`;
  const before = html`<p class="note"><a href="${to(context, '/waiting')}">Waiting</a></p>`;
  const barred = barredNote(context, [standing.team.team]);
  return {
    title,
    main: html`${receipt}${heading(html`${title}${inTeam(context, standing.team)}`, text, before)}<div class="stack">${barred}<div class="${cardOf(context)}"><div class="part row">${aboutOf(standing)}<span class="push"></span>${csvChip(csvOf(context))}${listFilters(standing)}</div>${decidedBelow(standing)}</div></div>`,
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
