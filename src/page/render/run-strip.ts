/** Runs over time as ticks, a picture of the list. Geometry is in attributes, paint in classes. */
import type { PageRun } from '../read/page-runs.ts';
import { type Html, html } from './html.ts';
import { movedBy, tickOf, type Weight, weightOf } from './run-words.ts';
import { many } from './words.ts';

const weights: readonly Weight[] = ['idle', 'moved', 'broken', 'act'];

interface Tick {
  readonly weight: Weight;
  readonly moved: number;
}

/** The gravest run of each step, and how much all of its runs moved. */
function ticksOf(runs: readonly PageRun[], fromMs: number, stepMs: number): ReadonlyMap<number, Tick> {
  const ticks = new Map<number, Tick>();
  for (const run of runs) {
    const at = Math.floor((run.startedAt.getTime() - fromMs) / stepMs);
    const [weight, before] = [weightOf(run), ticks.get(at)];
    const grave = Math.max(weights.indexOf(weight), weights.indexOf(before?.weight ?? 'idle'));
    ticks.set(at, { weight: weights[grave] ?? weight, moved: movedBy(run) + (before?.moved ?? 0) });
  }
  return ticks;
}

const height = 26;
const quiet = 5;

/** Low if nothing moved; otherwise higher, the more moved. */
const heightOf = ({ weight, moved }: Tick): number =>
  weight === 'idle' ? quiet : Math.min(height - 2, Math.round(10 + 5 * Math.log2(1 + moved)));

export interface Strip {
  readonly runs: readonly PageRun[];
  readonly label: string;
  readonly from: Date;
  readonly to: Date;
  /** The most ticks that there can be. */
  readonly steps: number;
}

export function strip({ runs, label, from, to, steps }: Strip): Html {
  const stepMs = (to.getTime() - from.getTime()) / steps;
  const ticks = [...ticksOf(runs, from.getTime(), stepMs)].filter(([at]) => at >= 0 && at <= steps);
  const moved = runs.filter((run) => weightOf(run) === 'moved').length;
  const broken = runs.filter((run) => ['broken', 'act'].includes(weightOf(run))).length;
  const words = `${label}: ${many(runs.length, 'run')}, ${moved} moved something, ${broken} not complete`;
  return html`<svg class="drawn strip" height="26" role="img" aria-label="${words}" viewBox="0 0 ${String(steps * 6)} ${String(height)}" preserveAspectRatio="none">${ticks.map(
    ([at, tick]) => {
      const tall = heightOf(tick);
      return tickOf(tick.weight, { x: at * 6 + 1, y: height - tall, height: tall });
    },
  )}</svg>`;
}
