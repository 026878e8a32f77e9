/** Counts: contacts over time with their table, segments side by side, tags, contact fields and roles. */
import type { CountedStep, CountsRead } from '../mirror/page-counts.ts';
import { drawChart } from './chart.ts';
import { chips, csvChip, empty, heading, section, table } from './components.ts';
import { listings, teamsSideBySide } from './growth.ts';
import { type Html, html, none } from './html.ts';
import { csvOf, href } from './links.ts';
import { type Gap, gapsOf, markMissing, type Point } from './series.ts';
import { gapWords, lineChart, sparkline } from './show-chart.ts';
import type { PageAsked, PageContext, PageShown } from './view.ts';
import { clockTime, count, day, difference, many, named, span, time, visible } from './words.ts';

const ranges = [
  ['7', '7 days'],
  ['30', '30 days'],
  ['90', '90 days'],
  ['365', '1 year'],
] as const;
const dayMs = 86_400_000;
const weekMs = 7 * dayMs;

export function countsAsked({ query }: Pick<PageAsked, 'query'>): {
  readonly days: number;
  readonly segment: string | null;
} {
  const [days] = ranges.find(([one]) => one === query.get('days')) ?? ['90'];
  return { days: Number(days), segment: query.get('segment') };
}

/** `+2.2 %`; nothing where there was nothing. */
export function shareWords(now: number, before: number): string {
  if (before === 0) return '';
  const percent = Math.round((Math.abs(now - before) / before) * 1_000) / 10;
  const sign = now < before ? '−' : '+';
  return `${percent === 0 ? '' : sign}${percent} %`;
}

const segmentName = (segment: string) => (segment === 'all' ? 'Contacts' : segment);

/** In steps, with what was not counted marked: the last step may not have been counted yet. */
export function pointsOf(steps: readonly CountedStep[], segment: string, stepMs: number): readonly Point[] {
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

/** The newest week first; of the first and the last one only the days that there are can be missing. */
export function weeksOf({ steps, segment, weeks, stepMs, days }: CountsRead, now: Date): readonly Week[] {
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
    const missingDays =
      stepMs > dayMs || days < 7 ? 0 : Math.max(0, Math.ceil((until - from) / dayMs) - counted);
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
  return html`<div class="weeks">${table(context, { caption: 'By week', columns, rows })}</div>`;
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
  return html`<div class="card"><div class="over"><h2>${visible(segmentName(name))}</h2><p class="note">segment “${visible(name)}”${begin}</p></div>${drawn}</div>`;
}

/** A number, how it moved, and its line: on its own scale. */
function multiples(context: PageContext, read: CountsRead): Html {
  const { last, steps, stepMs, monthAgo, days, segment: main } = read;
  const others = last.filter(({ segment }) => segment !== main);
  if (others.length === 0) return none;
  const cells = others.map(({ segment, count: value }) => {
    const before = monthAgo.find((one) => one.segment === segment)?.count;
    const moved = before === undefined ? 'new' : `${shareWords(value, before)} in 30 days`;
    const points = pointsOf(steps, segment, stepMs);
    const sentence = `${segment}: ${count(value)}, ${moved}${sayGaps(gapsOf(points), context.now)}`;
    return html`<li><h3 class="label"><a href="${href(context, { segment })}">${visible(segment)}</a></h3><p class="big">${count(value)}</p><p class="note">${moved}</p>${sparkline(points, sentence, true)}</li>`;
  });
  return section('Segments side by side', html`<ul class="card flush multiples">${cells}</ul>`, {
    note: html`Each on its own scale, the same ${days} days`,
    more: html`<a href="${csvOf(context)}" download>As CSV</a>`,
  });
}

function ofContacts(context: PageContext, read: CountsRead): Html {
  const { last, steps, segment, days, counted, stepMs, everyMs } = read;
  const own = steps.filter((step) => step.segment === segment);
  const [first] = own;
  const range = chips(
    'Range',
    ranges.map(([value, label]) => ({
      label,
      href: href(context, { days: value }),
      isCurrent: Number(value) === days,
    })),
    csvChip(csvOf(context), 'CSV of these counts'),
  );
  if (last.length === 0)
    return empty(
      'dashed',
      'No count yet',
      'Contacts are counted in the segments that the settings name under counts.',
    );
  if (own.length < 2) {
    const one = last.find((each) => each.segment === segment);
    const [title, next] =
      first === undefined
        ? ['No count in this range', '']
        : counted === 1
          ? ['One count so far', 'The line begins with the next count.']
          : ['Too few counts for a line', `It begins once they are more than ${span(stepMs)} apart.`];
    const words =
      one === undefined
        ? ''
        : `${many(one.count, 'contact')} at ${clockTime(one.countedAt, context.now, true)}. `;
    return html`${range}${empty('dashed', title, `${words}${next}${everyWords(everyMs)}`)}`;
  }
  return html`${range}<div class="columns">${mainChart(context, read)}${weekTable(context, weeksOf(read, context.now))}</div>${multiples(context, read)}`;
}

/** By the settings: the first counts may be closer to each other. */
const everyWords = (everyMs: number | null) => (everyMs === null ? '' : ` Counted every ${span(everyMs)}.`);

function lead(context: PageContext, { last, monthAgo, segment, everyMs }: CountsRead): string {
  const now = last.find((one) => one.segment === segment);
  if (now === undefined) return 'Contacts by segment, tags, contact fields and roles, as they grew.';
  const before = monthAgo.find((one) => one.segment === segment)?.count;
  const moved = (from: number) => {
    const by = now.count - from;
    if (by === 0) return ', as many as 30 days ago';
    return `, ${count(Math.abs(by))} ${by > 0 ? 'more' : 'fewer'} than 30 days ago (${shareWords(now.count, from)})`;
  };
  return `${many(now.count, 'contact')}${before === undefined ? '' : moved(before)}.${everyWords(everyMs)} Last at ${clockTime(now.countedAt, context.now, true)}.`;
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
