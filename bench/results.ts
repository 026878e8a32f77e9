/** What was measured of a row: the limit, a peer and the product, in one run. */
import { ratios, type Spread, spreadOf } from './stats.ts';

export type Unit = 'ms' | 'MB' | 'times' | '%' | '';

export interface Measure {
  readonly what: string;
  readonly unit: Unit;
  readonly product: Spread;
  /** What no program can do better than, and in which words. */
  readonly limit?: Spread | undefined;
  /** How others do it. */
  readonly peers?: Readonly<Record<string, Spread>>;
  /** The product by the limit, pair by pair. */
  readonly ratio?: Spread | undefined;
  /** What the ratio, or without a limit the product, is to be at most; `atLeast` turns it around. */
  readonly goal: number;
  readonly atLeast?: boolean;
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** A line of a plot. */
export interface Series {
  readonly plot: 'time' | 'memory' | 'latency' | 'use';
  readonly name: string;
  readonly points: readonly Point[];
}

export interface RowResult {
  readonly row: number;
  readonly size: string;
  readonly measures: readonly Measure[];
  readonly series?: readonly Series[];
}

interface Measured {
  readonly what: string;
  readonly unit: Unit;
  readonly product: readonly number[];
  readonly limit?: readonly number[];
  readonly peers?: Readonly<Record<string, readonly number[]>>;
  readonly goal: number;
  readonly atLeast?: boolean;
}

export function measure({ product, limit, peers, ...rest }: Measured): Measure {
  return {
    ...rest,
    product: spreadOf(product),
    ...(limit === undefined ? {} : { limit: spreadOf(limit), ratio: spreadOf(ratios(product, limit)) }),
    ...(peers === undefined
      ? {}
      : {
          peers: Object.fromEntries(Object.entries(peers).map(([name, values]) => [name, spreadOf(values)])),
        }),
  };
}

export function isReached({ ratio, product, goal, atLeast }: Measure): boolean {
  const value = (ratio ?? product).median;
  return atLeast === true ? value >= goal : value <= goal;
}
