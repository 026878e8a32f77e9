/** Runs in words. */
import type { PageRun } from '../read/page-runs.ts';
import { inPlural } from '../../model/listed-resource.ts';
import { listedResources } from '../../model/listed-resources.ts';
import { type Html, html, none } from './html.ts';
import { pill } from './pills.ts';
import { count, many } from './words.ts';

/** The counts of what moved, in the order of the sentence. */
const moves = [
  ['adopted', 'adopted'],
  ['returned', 'came back'],
  ['pulled', 'pulled'],
  ['pushed', 'pushed'],
  ['settled', 'settled'],
  ['held', 'held'],
  ['gone', 'left'],
  ...listedResources.flatMap((listed) => [
    [`${listed.name}_added`, `${inPlural(listed)} new`] as const,
    [`${listed.name}_changed`, `${inPlural(listed)} changed`] as const,
    [`${listed.name}_gone`, `${inPlural(listed)} gone`] as const,
  ]),
] as const;

/** How much a run moved in all. */
export const movedBy = ({ counts }: Pick<PageRun, 'counts'>): number =>
  moves.reduce((sum, [key]) => sum + (counts[key] ?? 0), 0);

/** `2 pushed, 1 held` */
export function movedInWords({ counts }: Pick<PageRun, 'counts'>): string {
  const words = moves.flatMap(([key, word]) =>
    (counts[key] ?? 0) > 0 ? [`${count(counts[key] ?? 0)} ${word}`] : [],
  );
  return words.length === 0 ? 'nothing' : words.join(', ');
}

export const laneNames = {
  users: 'Users',
  edits: 'Edits',
  listings: 'Listings',
  counts: 'Contact counts',
} as const;
export type Lane = keyof typeof laneNames;
export const lanes = Object.keys(laneNames) as readonly Lane[];

/** The subject of a run: its gravest group. */
export const whatOf = ({ groups, command }: Pick<PageRun, 'groups' | 'command'>): string =>
  command === 'daemon' || command === 'reconcile'
    ? (lanes.flatMap((lane) => (groups.includes(lane) ? [laneNames[lane]] : []))[0] ?? command)
    : command;

export type Weight = 'idle' | 'moved' | 'broken' | 'act';

/** The weight of a run in a strip. It is red if somebody has to act. */
export function weightOf(run: Pick<PageRun, 'outcome' | 'counts'>): Weight {
  if (run.outcome === 'refused') return 'act';
  if (run.outcome === 'partial' || run.outcome === 'failed') return 'broken';
  return movedBy(run) > 0 ? 'moved' : 'idle';
}

export function outcomePill({ outcome }: Pick<PageRun, 'outcome'>): Html {
  switch (outcome) {
    case 'complete':
      return pill('tick', 'ok', 'Complete');
    case 'refused':
      return pill('alarm', 'act', 'Stopped by the guard');
    case 'partial':
      return pill('half', 'dim', 'Partial');
    case 'failed':
      return pill('cross', 'dim', 'Failed');
    default:
      return pill('dashed', 'dim', 'Under way');
  }
}

export const tookMs = ({
  startedAt,
  finishedAt,
}: Pick<PageRun, 'startedAt' | 'finishedAt'>): number | null =>
  finishedAt === null ? null : finishedAt.getTime() - startedAt.getTime();

/** A run, or some of them, in a strip, hollow if they were not complete. */
export function tickOf(
  weight: Weight,
  { x, y, height }: { readonly x: number; readonly y: number; readonly height: number },
): Html {
  const [inset, paint] =
    weight === 'broken' ? [0.7, html` fill="none" stroke="currentColor" stroke-width="1.2"`] : [0, none];
  return html`<rect class="${weight === 'broken' ? 'moved' : weight}" x="${x + inset}" y="${y + inset}" width="${4 - 2 * inset}" height="${height - 2 * inset}" rx="0.8"${paint}/>`;
}

export const stripLegend: Html = html`<p class="row note legend">${(
  [
    ['moved', 'moved something'],
    ['idle', 'found nothing to move'],
    ['broken', 'partial or failed; the next run goes on'],
    ['act', 'somebody must act'],
  ] as const
).map(
  ([weight, words]) =>
    html`<span><svg class="key" width="6" height="11" aria-hidden="true">${tickOf(weight, { x: 1, y: weight === 'idle' ? 6 : 0, height: weight === 'idle' ? 5 : 11 })}</svg> ${words}</span>`,
)}</p>`;

/** `every 5 minutes`. @param limitSeconds three times the longest pause of the schedule */
export function rhythm(limitSeconds: number): string {
  const minutes = Math.round(limitSeconds / 180);
  if (minutes < 1) return 'several times a minute';
  if (minutes === 1) return 'every minute';
  if (minutes === 60) return 'every hour';
  return minutes < 60 ? `every ${minutes} minutes` : `every ${many(Math.round(minutes / 60), 'hour')}`;
}
