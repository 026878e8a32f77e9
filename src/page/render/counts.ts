/** Counts: contacts over time with their table, other segments, tags, contact fields and roles. */
import type { CountedStep, CountedWeek, CountsRange, CountsRead, ListedRead } from '../read/page-counts.ts';
import { axisFrom, lineChart, type Point } from './chart.ts';
import { chips, csvChip, empty, heading, numbers, section, table, toListings } from './components.ts';
import { growthOf } from './glance-teams.ts';
import { type Html, html, none } from './html.ts';
import { csvOf, href, to } from './links.ts';
import { type Csv, csvFrom, type PageContext, type PageShown, type ViewRequest } from './view.ts';
import { at, clockTime, count, day, difference, many, named, span, time, visible } from './words.ts';
import { showClock } from '../../model/zone-time.ts';

const ranges = [
  ['7', '7 days'],
  ['30', '30 days'],
  ['90', '90 days'],
  ['365', '1 year'],
] as const;

export function countsRange({ query, isCsv }: Pick<ViewRequest, 'query' | 'isCsv'>): CountsRange {
  const [days] = ranges.find(([key]) => key === query.get('days')) ?? ['90'];
  return { days: Number(days), segment: query.get('segment'), isCsv };
}

const asCsv = (context: PageContext, of: string): Html =>
  html`<a href="${to(context, '/counts.csv', { of })}" download>As CSV</a>`;

const noNumber = html`<span class="none">–</span>`;

/** Days and weeks are counted in UTC. The noon of a UTC day is on the same date in nearly every time zone. */
const noonOf = (begin: Date): Date => new Date(begin.getTime() + 43_200_000);

function weekTable(context: PageContext, weeks: readonly CountedWeek[]): Html {
  const rows = weeks.map(({ monday, last, lowest, highest }, i) => {
    const before = weeks[i - 1]?.last;
    const change = before === undefined ? noNumber : difference(last - before);
    const figures = [last, lowest, highest].map(count);
    return { cells: [time(monday, day(noonOf(monday), context.now)), ...figures, change] };
  });
  const columns = numbers('Week of', 'Last', 'Lowest', 'Highest', 'Change');
  return table(context, { caption: 'By week', kind: 'few', columns, rows: rows.toReversed() });
}

function mainChart(
  { now }: PageContext,
  { segment, stepMs, days }: CountsRead,
  own: readonly CountedStep[],
): Html {
  // The line is interrupted if more than one step passed without a count.
  const points = own.flatMap(({ from, last }, i): readonly Point[] => {
    const before = own[i - 1]?.from.getTime() ?? Number.POSITIVE_INFINITY;
    const isMissing = from.getTime() - before > stepMs * 1.5;
    const point = { atMs: from.getTime(), value: last };
    return isMissing ? [{ atMs: before + stepMs, value: null }, point] : [point];
  });
  const begin = axisFrom(points) === 0 ? '' : `; the axis begins at ${count(axisFrom(points))}`;
  const [first, last] = [own[0]?.last ?? 0, own.at(-1)?.last ?? 0];
  const sentence = `Contacts over ${days} days: from ${count(first)} to ${count(last)}.`;
  const timeWords = (when: Date) =>
    days > 7
      ? day(noonOf(when), now)
      : showClock(when) === '00:00:00'
        ? day(when, now)
        : clockTime(when, when);
  return html`<div class="card"><p class="note">Segment “${visible(segment ?? '')}”${begin}</p>${lineChart(points, sentence, timeWords)}</div>`;
}

function segments(context: PageContext, { last, segment: main }: CountsRead): Html {
  if (last.length < 2) return none;
  const rows = last.map(({ segment, count: now, before }) => {
    const name = segment === main ? html`<b>${visible(segment)}</b>` : visible(segment);
    const link = html`<a href="${href(context, { segment })}">${name}</a>`;
    return { cells: [link, count(now), before === null ? noNumber : difference(now - before)] };
  });
  const columns = numbers('Segment', 'Contacts', 'In 30 days');
  return section('Segments', table(context, { caption: 'Segments', kind: 'few', columns, rows }));
}

function ofContacts(context: PageContext, read: CountsRead): Html {
  if (read.last.length === 0)
    return empty(
      'dashed',
      'No count yet',
      'Contacts are counted in the segments that the settings name under counts.',
    );
  const choices = ranges.map(([value, label]) => ({
    label,
    href: href(context, { days: value }),
    isCurrent: Number(value) === read.days,
  }));
  const range = chips('Range', choices, csvChip(csvOf(context), 'CSV of these counts'));
  const own = read.steps.filter((step) => step.segment === read.segment);
  const lines =
    own.length < 2
      ? empty(
          'dashed',
          'Too few counts for a line',
          `It begins with the second count that is more than ${span(read.stepMs)} after another.`,
        )
      : html`<div class="columns">${mainChart(context, read, own)}${weekTable(context, read.weeks)}</div>`;
  return html`${range}${lines}${segments(context, read)}`;
}

const monthWord = new Intl.DateTimeFormat('en-GB', { month: 'short', year: 'numeric', timeZone: 'UTC' });

function byMonth(context: PageContext, { tags, contactFields }: CountsRead): Html {
  const rows = tags.months.map(({ month, added, gone }, i) => {
    const fields = contactFields.months[i] ?? { added: 0, gone: 0 };
    return { cells: [monthWord.format(month), ...[added, gone, fields.added, fields.gone].map(count)] };
  });
  const columns = numbers('Month', 'Tags added', 'gone', 'Contact fields added', 'gone');
  return section(
    'Listings by month',
    table(context, { caption: 'Listings by month', kind: 'few', columns, rows }),
    {
      note: html`Now: ${count(tags.now)} tags, ${count(contactFields.now)} contact fields`,
      more: html`${asCsv(context, 'tags')} ${asCsv(context, 'contact_fields')}`,
    },
  );
}

function ofRoles(context: PageContext, { roles, teamId }: CountsRead): Html {
  const readAt = teamId === null ? null : (context.standings.get(teamId)?.completeAt ?? null);
  const rows = roles.map(({ role_id: id, name, members }) => ({
    cells: [html`<span class="quiet">${id}</span> ${name === null ? none : named(name)}`, count(members)],
  }));
  const list =
    rows.length === 0
      ? empty('dashed', 'No roles yet', 'Roles are known once a run has read who has them.')
      : table(context, { caption: 'Roles', kind: 'few', columns: numbers('Role', 'Users'), rows });
  const users = roles.reduce((all, { members }) => all + members, 0);
  return section('Roles', list, {
    note: html`${many(users, 'user')}${readAt === null ? none : html`, as of ${at(readAt, context.now)}`}`,
    more: asCsv(context, 'roles'),
  });
}

function lead({ now }: PageContext, { last, segment }: CountsRead): string {
  const of = last.find((row) => row.segment === segment);
  if (of === undefined) return 'Contacts by segment, tags, contact fields and roles, as they grew.';
  const moved = of.before === null ? '' : `, ${growthOf(of)}`;
  return `${many(of.count, 'contact')}${moved}. Counted last at ${clockTime(of.countedAt, now, true)}.`;
}

export function counts(read: CountsRead, context: PageContext): PageShown {
  const team = context.teams.find(({ teamId }) => teamId === read.teamId);
  const which =
    context.team === null && team !== undefined
      ? html`<p class="note">In full is shown ${named(team.team)}; choose another team above.</p>`
      : none;
  const main = html`${heading('Counts and tags', lead(context, read), which)}${ofContacts(context, read)}<p class="note">Each of them: ${toListings(context)}</p><div class="columns">${byMonth(context, read)}${ofRoles(context, read)}</div>`;
  return { title: 'Counts', main };
}

const months = (listed: ListedRead): Csv =>
  csvFrom(listed.months, {
    month: ({ month }) => month.toISOString().slice(0, 7),
    added: ({ added }) => added,
    gone: ({ gone }) => gone,
  });

/** One row for each step of each segment. With `?of=`, the roles, tags or contact fields instead. */
export function countsCsv(
  { steps, roles, tags, contactFields }: CountsRead,
  context: Pick<PageContext, 'query'>,
): Csv {
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
    default:
      return csvFrom(steps, {
        segment: (step) => step.segment,
        from: (step) => step.from,
        count: (step) => step.last,
        counted_at: (step) => step.countedAt,
      });
  }
}
