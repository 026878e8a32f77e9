/** Counts: contacts over time with their table, other segments, tags, contact fields and roles. */
import type { CountedStep, CountsRead } from '../read/page-counts.ts';
import { drawChart } from './chart.ts';
import { csvChip, empty, heading, section, table } from './components.ts';
import { listings, teamsSideBySide } from './growth.ts';
import { type Html, html, none } from './html.ts';
import { csvOf, href } from './links.ts';
import { type Gap, gapsOf, markMissing, type Point } from './series.ts';
import { gapWords, lineChart } from './show-chart.ts';
import { type ViewRequest, type PageContext, type PageShown, teamOf } from './view.ts';
import { clockTime, count, day, difference, many, named, span, time, visible } from './words.ts';

const ranges = [
  ['7', '7 days'],
  ['30', '30 days'],
  ['90', '90 days'],
  ['365', '1 year'],
] as const;
const dayMs = 86_400_000;
const weekMs = 7 * dayMs;

export function countsRange({ query }: Pick<ViewRequest, 'query'>): {
  readonly days: number;
  readonly segment: string | null;
} {
  const [days] = ranges.find(([key]) => key === query.get('days')) ?? ['90'];
  return { days: Number(days), segment: query.get('segment') };
}

function rangeChips(context: PageContext, { days }: CountsRead): Html {
  const links = ranges.map(
    ([value, words]) =>
      html`<a class="chip" href="${href(context, { days: value })}"${Number(value) === days ? html` aria-current="true"` : none}>${words}</a>`,
  );
  return html`<nav class="row chips" aria-label="Range">${links}<span class="push"></span>${csvChip(csvOf(context), 'CSV of these counts')}</nav>`;
}

/** A share such as `+2.2 %`; nothing if there was nothing before. */
function shareWords(now: number, before: number): string {
  if (before === 0) return '';
  const percent = Math.round((Math.abs(now - before) / before) * 1_000) / 10;
  const sign = now < before ? '−' : '+';
  return `${percent === 0 ? '' : sign}${percent} %`;
}

const segmentName = (segment: string) => (segment === 'all' ? 'Contacts' : segment);

/** The counts in steps, with the missing ones marked. The last step may not have been counted yet. */
function pointsOf(steps: readonly CountedStep[], segment: string, stepMs: number): readonly Point[] {
  const own = steps.filter((step) => step.segment === segment);
  return markMissing(
    own.map(({ from, last }) => ({ atMs: from.getTime(), value: last })),
    stepMs,
  );
}

const sayGaps = (gaps: readonly Gap[], now: Date) =>
  gaps.length === 0 ? '' : `; not counted ${gaps.map((gap) => gapWords(gap, now)).join(', ')}`;

interface Week {
  readonly begin: Date;
  readonly last: number;
  readonly lowest: number;
  readonly highest: number;
  readonly change: number | null;
  readonly missingDays: number;
}

/** The weeks, the newest first. Of the first and the last one, days outside of the counted time are not missing. */
function weeksOf({ steps, segment, weeks, stepMs }: CountsRead, now: Date): readonly Week[] {
  const own = steps.filter((step) => step.segment === segment);
  const began = own[0]?.from.getTime() ?? now.getTime();
  const inWeek = (begin: number) =>
    own.filter(({ countedAt }) => countedAt.getTime() >= begin && countedAt.getTime() < begin + weekMs);
  return weeks.flatMap(({ week, lowest, highest }) => {
    const begin = week.getTime();
    const inside = inWeek(begin);
    const last = inside.at(-1);
    if (last === undefined) return [];
    const before = own.findLast(({ countedAt }) => countedAt.getTime() < begin);
    const counted = new Set(inside.map(({ countedAt }) => countedAt.toISOString().slice(0, 10))).size;
    const from = Math.max(begin, Math.floor(began / dayMs) * dayMs);
    const until = Math.min(begin + weekMs, now.getTime());
    const missingDays = stepMs > dayMs ? 0 : Math.max(0, Math.ceil((until - from) / dayMs) - counted);
    return [
      {
        begin: week,
        last: last.last,
        lowest,
        highest,
        change: before === undefined ? null : last.last - before.last,
        missingDays,
      },
    ];
  });
}

function weekTable(context: PageContext, weeks: readonly Week[]): Html {
  const rows = weeks.map(({ begin, last, lowest, highest, change, missingDays }) => ({
    cells: [
      html`${time(begin, day(begin, context.now))}${missingDays === 0 ? none : html`<span class="note">${many(missingDays, 'day')} not counted</span>`}`,
      count(last),
      html`<span class="quiet">${count(lowest)}</span>`,
      html`<span class="quiet">${count(highest)}</span>`,
      change === null ? html`<span class="none">–</span>` : difference(change),
    ],
  }));
  const columns = [
    { label: 'Week of' },
    { label: 'Last', isNumber: true },
    { label: 'Lowest', isNumber: true },
    { label: 'Highest', isNumber: true },
    { label: 'Change', isNumber: true },
  ];
  return table(context, { caption: 'By week', kind: 'few', columns, rows });
}

function mainChart(context: PageContext, read: CountsRead): Html {
  const { steps, segment, stepMs, days } = read;
  const name = segment ?? '';
  const { now } = context;
  const points = pointsOf(steps, name, stepMs);
  const chart = drawChart(points, 300);
  const first = points[0]?.value ?? 0;
  const last = points.at(-1)?.value ?? 0;
  const begin = chart.axisFrom === 0 ? '' : `; the axis begins at ${count(chart.axisFrom)}`;
  const sentence = `${segmentName(name)} over ${days} days: from ${count(first)} to ${count(last)}${sayGaps(gapsOf(points), now)}.`;
  const timeWords = (at: Date) => (days <= 7 && at.getUTCHours() !== 0 ? clockTime(at, at) : day(at, now));
  const drawn = lineChart(chart, { sentence, timeWords, id: 'main' });
  return html`<div class="card"><div class="row over"><h2>${visible(segmentName(name))}</h2><p class="note">segment “${visible(name)}”${begin}</p></div>${drawn}</div>`;
}

/** The other segments, each with how it moved, and a link to its line. */
function otherSegments(context: PageContext, { last, monthAgo, segment: main }: CountsRead): Html {
  const others = last.filter(({ segment }) => segment !== main);
  if (others.length === 0) return none;
  const rows = others.map(({ segment, count: value }) => {
    const before = monthAgo.find((row) => row.segment === segment)?.count;
    return {
      cells: [
        html`<a href="${href(context, { segment })}">${visible(segment)}</a>`,
        count(value),
        before === undefined ? html`<span class="none">–</span>` : shareWords(value, before),
      ],
    };
  });
  const columns = [
    { label: 'Segment' },
    { label: 'Contacts', isNumber: true },
    { label: 'In 30 days', isNumber: true },
  ];
  return section('Other segments', table(context, { caption: 'Other segments', kind: 'few', columns, rows }));
}

function ofContacts(context: PageContext, read: CountsRead): Html {
  if (read.last.length === 0)
    return empty(
      'dashed',
      'No count yet',
      'Contacts are counted in the segments that the settings name under counts.',
    );
  const range = rangeChips(context, read);
  const own = read.steps.filter((step) => step.segment === read.segment);
  if (own.length < 2)
    return html`${range}${empty('dashed', 'Too few counts for a line', `It begins with the second count that is more than ${span(read.stepMs)} after another.`)}`;
  return html`${range}<div class="columns">${mainChart(context, read)}${weekTable(context, weeksOf(read, context.now))}</div>${otherSegments(context, read)}`;
}

/** The time of the daemon's next count. */
const nextOf = ({ teams, stopped, now }: PageContext, { nextAt, teamId }: CountsRead): Date | null => {
  const { team } = teamOf({ teams }, teamId);
  return nextAt === null || nextAt <= now || stopped.has(team) ? null : nextAt;
};

/** The interval of the settings, because the first counts may be closer to each other. */
function everyWords(context: PageContext, read: CountsRead): string {
  const next = nextOf(context, read);
  if (read.everyMs === null) return '';
  return ` Counted every ${span(read.everyMs)}${next === null ? '' : `; next at ${clockTime(next, context.now)}`}.`;
}

function lead(context: PageContext, read: CountsRead): string {
  const { last, monthAgo, segment } = read;
  const now = last.find((row) => row.segment === segment);
  if (now === undefined) return 'Contacts by segment, tags, contact fields and roles, as they grew.';
  const at = clockTime(now.countedAt, context.now, true);
  const every = everyWords(context, read);
  const before = monthAgo.find((row) => row.segment === segment)?.count;
  const moved = (from: number) => {
    const by = now.count - from;
    if (by === 0) return ', as many as 30 days ago';
    return `, ${count(Math.abs(by))} ${by > 0 ? 'more' : 'fewer'} than 30 days ago (${shareWords(now.count, from)})`;
  };
  return `${many(now.count, 'contact')}${before === undefined ? '' : moved(before)}.${every} Last at ${at}.`;
}

export function counts(read: CountsRead, context: PageContext): PageShown {
  const team = context.teams.find(({ teamId }) => teamId === read.teamId);
  const which =
    context.team === null && team !== undefined
      ? html`<p class="note">In full is shown ${named(team.team)}; choose another team below.</p>`
      : none;
  const main = html`${heading('Counts and tags', lead(context, read), which)}${teamsSideBySide(context, read)}${ofContacts(context, read)}${listings(context, read)}`;
  return { title: 'Counts', main };
}
