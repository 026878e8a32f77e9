/** Several measurements of one thing. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  readonly count: number;
}

/** The value below which this share of them lies. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (index: number) => sorted[index] ?? Number.NaN;
  const middle = (at(Math.floor((sorted.length - 1) / 2)) + at(Math.floor(sorted.length / 2))) / 2;
  return { median: middle, min: at(0), max: at(sorted.length - 1), count: sorted.length };
}

/** Each by the one that was measured beside it. */
export function ratios(values: readonly number[], by: readonly number[]): readonly number[] {
  return values.map((value, index) => value / (by[index] ?? Number.NaN));
}

/** The most of these moments that lie within any minute. */
export function mostInAMinute(momentsMs: readonly number[]): number {
  let from = 0;
  return momentsMs
    .toSorted((a, b) => a - b)
    .reduce((most, at, index, sorted) => {
      while ((sorted[from] ?? at) <= at - 60_000) from += 1;
      return Math.max(most, index - from + 1);
    }, 0);
}
