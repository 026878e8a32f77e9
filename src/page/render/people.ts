/** People: the roster, with filters and a search, and those who need somebody first. */
import { isApprovable } from '../../model/user-plan.ts';
import type { PeopleFilter, PeopleRead, RosterRow } from '../read/page-people.ts';
import type { OpenField } from '../read/page-standings.ts';
import { editStates, holdReasons, isOpen, needDecision, needsDecision } from '../../model/edit-state.ts';
import { printable } from '../../model/in-words.ts';
import { type PeopleState, peopleSorts, standings, type UserStanding } from '../../model/standing.ts';
import {
  type Column,
  chips,
  csvChip,
  empty,
  filterForm,
  heading,
  person,
  searchField,
  table,
  teamCells,
  teamColumns,
} from './components.ts';
import { fieldName } from './hold-words.ts';
import { type Html, html, none } from './html.ts';
import { csvOf, href, to } from './links.ts';
import { pill } from './pills.ts';
import { value } from './three-values.ts';
import { type Csv, csvFrom, type ViewRequest, type PageContext, type PageShown, teamOf } from './view.ts';
import { capital, clockTime, count, day, listed, many, named, time, visible } from './words.ts';

const perPage = 50;
/** Most rows of a file, which is more than nearly all mirrors have. */
const mostInFile = 200_000;

const states: readonly PeopleState[] = ['present', ...standings];
const pageForm = /^(\d{1,18})\.(\d{1,18})\.(\d{1,9})$/;

/** Reads the last row of the page before, and how many rows came before this page. */
function readCursor(query: URLSearchParams) {
  const [, teamId, id, before] = pageForm.exec(query.get('page') ?? '') ?? [];
  if (teamId === undefined || id === undefined) return { after: null, before: 0 };
  return { after: { teamId: BigInt(teamId), id: BigInt(id) }, before: Number(before) };
}

/** A filter for something that does not exist is ignored. */
export function peopleFilter({ query, details, isCsv }: ViewRequest): PeopleFilter {
  const sort = query.get('sort') ?? '';
  const role = query.get('role') ?? '';
  return {
    q: (query.get('q') ?? '').trim().slice(0, 200),
    details,
    state: states.find((word) => word === query.get('state')) ?? 'present',
    roleId: /^\d{1,18}$/.test(role) ? BigInt(role) : null,
    sort: peopleSorts.find((word) => word === sort.replace(/^-/, '')) ?? 'state',
    isDown: sort.startsWith('-'),
    after: isCsv ? null : readCursor(query).after,
    limit: isCsv ? mostInFile : perPage,
  };
}

/** A field that waits is decided in its batch, or alone. */
function linkTo(context: PageContext, { id }: RosterRow, { field, batch, reason: state }: OpenField): string {
  return batch === null || !isApprovable(state)
    ? to(context, `/waiting#c-${id}-${field}`, { state })
    : to(context, `/waiting/${batch}`);
}

/** The fields, and what is said about each. */
function fieldsOf(open: readonly OpenField[], say: (field: OpenField) => string): Html {
  const by = Map.groupBy(open, say);
  const parts = [...by].map(
    ([words, of]) =>
      `${of.length === 4 ? 'all fields' : listed(of.map(({ field }) => fieldName(field)))}${words}`,
  );
  return html`<span class="note">${parts.join('; ')}</span>`;
}

/** Red is for Waiting, where it can be decided. Here it is a grey pause that links there. */
function stateCell(context: PageContext, row: RosterRow): Html {
  const { open, standing } = row;
  const { now } = context;
  switch (standing) {
    case 'waits': {
      const waiting = open.filter(needsDecision);
      const [first] = waiting;
      const words = `${many(waiting.length, 'field')} ${needDecision(waiting.length)}`;
      const say = ({ batch, reason }: OpenField) =>
        `: ${reason === null ? '' : holdReasons[reason].words}${batch === null ? '' : `, in batch ${batch}`}`;
      return html`${pill('pause', 'dim', first === undefined ? words : html`<a href="${linkTo(context, row, first)}">${words}</a>`)}${fieldsOf(waiting, say)}`;
    }
    case 'moving':
      return html`${pill('clock', 'dim', capital(editStates.waiting))}${fieldsOf(open.filter(isOpen), ({ state }) => `, ${state === 'waiting' ? 'with the next run' : editStates[state]}`)}`;
    case 'unresolved':
      return html`${pill('dashed', 'dim', 'Unresolved')}<span class="note">no lookup answers</span>`;
    case 'rejected':
      return html`${pill('pause', 'dim', capital(editStates.rejected))}${fieldsOf(
        open.filter(({ state }) => state === 'rejected'),
        ({ decidedBy }) => (decidedBy === null ? '' : `, by ${decidedBy}`),
      )}`;
    case 'asked': {
      const asked = open.filter(({ reason }) => reason === 'asked');
      const [first] = asked;
      const until = first?.until ?? null;
      return html`${pill('clock', 'dim', until === null ? 'Held on request' : html`Held until ${time(until, clockTime(until, now))}`)}${fieldsOf(asked, () => '')}`;
    }
    case 'equal':
      return pill('tick', 'ok', 'Equal');
    case 'left':
      return html`${pill('cross', 'dim', 'Left')}<span class="note">${row.gone_at === null ? none : time(row.gone_at, `seen on ${day(row.gone_at, now)}`)}</span>`;
    default:
      return standing satisfies never;
  }
}

/** The time if it is today, else the day. */
function whenWords(date: Date | null, now: Date): Html {
  if (date === null) return html`<span class="none">–</span>`;
  const isToday = date.toISOString().slice(0, 10) === now.toISOString().slice(0, 10);
  return time(date, isToday ? clockTime(date, now) : day(date, now));
}

function roleCell({ role_id: id, role }: RosterRow): Html {
  if (id === null && role === null) return html`<span class="none">none</span>`;
  return html`${id === null ? none : html`<span class="quiet">${id}</span> `}${role === null ? none : named(role)}`;
}

const columnsOf = (context: PageContext): readonly Column[] => [
  context.details ? { label: 'Name', sort: 'name' } : { label: 'Id', sort: 'id' },
  ...teamColumns(context),
  { label: 'Role', sort: 'role' },
  ...(context.details
    ? ([
        { label: 'Email', sort: 'email' },
        { label: 'Phone', sort: 'phone' },
      ] as const)
    : []),
  { label: 'State', sort: 'state' },
  { label: 'Changed', sort: 'changed', isNumber: true },
];

function cellsOf(context: PageContext, row: RosterRow): readonly (string | Html)[] {
  const { details } = context;
  const name = person(context, row.team_id, row);
  return [
    details ? html`${name}<span class="note mono">${row.id}</span>` : name,
    ...teamCells(context, row.team_id),
    roleCell(row),
    ...(details ? [value(context, 'email', row.email), value(context, 'phone', row.phone)] : []),
    stateCell(context, row),
    whenWords(row.changed_at, context.now),
  ];
}

const chipWords: Readonly<Record<PeopleState, string>> = {
  present: 'In the team',
  waits: capital(editStates.held),
  moving: capital(editStates.waiting),
  equal: 'Equal',
  asked: 'Held on request',
  rejected: capital(editStates.rejected),
  unresolved: 'Unresolved',
  left: 'Left',
};
/** These filters are shown only if there is anybody. */
const rare: ReadonlySet<PeopleState> = new Set<UserStanding>(['moving', 'rejected']);
const chipOrder: readonly PeopleState[] = [
  'present',
  'waits',
  'moving',
  'equal',
  'asked',
  'rejected',
  'unresolved',
  'left',
];

function filters(context: PageContext, { counts, roles }: PeopleRead): Html {
  const filter = peopleFilter(context);
  const options = roles.map(
    ({ role_id: id, name }) =>
      html`<option value="${id}"${id === filter.roleId ? html` selected` : none}>${id} ${visible(name ?? '')}</option>`,
  );
  const hint = context.details ? 'Name, email, phone or id' : 'Id';
  const inside = html`${searchField(hint, filter.q)}<label><span class="away">Role</span><select name="role"><option value="">Every role</option>${options}</select></label>`;
  const form = filterForm(context, { kept: ['team', 'state', 'sort'], inside, button: 'Search' });
  const all = chipOrder
    .filter((state) => !rare.has(state) || counts[state] > 0 || state === filter.state)
    .map((state) => ({
      label: chipWords[state],
      count: counts[state],
      href: href(context, { state: state === 'present' ? null : state }),
      isCurrent: state === filter.state,
    }));
  return html`${form}${chips('Show', all, csvChip(csvOf(context)))}`;
}

function nobody(context: PageContext, { counts }: PeopleRead): Html {
  const { q, state, roleId } = peopleFilter(context);
  if (q === '' && roleId === null && counts.present + counts.left === 0)
    return empty('dashed', 'Nobody yet', 'The first run takes everybody from the service.');
  const what = context.details ? 'names, emails, phones and ids' : 'ids';
  const title = q === '' ? 'Nobody is in this list' : `Nobody matches “${printable(q)}”`;
  if (q === '')
    return empty(
      'dashed',
      title,
      `${count(counts.present)} are in the team.`,
      html`<p><a href="${href(context, { state: null, role: null })}">Show all of them</a></p>`,
    );
  const left = `${many(counts.left, 'person who has left is', 'people who have left are')} not among them.`;
  const text = `Searched are ${what} of the ${many(counts[state], 'person', 'people')} in this list.${state === 'left' ? '' : ` ${left}`}`;
  const more =
    state === 'left'
      ? none
      : html`<p><a href="${href(context, { state: 'left' })}">Search those who left, too</a></p>`;
  return empty('dashed', title, text, more);
}

function foot(context: PageContext, { rows, isMore, found, counts }: PeopleRead): Html {
  const { before } = readCursor(context.query);
  const whole = found ?? counts[peopleFilter(context).state];
  const last = rows.at(-1);
  const next =
    isMore && last !== undefined
      ? html`<a href="${href(context, { page: `${last.team_id}.${last.id}.${before + rows.length}` })}" rel="next">Next ${Math.min(perPage, whole - before - rows.length)}</a>`
      : none;
  const first = before > 0 ? html`<a href="${href(context, {})}">First page</a>` : none;
  return html`<span>${count(before + 1)} to ${count(before + rows.length)} of ${count(whole)}, as the mirror has them</span><span class="push"></span>${first}${next}`;
}

export function people(read: PeopleRead, context: PageContext): PageShown {
  const { counts, rows } = read;
  const left = counts.left === 0 ? '' : ` ${count(counts.left)} ${counts.left === 1 ? 'has' : 'have'} left.`;
  const lead = `${count(counts.present)} in the team, of whom ${count(counts.equal)} ${counts.equal === 1 ? 'is' : 'are'} equal on both sides.${left}`;
  const { state } = peopleFilter(context);
  const list =
    rows.length === 0
      ? nobody(context, read)
      : table(context, {
          caption: `People: ${chipWords[state]}`,
          columns: columnsOf(context),
          rows: rows.map((row) => ({ cells: cellsOf(context, row) })),
          foot: foot(context, read),
          sort: 'state',
        });
  return { title: 'People', main: html`${heading('People', lead)}${filters(context, read)}${list}` };
}

/** The state is in the words of its chip. */
export function peopleCsv({ rows }: PeopleRead, context: PageContext): Csv {
  const personal = {
    name: (row: RosterRow) => row.name,
    email: (row: RosterRow) => row.email,
    phone: (row: RosterRow) => row.phone,
  };
  return csvFrom(rows, {
    team: (row) => teamOf(context, row.team_id).team,
    id: (row) => row.id,
    ...(context.details ? personal : {}),
    role_id: (row) => row.role_id,
    role: (row) => row.role,
    state: (row) => chipWords[row.standing].toLowerCase(),
    fields: (row) => row.open.map(({ field }) => field).join(' '),
    changed_at: (row) => row.changed_at,
  });
}
