/** Waiting: batches, then single fields, the oldest first; evidence, then choice. */
import type { SeenTeam } from '../mirror/page-reader.ts';
import type { MissingRows, PageBatch, PageField } from '../mirror/page-waiting.ts';
import type { PageWaiting } from '../mirror/page-waiting-view.ts';
import { isCopy, nothingDecided } from './banner.ts';
import { chips, choice, csvChip, empty, heading, person, table } from './components.ts';
import { barredNote, decideButton, editTick, mayDecide, takeButton } from './decide.ts';
import { fieldName, fieldTitle, meaning, rowsInWords, waits, why } from './hold-words.ts';
import { type Html, html, none } from './html.ts';
import { teamName } from './layout.ts';
import { commandOf, csvOf, href, to } from './links.ts';
import { receiptCard } from './receipt.ts';
import { headOfThree, legend, textOf, three, threeValues } from './three-values.ts';
import type { Csv, PageContext, PageShown } from './view.ts';
import { at, count, listed, many, named, span, visible } from './words.ts';

const teamOf = ({ teams }: PageWaiting, teamId: bigint): SeenTeam =>
  teams.find((team) => team.teamId === teamId) ?? { team: '', teamId, name: null };

const inTeam = (context: PageContext, team: SeenTeam): Html =>
  context.team === null ? html` in ${named(teamName(team))}` : none;

/** Red is for what somebody has to do, which in a copy is nothing. */
const cardOf = (context: PageContext): string =>
  isCopy(context) ? 'card flush batch' : 'card flush act-bar batch';

/** In a copy there are none. */
const waysOf = (context: PageContext, ways: Html): Html => (isCopy(context) ? none : ways);

const since = (context: PageContext, when: Date): Html =>
  html`<p class="since note">since ${at(when, context.now)}<br>${span(context.now.getTime() - when.getTime())}</p>`;

const rowsOf = (read: PageWaiting, batch: PageBatch): readonly PageField[] =>
  read.rows.filter(({ teamId, batch: hash }) => teamId === batch.teamId && hash === batch.hash);

function rowsTable(read: PageWaiting, batch: PageBatch, context: PageContext, form: string | null): Html {
  const team = teamOf(read, batch.teamId);
  const rows = rowsOf(read, batch);
  const rowOf = (row: PageField) => {
    const id = row.userId?.toString() ?? '';
    const tick =
      form === null || row.editId === null
        ? none
        : editTick(form, row.editId, `the ${fieldName(row.field)} of ${id}`);
    const who =
      row.userId === null
        ? html`all users`
        : person(context, team.team, { id: row.userId, name: row.name, withId: true });
    const cells = three(context, row);
    return {
      cells: [html`${tick}${who}`, ...(batch.fields.length > 1 ? [fieldName(row.field)] : []), ...cells],
    };
  };
  const [base, mirror, service] = headOfThree;
  const columns = [
    { label: 'Person' },
    ...(batch.fields.length > 1 ? [{ label: 'Field' }] : []),
    { label: base, short: 'Last agreed' },
    { label: mirror, short: 'Mirror' },
    { label: service, short: 'Service' },
  ];
  const link = to(context, `/waiting/${batch.hash}`, { team: context.query.get('team') });
  const isAll = rows.length >= batch.rows;
  const foot = html`${isAll ? html`<span>${many(rows.length, 'row')}</span>` : html`<a href="${link}">All ${count(batch.rows)} rows</a><span>${count(rows.length)} shown</span>`}<span class="push"></span>${form === null ? none : html`<span>Rows without a tick wait on</span>`}`;
  return table(context, { caption: `What waits in ${batch.hash}`, columns, rows: rows.map(rowOf), foot });
}

const mostRoles = 3;

/** What all rows have in common: the field, and the roles of those whose it is. */
function inCommon({ fields, roles }: PageBatch): readonly Html[] {
  const named = fields.map(fieldName);
  const shown = roles
    .slice(0, mostRoles)
    .map(({ role, users }) => html`${visible(role ?? 'none')} (${count(users)})`);
  const rest = roles.slice(mostRoles).reduce((sum, { users }) => sum + users, 0);
  if (roles.length === 0) return [];
  return [
    html`<span>In common <b>${listed(named)}</b>; roles ${shown.map((one, i) => html`${i === 0 ? '' : ', '}${one}`)}${rest === 0 ? none : html`, ${count(rest)} others`}</span>`,
  ];
}

/** Ticks count only where all rows are shown. */
function batchCard(read: PageWaiting, batch: PageBatch, context: PageContext, isWhole: boolean): Html {
  const team = teamOf(read, batch.teamId);
  const { hash, rows } = batch;
  const shown = rowsOf(read, batch);
  const isTicked =
    isWhole && shown.length === rows && shown.filter(({ editId }) => editId !== null).length > 1;
  const form = isTicked && mayDecide(context, team.team) ? `f-${hash}` : null;
  const about = [
    ...(batch.editedAt === null
      ? []
      : [
          html`<span>Edited by <b>${batch.editors.length === 0 ? 'somebody' : named(listed(batch.editors))}</b>, last at ${at(batch.editedAt, context.now, true)}</span>`,
        ]),
    ...inCommon(batch),
    html`<span>Batch <code>${hash}</code>${batch.runId === null ? none : html`, <a href="${to(context, `/runs/${batch.runId}`)}">run ${count(batch.runId)}</a>`}</span>`,
  ];
  const approve = commandOf(context, team.team, `approve ${hash} --reason '…'`);
  const reject = commandOf(context, team.team, `reject ${hash} --reason '…'`);
  const requests = Math.max(1, Math.ceil(batch.users / 25));
  return html`<section class="${cardOf(context)}" id="${`batch-${hash}`}">
<div class="head"><div><h2 class="h3">${rowsInWords(batch)} ${waits(rows, 'an approval')}${inTeam(context, team)}</h2><p>${batch.reasons.map((reason) => html`${visible(reason)}. `)}${isCopy(context) ? html`None of it is sent from here.` : html`None of it was sent. It waits until somebody decides or the edits change; all else goes on.`}</p><p class="about">${about}</p></div>${since(context, batch.since)}</div>
${rowsTable(read, batch, context, form)}
${waysOf(
  context,
  html`${choice('Meant so', `the next run sends ${rows === 1 ? 'it' : `all ${count(rows)}`}, in ${many(requests, 'request')}`, approve, decideButton(context, { hash, team: team.team, verb: 'Approve', rows, form, isMain: true }))}
${choice('Not meant so', `${rows === 1 ? 'it stays' : 'they stay'} in the mirror and ${rows === 1 ? 'is' : 'are'} held as rejected`, reject, decideButton(context, { hash, team: team.team, verb: 'Reject', rows, form }))}`,
)}
</section>`;
}

function missingCard(read: PageWaiting, missing: MissingRows, context: PageContext): Html {
  const team = teamOf(read, missing.teamId);
  const what = missing.resource.replace('_', ' ');
  const { hash, rows } = missing;
  return html`<section class="${cardOf(context)}" id="${`missing-${hash}`}">
<div class="head"><div><h2 class="h3">${count(rows)} ${what} are missing on the service${inTeam(context, team)}</h2><p>${visible(missing.reason)}. None of them is called gone before somebody agrees; they stay in the mirror.</p></div>${since(context, missing.since)}</div>
${waysOf(context, html`${choice('They are really gone', 'the next complete run calls them gone, if they are missing still', commandOf(context, team.team, `approve ${hash} --reason '…'`), decideButton(context, { hash, team: team.team, verb: 'Approve', rows, form: null }))}`)}
</section>`;
}

function singleCard(read: PageWaiting, row: PageField, context: PageContext): Html {
  const team = teamOf(read, row.teamId);
  const { userId, field } = row;
  if (userId === null) return none;
  const id = userId.toString();
  const resolve = (take: string) => commandOf(context, team.team, `resolve ${id} ${field} --take ${take}`);
  const take = (side: 'mirror' | 'service' | 'value', words: string) =>
    takeButton(context, { team: team.team, id, shown: row, take: side, words });
  const edited =
    row.editedAt === null
      ? none
      : html`edited ${at(row.editedAt, context.now)}${row.editedBy === null ? none : html` by ${named(row.editedBy)}`}`;
  const isRefused = row.reason === 'refused';
  const choices = isRefused
    ? html`${choice('Give it up', 'the mirror gets the service’s value', resolve('service'), take('service', 'Take the service’s'))}${choice('Send another value', 'put it in the place of the dots', resolve("'…'"), take('value', 'Another value'))}`
    : html`${choice('Take the mirror’s', 'the next run sends it', resolve('mirror'), take('mirror', 'Take the mirror’s'))}${choice('Take the service’s', 'the mirror gets it', resolve('service'), take('service', 'Take the service’s'))}`;
  const seen = textOf(row.service) === textOf(row.base) ? none : html`by whom, the service does not say`;
  return html`<section class="${cardOf(context)}" id="${`c-${id}-${field}`}">
<div class="head"><div><h2 class="h3">${fieldTitle(field)} of ${person(context, team.team, { id: userId, name: row.name })}: ${why[row.reason]}${inTeam(context, team)}</h2><p>${row.detail === '' ? none : html`${visible(row.detail)}. `}${meaning[row.reason]}${row.requestId === null ? none : html` X-Request-Id <code>${row.requestId}</code>`}</p></div>${since(context, row.since)}</div>
<div class="inset">${threeValues(context, row, [none, edited, seen])}</div>
${waysOf(context, choices)}
</section>`;
}

/** Which of them `?state=` asks for. */
const isAsked = (context: PageContext, state: string): boolean => {
  const asked = context.query.get('state');
  return asked === null || asked === state;
};

function stateChips(read: PageWaiting, context: PageContext): Html {
  const inBatches = read.batches.reduce((sum, { rows }) => sum + rows, 0);
  const missing = read.missing.length;
  const singles = Object.values(read.singleCounts).reduce((sum, one) => sum + one, 0);
  const chip = (label: string, state: string | null, number: number) => ({
    label,
    count: number,
    href: href(context, { state }),
    isCurrent: context.query.get('state') === state,
  });
  const all = [
    chip('All', null, inBatches + missing + singles),
    chip('For an approval', 'approval', inBatches + missing),
    ...Object.entries(read.singleCounts).map(([reason, number]) => {
      const word = reason.charAt(0).toUpperCase() + reason.slice(1);
      return chip(word, reason, number);
    }),
  ];
  return chips('What waits', all, html`${legend}${csvChip(csvOf(context))}`);
}

function cards(read: PageWaiting, context: PageContext, isWhole: boolean): Html {
  const batches = isAsked(context, 'approval')
    ? html`${read.batches.map((batch) => batchCard(read, batch, context, isWhole))}${read.missing.map((one) => missingCard(read, one, context))}`
    : none;
  const singles = read.singles.filter(({ reason }) => isAsked(context, reason));
  const barred = barredNote(
    context,
    [...read.batches, ...read.missing, ...singles].map(({ teamId }) => teamOf(read, teamId).team),
  );
  return html`<div class="stack"${context.decide === null ? none : html` data-still`}>${barred}${batches}${singles.map((row) => singleCard(read, row, context))}</div>`;
}

export function waiting(read: PageWaiting, context: PageContext): PageShown {
  const inBatches = read.batches.reduce((sum, { rows }) => sum + rows, 0);
  const singles = Object.values(read.singleCounts).reduce((sum, one) => sum + one, 0);
  const all = inBatches + singles + read.missing.length;
  if (all === 0) {
    const text =
      'Fields appear here when both sides changed one, when the service refuses a value, or when a run would push to more users than the guard lets pass.';
    const title = 'Nothing waits for anybody';
    return {
      title,
      main: html`<h1 class="away">${title}</h1>${receiptCard(context)}${empty('tick', title, text)}`,
    };
  }
  const title = `${many(all, 'field')} ${all === 1 ? 'waits' : 'wait'} for somebody`;
  const decisions = read.batches.length + read.missing.length;
  const parts = [
    ...(decisions === 0
      ? []
      : [`${many(decisions, 'decision')} about ${count(inBatches + read.missing.length)} of them`]),
    ...(singles === 0 ? [] : [many(singles, 'single one')]),
  ];
  const text = isCopy(context)
    ? nothingDecided
    : `${listed(parts)}. Nothing that waits is lost, and nothing of it is sent before somebody decides.`;
  return {
    title,
    main: html`${heading(title, text)}${receiptCard(context)}${stateChips(read, context)}${cards(read, context, false)}`,
  };
}

export function waitingBatch(read: PageWaiting, context: PageContext): PageShown {
  const back = html`<p class="note"><a href="${to(context, '/waiting')}">Waiting</a></p>`;
  if (read.batches.length + read.missing.length === 0) {
    const title = 'Nothing waits under this name';
    const text = 'It was decided, or the edits have changed since, and what waits now has another name.';
    const more = html`<p><a href="${to(context, '/waiting')}">What waits now</a></p>`;
    return { title, main: html`<h1 class="away">${title}</h1>${empty('tick', title, text, more)}` };
  }
  const title = `Batch ${context.params['batch'] ?? ''}`;
  return {
    title,
    main: html`${heading(title, isCopy(context) ? nothingDecided : 'All of it, with its values.', back)}${cards(read, context, true)}`,
  };
}

export function waitingCsv(read: PageWaiting, context: PageContext): Csv {
  const shown = (field: string, value: unknown) =>
    context.details || field === 'role_id' ? textOf(value) : value === null ? null : 'not shown';
  const rows = [...read.rows, ...read.singles].map((row) => [
    teamOf(read, row.teamId).team,
    row.userId,
    ...(context.details ? [row.name] : []),
    row.field,
    row.reason,
    row.detail,
    shown(row.field, row.base),
    shown(row.field, row.mirror),
    shown(row.field, row.service),
    row.since,
    row.editedBy,
    row.batch,
  ]);
  const head = ['team', 'user_id', ...(context.details ? ['name'] : []), 'field', 'reason', 'detail'];
  return { head: [...head, 'last_agreed', 'mirror', 'service', 'since', 'edited_by', 'batch'], rows };
}
