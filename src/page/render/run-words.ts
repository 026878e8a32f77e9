/** Describes runs in words, and draws a strip with a tick for each step of a day. */
import type { Lane, PageRun } from '../read/page-runs.ts';
import { movedKinds } from '../../model/moved-kinds.ts';
import { daySteps } from '../../model/run-group.ts';
import { type Html, html, none } from './html.ts';
import { pill } from './pills.ts';
import { count, many } from './words.ts';

/** `came back`, `tags new` */
const movedWord = (kind: string): string =>
  ({ returned: 'came back', gone: 'left' })[kind] ?? kind.replace(/_added$/, ' new').replaceAll('_', ' ');

export const movedBy = ({ counts }: Pick<PageRun, 'counts'>): number =>
  movedKinds.reduce((sum, key) => sum + (counts[key] ?? 0), 0);

/** `2 pushed, 1 held` */
export function movedInWords({ counts }: Pick<PageRun, 'counts'>): string {
  const words = movedKinds.flatMap((kind) =>
    (counts[kind] ?? 0) > 0 ? [`${count(counts[kind] ?? 0)} ${movedWord(kind)}`] : [],
  );
  return words.length === 0 ? 'nothing' : words.join(', ');
}

export const laneNames = {
  users: 'Users',
  edits: 'Edits',
  listings: 'Listings',
  counts: 'Contact counts',
} as const satisfies Record<Lane['lane'], string>;

/** The subject of a run: the first of its groups in the order of `laneNames`; without groups, the name of its command. */
export const whatOf = ({ groups, command }: Pick<PageRun, 'groups' | 'command'>): string =>
  command === 'daemon' || command === 'reconcile'
    ? (Object.entries(laneNames).find(([lane]) => groups.includes(lane))?.[1] ?? command)
    : command;

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

/** The class and the meaning of the tick for each weight. Red: a person must act. Hollow: the run was not complete. */
const weights = [
  ['idle', 'found nothing to move'],
  ['moved', 'moved something'],
  ['broken', 'partial or failed; the next run goes on'],
  ['act', 'somebody must act'],
] as const;

function tickOf(weight: number, x: number, y: number, height: number): Html {
  const [name] = weights[weight] ?? weights[0];
  const [inset, paint] =
    name === 'broken' ? [0.7, html` fill="none" stroke="currentColor" stroke-width="1.2"`] : [0, none];
  return html`<rect class="${name === 'broken' ? 'moved' : name}" x="${x + inset}" y="${y + inset}" width="${4 - 2 * inset}" height="${height - 2 * inset}" rx="0.8"${paint}/>`;
}

const stripHeight = 26;

/** A day of runs as ticks, one per step. The more changes the runs of a step made, the higher is the tick. */
export function strip({ lane, runs, ticks }: Lane): Html {
  const drawn = ticks.map(([step, weight, moved]) => {
    const height = weight === 0 ? 5 : Math.min(stripHeight - 2, Math.round(10 + 5 * Math.log2(1 + moved)));
    return tickOf(weight, step * 6 + 1, stripHeight - height, height);
  });
  const broken = ticks.filter(([, weight]) => weight > 1).length;
  const words = `${laneNames[lane]}: ${many(runs, 'run')}${broken === 0 ? '' : `, not all complete`}`;
  return html`<svg class="drawn strip" height="${stripHeight}" role="img" aria-label="${words}" viewBox="0 0 ${daySteps * 6} ${stripHeight}" preserveAspectRatio="none">${drawn}</svg>`;
}

export const stripLegend: Html = html`<p class="row note legend">${weights.map(
  ([, words], weight) =>
    html`<span><svg class="key" width="6" height="11" aria-hidden="true">${tickOf(weight, 1, weight === 0 ? 6 : 0, weight === 0 ? 5 : 11)}</svg> ${words}</span>`,
)}</p>`;
