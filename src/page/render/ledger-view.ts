/** The view Changes: the filtered ledger by day, with the values before and after, the author and the outcome. */
import { editStates, type HeldReason, holdReasons } from '../../model/edit-state.ts';
import { fieldColumns } from '../../model/fields.ts';
import { directions, kindsOf } from '../../model/ledger-words.ts';
import type { ChangeRow, ChangesFilter, ChangesRead, LedgerLine } from '../read/page-changes.ts';
import {
  csvChip,
  empty,
  filterForm,
  heading,
  person,
  personHint,
  table,
  type TableRow,
  teamCells,
  teamColumns,
} from './components.ts';
import { fieldName } from './hold-words.ts';
import { type Html, html, none } from './html.ts';
import { csvOf, href, to } from './links.ts';
import { direction, pill, sides } from './pills.ts';
import { changed, isShown, knownText, noValue, textOf, value } from './three-values.ts';
import { type Csv, csvFrom, type PageContext, type PageShown, teamOf, type ViewRequest } from './view.ts';
import { at, clockTime, count, dayBand, many, named, time, visible } from './words.ts';
import { hourMs, momentsOf, showDay, shownZone } from '../../model/zone-time.ts';

const perPage = 50;
const mostInFile = 30_000;
const isWholeNumber = /^\d{1,18}$/;

/** The time at which a day begins. In some zones, the clocks skip midnight when they change. */
const startOf = (wallMs: number): number | undefined =>
  Number.isNaN(wallMs)
    ? undefined
    : [0, 1].flatMap((hours) => momentsOf(wallMs + hours * hourMs, shownZone()))[0];

function sinceOf(text: string): Date | null {
  const found = /^\d{4}-\d{2}-\d{2}$/.test(text) ? startOf(Date.parse(`${text}T00:00:00Z`)) : undefined;
  return found === undefined ? null : new Date(found);
}

export function changesFilter({ query, details, isCsv }: ViewRequest): ChangesFilter {
  const text = (key: string) => (query.get(key) ?? '').trim().slice(0, 200);
  const numberIn = (key: string) => {
    const digits = text(key).replaceAll(',', '');
    return isWholeNumber.test(digits) ? BigInt(digits) : null;
  };
  return {
    q: text('q'),
    details,
    field: fieldColumns.find((column) => column === query.get('field')) ?? null,
    direction: directions.find((one) => one === query.get('direction')) ?? null,
    actor: text('actor') || null,
    runId: numberIn('run'),
    decision: numberIn('decision'),
    since: sinceOf(text('since')),
    before: isCsv ? null : numberIn('page'),
    limit: isCsv ? mostInFile : perPage,
  };
}

const kindWords: Readonly<Record<LedgerLine['kind'], string>> = {
  edit: 'edited here',
  adopt: 'adopted',
  return: 'came back',
  pull: 'pulled',
  push: 'pushed',
  settle: 'settled',
  hold: 'held',
  tombstone: 'left',
  forget: 'forgotten',
  discard: 'given up',
  approve: 'approved',
  reject: 'rejected',
  resolve: 'resolved',
  undo: 'taken back',
  place: 'moved',
  call: 'sent by a command',
};

const isPulled = (kind: LedgerLine['kind']) => kindsOf.pulled.some((pulled) => pulled === kind);

/** The kind of a change in words, with the sign of its side or direction. Decisions of a person have no sign. */
function wayOf({ kind }: LedgerLine): Html {
  const word = kindWords[kind];
  if (kind === 'push' || kind === 'hold') return direction(kind, word);
  if (isPulled(kind)) return direction('pull', word);
  return kind === 'edit' || kind === 'discard'
    ? html`<span class="nowrap">${sides.mirror} ${word}</span>`
    : html`${word}`;
}

/** The person who made a change. The author of a pull is unknown, because the service does not name one. */
export const actorOf = ({ kind, edited_by: edited, decided_by: decided }: LedgerLine): string | null =>
  isPulled(kind) ? 'on the service' : (decided ?? edited);

function outcomeOf({ kind, outcome, closed_at: closed }: LedgerLine): Html {
  if (outcome === null) return html`<span class="none">–</span>`;
  if (kind === 'hold') return pill('pause', 'dim', `held: ${holdReasons[outcome as HeldReason].words}`);
  if (outcome === 'confirmed') return pill('tick', 'ok', editStates.confirmed);
  if (outcome === 'unknown') return pill('clock', 'dim', closed === null ? editStates.unknown : 'not known');
  return kind === 'push' || kind === 'call' ? pill('pause', 'dim', outcome) : html`${outcome}`;
}

/** The values before and after, with the difference marked in the color of the side that it came from. */
function fromAndTo(context: PageContext, row: LedgerLine): readonly [Html, Html] {
  const { kind, field, team_id: teamId, old_value: old, new_value: now } = row;
  if (field === null) return [none, none];
  const of = { teamId, field };
  const side = isPulled(kind) ? 'service' : 'mirror';
  const into = textOf(now) === null ? noValue : changed(context, of, { to: now, from: old, side });
  return [value(context, of, old), into];
}

const whenOf = ({ closed_at: closed, opened_at: opened }: LedgerLine) => closed ?? opened;

function rowOf(context: PageContext, row: LedgerLine, isOfOne: boolean): TableRow {
  const actor = actorOf(row);
  const who =
    row.user_id === null
      ? html`<span class="none">${row.kind === 'place' ? 'the mirror' : 'no user'}</span>`
      : person(context, row.team_id, { id: row.user_id, name: row.name });
  const why =
    row.decided_why === null || row.decided_why === ''
      ? none
      : html`<span class="note">“${named(row.decided_why)}”</span>`;
  return {
    cells: [
      time(whenOf(row), clockTime(whenOf(row), whenOf(row))),
      ...(isOfOne ? [] : [...teamCells(context, row.team_id), who]),
      row.field === null ? 'everything' : fieldName(row.field),
      ...fromAndTo(context, row),
      wayOf(row),
      html`${actor === null ? html`<span class="none">not known</span>` : named(actor)}${why}`,
      row.run_id === null
        ? html`<span class="none">–</span>`
        : html`<a href="${to(context, `/runs/${row.run_id}`)}">${count(row.run_id)}</a>`,
      outcomeOf(row),
    ],
  };
}

/** The changes, newest first, with a band above each day. @param isOfOne true if all changes are about the same user */
export function changesTable(
  context: PageContext,
  caption: string,
  changes: readonly LedgerLine[],
  { foot = none, isOfOne = false }: { readonly foot?: Html; readonly isOfOne?: boolean } = {},
): Html {
  const days = Map.groupBy(changes, (row) => dayBand(whenOf(row), context.now));
  const whose = isOfOne ? [] : [...teamColumns(context), 'Person'];
  const run = { label: 'Run', isNumber: true };
  return table(context, {
    caption,
    columns: ['When', ...whose, 'Field', 'From', 'To', 'What', 'By', run, 'Outcome'],
    rows: [...days].flatMap(([band, of]) => [{ band }, ...of.map((row) => rowOf(context, row, isOfOne))]),
    foot,
  });
}

function filters(context: PageContext): Html {
  const filter = changesFilter(context);
  const choice = (
    label: string,
    name: string,
    any: string,
    current: string | null,
    all: readonly string[],
  ) => {
    const options = all.map(
      (word) =>
        html`<option value="${word}"${word === current ? html` selected` : none}>${name === 'field' ? fieldName(word) : visible(word)}</option>`,
    );
    return html`<label class="field note">${label}<select name="${name}"><option value="">${any}</option>${options}</select></label>`;
  };
  const typed = (label: string, name: string, of: bigint | string | null) =>
    html`<label class="field note">${label}<input size="8" name="${name}" value="${of ?? ''}" maxlength="200"></label>`;
  const inside = html`<label class="field note">Person<input type="search" name="q" value="${filter.q}" maxlength="200" placeholder="${personHint(context.details)}"></label>${choice('Field', 'field', 'any', filter.field, fieldColumns)}${choice('Direction', 'direction', 'any', filter.direction, directions)}${typed('By', 'actor', filter.actor)}${typed('Run', 'run', filter.runId)}${typed('Decision', 'decision', filter.decision)}<label class="field note">Since<input type="date" name="since" value="${filter.since === null ? '' : showDay(filter.since)}"></label>`;
  const more = html`<span class="push"></span>${csvChip(csvOf(context))}`;
  return filterForm(context, { kept: ['team'], inside, button: 'Filter', more });
}

function foot(context: PageContext, { rows, isMore, searchEnd }: ChangesRead): Html {
  const last = isMore ? rows.at(-1)?.change_id : searchEnd?.changeId;
  const isFirst = changesFilter(context).before === null;
  const first = isFirst ? none : html`<a href="${href(context, {})}">Newest changes</a>`;
  const end = isMore
    ? ''
    : searchEnd === null
      ? ', and none older'
      : html`, as far back as ${at(searchEnd.at, context.now)}`;
  const older =
    last === undefined
      ? none
      : html`<a href="${href(context, { page: String(last) })}" rel="next">Older changes</a>`;
  return html`<span>${many(rows.length, 'row')}${end}</span><span class="push"></span>${first}${older}`;
}

export function changes(read: ChangesRead, context: PageContext): PageShown {
  const { rows, searchEnd } = read;
  const { since } = changesFilter(context);
  const lead = `Every field that moved, in either direction${since === null ? '' : `, since ${showDay(since)}`}.`;
  const all = html`<p><a href="${to(context, '/changes')}">All changes</a></p>`;
  const list =
    rows.length === 0 && searchEnd === null
      ? empty('dashed', 'Nothing moved', 'No change in the ledger matches the filters.', all)
      : changesTable(context, 'Changes, the newest first', rows, { foot: foot(context, read) });
  return { title: 'Changes', main: html`${heading('Changes', lead)}${filters(context)}${list}` };
}

export function changesCsv({ rows }: ChangesRead, context: PageContext): Csv {
  const { details } = context;
  const shownValue = ({ field, team_id: teamId }: ChangeRow, one: unknown) =>
    field !== null && isShown(context, field) ? knownText(context, { teamId, field }, one) : null;
  return csvFrom(rows, {
    change_id: (row) => row.change_id,
    opened_at: (row) => row.opened_at,
    closed_at: (row) => row.closed_at,
    team: (row) => teamOf(context, row.team_id).team,
    user_id: (row) => row.user_id,
    ...(details ? { name: (row: ChangeRow) => row.name } : {}),
    kind: (row) => row.kind,
    field: (row) => row.field,
    old_value: (row) => shownValue(row, row.old_value),
    new_value: (row) => shownValue(row, row.new_value),
    by: actorOf,
    run_id: (row) => row.run_id,
    outcome: (row) => row.outcome,
    request_id: (row) => row.request_id,
    reason: (row) => row.decided_why,
  });
}
