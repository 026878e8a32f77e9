/** Changes: the ledger by day, filtered, with the values before and after. */
import type { ChangesRead } from '../read/page-changes.ts';
import { fieldColumns } from '../../model/fields.ts';
import { directions } from '../../model/ledger-words.ts';
import { commandBox, csvChip, empty, filterForm, heading } from './components.ts';
import { actorOf, changesTable, fieldWord } from './change-row.ts';
import { changesFilter, inSql, isWholeNumber } from './changes-filter.ts';
import { type Html, html, none } from './html.ts';
import { commandOf, csvOf, href, to } from './links.ts';
import { textOf } from './three-values.ts';
import { type Csv, csvFrom, type PageContext, type PageShown, teamOf } from './view.ts';
import { clockTime, count, many, time, visible } from './words.ts';

const dayMs = 86_400_000;

function choice(
  name: string,
  any: string,
  current: string | null,
  all: readonly (readonly [string, string])[],
): Html {
  const options = all.map(
    ([word, shown]) =>
      html`<option value="${word}"${word === current ? html` selected` : none}>${visible(shown)}</option>`,
  );
  return html`<select name="${name}"><option value="">${any}</option>${options}</select>`;
}

function filters(context: PageContext, { actors }: ChangesRead): Html {
  const filter = changesFilter(context, context.now);
  const people = filter.actor === null || actors.includes(filter.actor) ? actors : [filter.actor, ...actors];
  const fields = fieldColumns.map((field) => [field, fieldWord(field)] as const);
  const since = filter.since?.toISOString().slice(0, 10) ?? '';
  const inside = html`<label class="field note">Person<input type="search" name="q" value="${filter.q}" maxlength="200" placeholder="${context.details ? 'name or id' : 'id'}"></label><label class="field note">Field${choice('field', 'any', filter.field, fields)}</label><label class="field note">Direction${choice(
    'direction',
    'any',
    filter.direction,
    directions.map((direction) => [direction, direction]),
  )}</label><label class="field note">By${choice(
    'actor',
    'anybody',
    filter.actor,
    people.map((name) => [name, name]),
  )}</label><label class="field note">Run<input size="8" name="run" inputmode="numeric" value="${filter.runId ?? ''}" maxlength="20"></label><label class="field note">Decision<input size="8" name="decision" inputmode="numeric" value="${filter.decision ?? ''}" maxlength="20"></label><label class="field note">Since<input type="date" name="since" value="${since}"></label>`;
  const more = html`<span class="push"></span>${csvChip(csvOf(context))}`;
  return filterForm(context, { kept: ['team'], inside, button: 'Filter', more });
}

/** Only a run can be undone: the one of the filter, or else the last one here that moved anything. */
function waysOn(context: PageContext, { rows }: ChangesRead): Html {
  const filter = changesFilter(context, context.now);
  const moved = rows.find(({ kind, run_id: run }) => run !== null && (kind === 'push' || kind === 'pull'));
  const run = filter.runId ?? moved?.run_id ?? null;
  const team = context.team?.team ?? (moved === undefined ? '' : teamOf(context, moved.team_id).team);
  const command = run === null ? null : commandOf(context, team, `undo ${run}`);
  const undo = html`<section class="card"><h2>Take a run back</h2><p>Shows the inverse of what a run moved, where it still stands. Nothing is written without <code>--apply</code>.</p>${
    command === null || run === null
      ? html`<p class="label">No run moved anything here.</p>`
      : html`<p class="label">What would go back of run ${count(run)}</p>${commandBox(command)}`
  }</section>`;
  const query = inSql(
    context.details ? filter : { ...filter, q: isWholeNumber.test(filter.q) ? filter.q : '' },
    context,
  );
  const sqlCard = html`<section class="card"><h2>The same in SQL</h2><p>A row of <code>report.changes</code> is one field moved.</p><p class="label">What this page shows</p>${commandBox(query, '')}</section>`;
  return html`<div class="halves">${undo}${sqlCard}</div>`;
}

function foot(context: PageContext, { rows, isMore, searchEnd }: ChangesRead): Html {
  const last = rows.at(-1);
  const rowWords = many(rows.length, 'row');
  const isFirst = changesFilter(context, context.now).before === null;
  const first = isFirst ? none : html`<a href="${href(context, {})}">Newest changes</a>`;
  if (isMore && last !== undefined)
    return html`<span>${rowWords}</span><span class="push"></span>${first}<a href="${href(context, { page: `${last.change_id}` })}" rel="next">Older changes</a>`;
  if (searchEnd !== null)
    return html`<span>${rowWords}, as far back as ${time(searchEnd.at, clockTime(searchEnd.at, context.now))}</span><span class="push"></span>${first}<a href="${href(context, { page: `${searchEnd.changeId}` })}" rel="next">Look further back</a>`;
  return html`<span>${rowWords}, and none older</span><span class="push"></span>${first}`;
}

function lead(context: PageContext, { rows, isMore }: ChangesRead): string {
  const { since, before } = changesFilter(context, context.now);
  const begin = 'Every field that moved, in either direction.';
  if (isMore || before !== null || since === null) return begin;
  const days = Math.round((context.now.getTime() - since.getTime()) / dayMs);
  return `${begin} ${count(rows.length)} in the last ${many(Math.max(1, days), 'day')}.`;
}

export function changes(read: ChangesRead, context: PageContext): PageShown {
  const { rows, searchEnd } = read;
  const list =
    rows.length === 0 && searchEnd === null
      ? empty(
          'dashed',
          'Nothing moved',
          'No change in the ledger matches the filters.',
          html`<p><a href="${to(context, '/changes', { since: '2000-01-01' })}">All changes</a></p>`,
        )
      : changesTable(context, 'Changes, the newest first', rows, foot(context, read));
  const main = html`${heading('Changes', lead(context, read))}${filters(context, read)}${list}${waysOn(context, read)}`;
  return { title: 'Changes', main };
}

export function changesCsv({ rows }: ChangesRead, context: PageContext): Csv {
  const { details } = context;
  const shownValue = (field: string | null, value: unknown) =>
    details || field === 'role_id' || field === 'tag' ? textOf(value) : null;
  return csvFrom(rows, {
    change_id: (row) => row.change_id,
    opened_at: (row) => row.opened_at,
    closed_at: (row) => row.closed_at,
    team: (row) => teamOf(context, row.team_id).team,
    user_id: (row) => row.user_id,
    ...(details ? { name: (row) => row.name } : {}),
    kind: (row) => row.kind,
    field: (row) => row.field,
    old_value: (row) => shownValue(row.field, row.old_value),
    new_value: (row) => shownValue(row.field, row.new_value),
    by: actorOf,
    run_id: (row) => row.run_id,
    outcome: (row) => row.outcome,
    request_id: (row) => row.request_id,
    reason: (row) => row.decided_why,
  });
}
