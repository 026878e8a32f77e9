/** The view People: the roster, with users who need a decision first. */
import { sql } from 'kysely';
import { editStates, holdReasons, isOpen, needsDecision } from '../../model/edit-state.ts';
import { standings, type UserStanding } from '../../model/standing.ts';
import { idArray } from '../../mirror/db/by-key.ts';
import { type OpenField, placeOf, roster, type RosterRow } from '../read/page-people.ts';
import { person, personHint, teamCells } from '../render/components.ts';
import { fieldName, standingPill, standingSigns } from '../render/hold-words.ts';
import { type Html, html, none } from '../render/html.ts';
import { waitingPath } from '../render/links.ts';
import { type List, listView, type Option } from './list.ts';
import { value } from '../render/three-values.ts';
import { type PageContext, teamOf } from '../render/view.ts';
import { at, count, named } from '../render/words.ts';

/** A field that differs between both sides, with the reason. If it needs a decision, it is a link to the waiting row. */
function openField(context: PageContext, { id, team_id: teamId }: RosterRow, field: OpenField): Html {
  const { reason, batch, until, by, state } = field;
  const why = isOpen(field) ? editStates[state] : reason === null ? '' : holdReasons[reason].words;
  const words = html`${fieldName(field.field)}: ${why}${until === null ? none : html` until ${at(new Date(until), context.now)}`}${by === null ? none : html`, by ${named(by)}`}`;
  if (reason === null || !needsDecision(field)) return html`<span class="note">${words}</span>`;
  const path = waitingPath(context, { teamId, batch, reasons: [{ what: reason, rows: 1 }] });
  return html`<a class="note" href="${path}#c-${id}-${field.field}">${words}</a>`;
}

const standingOf = ({ state }: RosterRow): UserStanding => standings[state] ?? 'equal';

const ifDetails = ({ details }: PageContext) => details;

export const peopleList: List<RosterRow> = {
  path: '/people',
  tab: 'People',
  title: 'People',
  from: roster,
  order: 'state',
  last: ({ details }) => [...(details ? [sql`r.name`] : []), sql`r.id`, sql`r.team_id`],
  columns: [
    {
      label: 'Name',
      if: ifDetails,
      sort: ['name', sql`r.name`],
      cell: (row, context) =>
        html`${person(context, row.team_id, row)}<span class="note mono">${row.id}</span>`,
    },
    {
      label: 'Id',
      if: ({ details }) => !details,
      sort: ['id', sql`r.id`],
      cell: (row, context) => person(context, row.team_id, row),
    },
    {
      label: 'Team',
      if: ({ team }) => team === null,
      cell: (row, context) => html`${teamCells(context, row.team_id)}`,
    },
    {
      label: 'Role',
      sort: ['role', sql`r.role`],
      cell: ({ role_id: id, role }) =>
        id === null && role === null
          ? html`<span class="none">none</span>`
          : html`<span class="quiet">${id}</span> ${role === null ? none : named(role)}`,
    },
    {
      label: 'Email',
      if: ifDetails,
      sort: ['email', sql`r.email`],
      cell: ({ team_id: teamId, email }, context) => value(context, { teamId, field: 'email' }, email),
    },
    {
      label: 'Phone',
      if: ifDetails,
      sort: ['phone', sql`r.phone`],
      cell: ({ team_id: teamId, phone }, context) => value(context, { teamId, field: 'phone' }, phone),
    },
    {
      label: 'State',
      sort: ['state', sql`r.state`],
      cell: (row, context) => {
        const more =
          row.gone_at === null
            ? (row.open ?? []).map((field) => openField(context, row, field))
            : html`<span class="note">seen at ${at(row.gone_at, context.now)}</span>`;
        return html`${standingPill(standingOf(row))}${more}`;
      },
    },
    {
      label: 'Changed',
      isNumber: true,
      sort: ['changed', sql`r.changed_at`],
      cell: ({ changed_at: when }, { now }) =>
        when === null ? html`<span class="none">–</span>` : at(when, now),
    },
  ],
  states: {
    present: {
      label: 'In the team',
      has: standings.map(placeOf).filter((place) => place !== placeOf('left')),
    },
    ...Object.fromEntries(
      standings.map((state) => [state, { label: standingSigns[state][1], has: [placeOf(state)] }]),
    ),
  },
  hint: personHint,
  choices: {
    role_id: {
      any: 'Every role',
      from: async ({ db, teamIds }) => {
        const { rows } = await sql<Option>`
          select role_id::text as value, concat_ws(' ', role_id, min(name)) as label from mirror.roles
          where team_id = any (${idArray(teamIds)}) and gone_at is null group by role_id order by sum(members) desc, role_id limit 100`.execute(
          db,
        );
        return rows;
      },
    },
  },
  lead: (counts) => {
    const left = counts.get(placeOf('left')) ?? 0;
    const all = [...counts.values()].reduce((sum, rows) => sum + rows, 0);
    return `In the team: ${count(all - left)}, equal on both sides ${count(counts.get(placeOf('equal')) ?? 0)}. Left: ${count(left)}.`;
  },
  none: 'The first run takes everybody from the service; those who have left are in a list of their own.',
  csv: (context) => ({
    team: (row) => teamOf(context, row.team_id).team,
    id: (row) => row.id,
    ...(context.details
      ? {
          name: (row: RosterRow) => row.name,
          email: (row: RosterRow) => row.email,
          phone: (row: RosterRow) => row.phone,
        }
      : {}),
    role_id: (row) => row.role_id,
    role: (row) => row.role,
    state: (row) => standingSigns[standingOf(row)][1].toLowerCase(),
    fields: (row) => (row.open ?? []).map(({ field }) => field).join(' '),
    changed_at: (row) => row.changed_at,
  }),
};

export const people = listView(peopleList);
