/** The growth of tags, contact fields and roles, each with its file, and the contacts of several teams. */
import { exportNameOf, inPlural } from '../../model/listed-resource.ts';
import { listedResources } from '../../model/listed-resources.ts';
import type { CountsRead, ListedRead } from '../read/page-counts.ts';
import { drawMoves } from './chart.ts';
import { empty, section, table } from './components.ts';
import { contactsOf } from './glance-teams.ts';
import { type Html, html, none } from './html.ts';
import { teamName } from './layout.ts';
import { to } from './links.ts';
import { moveChart, shareBar } from './show-chart.ts';
import { type Csv, csvFrom, type PageContext, teamOf } from './view.ts';
import { capital, clockTime, count, many, named } from './words.ts';

/** The part of the counts that `?of=` asks for as a file. */
const asCsv = (context: PageContext, of: string): Html =>
  html`<a href="${to(context, '/counts.csv', { of })}" download>As CSV</a>`;

/** A row for each of several teams; none if one team was asked for. */
export function teamsSideBySide(context: PageContext, read: CountsRead): Html {
  if (context.team !== null || context.teams.length < 2) return none;
  const rows = context.teams.map((team) => {
    const contacts = contactsOf(read, team, context.now);
    const link = html`<a href="${to(context, '/counts', { team: team.team })}">${named(teamName(team))}</a>`;
    if (contacts === null)
      return { cells: [link, html`<span class="none">none</span>`, html`no count yet`, none] };
    return {
      cells: [link, count(contacts.now), contacts.change, contacts.days < 2 ? none : contacts.line()],
    };
  });
  const columns = [
    { label: 'Team' },
    { label: 'Contacts', isNumber: true },
    { label: 'Change' },
    { label: '90 days' },
  ];
  return section('Teams side by side', table(context, { caption: 'Contacts of each team', columns, rows }), {
    note: html`All contacts, or the first segment, each on its own scale`,
    more: asCsv(context, 'teams'),
  });
}

export const cameOrWent = (months: ListedRead['months']): boolean =>
  months.some(({ added, gone }) => added + gone > 0);

const monthWord = new Intl.DateTimeFormat('en-GB', { month: 'short', timeZone: 'UTC' });

/** By month, what was added above the line and what went below it. A table has the same numbers. */
export function monthsChart(context: PageContext, { months }: ListedRead, what: string): Html {
  const moves = months.map(({ month, added, gone }) => ({ label: monthWord.format(month), added, gone }));
  const sum = (of: 'added' | 'gone') => moves.reduce((all, move) => all + move[of], 0);
  const sentence = `${what} in twelve months: ${count(sum('added'))} added, ${count(sum('gone'))} gone.`;
  if (sum('added') + sum('gone') === 0)
    return html`<div class="card"><p>None came or went in twelve months, as far as this mirror knows.</p></div>`;
  const byMonth = table(context, {
    caption: `${what} by month`,
    kind: 'few',
    columns: [{ label: 'Month' }, { label: 'Added', isNumber: true }, { label: 'Gone', isNumber: true }],
    rows: moves.map(({ label, added, gone }) => ({ cells: [label, count(added), count(gone)] })),
  });
  return html`<div class="card">${moveChart(drawMoves(moves), moves, sentence)}<details><summary class="note">As a table</summary>${byMonth}</details></div>`;
}

/** To each of the listings. */
export const toListings = (context: PageContext): Html =>
  html`${listedResources.map((resource) => html`<a href="${to(context, `/${exportNameOf(resource)}`)}">${capital(inPlural(resource))}</a> `)}`;

export function listings(context: PageContext, { teamId, tags, contactFields, roles }: CountsRead): Html {
  const note = ({ now, months }: ListedRead) =>
    html`${count(now)} now${cameOrWent(months) ? '; added above, gone below the line' : ''}`;
  const readAt = teamId === null ? null : (context.standings.get(teamId)?.completeAt ?? null);
  const asOf = readAt === null ? '' : `, as of ${clockTime(readAt, context.now)}`;
  const most = Math.max(1, ...roles.map(({ members }) => members));
  const users = roles.reduce((all, { members }) => all + members, 0);
  const rows = roles.map(({ role_id: id, name, members }) => ({
    cells: [
      html`<span class="quiet">${id}</span> ${name === null ? none : named(name)}`,
      shareBar(members / most),
      count(members),
    ],
  }));
  const columns = [
    { label: 'Role' },
    { label: html`<span class="away">Share</span>` },
    { label: 'Users', isNumber: true },
  ];
  const ofRoles =
    roles.length === 0
      ? empty('dashed', 'No roles yet', 'Roles are known once a run has read who has them.')
      : table(context, { caption: 'Roles', columns, rows });
  return html`<p class="note">Each of them: ${toListings(context)}</p><div class="columns"><div>${section(
    'Tags',
    monthsChart(context, tags, 'Tags'),
    {
      note: note(tags),
      more: html`<a href="${to(context, '/tags')}">All tags</a> ${asCsv(context, 'tags')}`,
    },
  )}${section('Contact fields', monthsChart(context, contactFields, 'Contact fields'), { note: note(contactFields), more: asCsv(context, 'contact_fields') })}</div>${section('Roles', ofRoles, { note: html`${many(users, 'user')}${asOf}`, more: asCsv(context, 'roles') })}</div>`;
}

/** A row for each step of each segment that was counted. `?of=` asks for the parts below. */
export function countsCsv(
  { steps, roles, tags, contactFields, counts }: CountsRead,
  context: Pick<PageContext, 'query' | 'teams'>,
): Csv {
  const months = (listed: ListedRead) =>
    csvFrom(listed.months, {
      month: ({ month }) => month.toISOString().slice(0, 7),
      added: ({ added }) => added,
      gone: ({ gone }) => gone,
    });
  switch (context.query.get('of') ?? '') {
    case 'roles':
      return csvFrom(roles, {
        role_id: (role) => role.role_id,
        role: (role) => role.name,
        users: (role) => role.members,
      });
    case 'tags':
      return months(tags);
    case 'contact_fields':
      return months(contactFields);
    case 'teams':
      return csvFrom(counts, {
        team: (row) => teamOf(context, row.teamId).team || null,
        segment: (row) => row.segment,
        day: (row) => row.day,
        count: (row) => row.count,
      });
    default:
      return csvFrom(steps, {
        segment: (step) => step.segment,
        from: (step) => step.from,
        count: (step) => step.last,
        counted_at: (step) => step.countedAt,
      });
  }
}
