/**
 * As much of PromQL as config/prometheus-alerts.yaml uses: selectors, sum, min and max "by", increase,
 * min_over_time, absent, time, subqueries, comparisons, differences, and, or, unless. Where promtool is at
 * hand, the tests compare the two.
 */

export type Labels = Readonly<Record<string, string>>;

/** One scraped series: values by ms, the oldest first; `null`: from here on it is no longer there. */
export interface Series {
  readonly name: string;
  readonly labels: Labels;
  readonly points: (readonly [atMs: number, value: number | null])[];
}

export interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

type Value = number | readonly Sample[];
type Instant = (atMs: number) => Value;
interface Window {
  readonly labels: Labels;
  readonly points: readonly (readonly [atMs: number, value: number])[];
}
type Range = (atMs: number) => { readonly windows: readonly Window[]; readonly fromMs: number };
type Node = { readonly instant: Instant } | { readonly range: Range };

const lookBackMs = 300_000;
const unitsMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

export function durationMs(text: string): number {
  const [, count, unit = ''] = /^(\d+)([smhd])$/.exec(text) ?? [];
  const ms = unitsMs[unit];
  if (ms === undefined) throw new Error(`no duration: ${text}`);
  return Number(count) * ms;
}

const keyOf = (labels: Labels) =>
  JSON.stringify(Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1)));

function vector(value: Value): readonly Sample[] {
  if (typeof value === 'number') throw new Error('a number where a vector is due');
  return value;
}

/** How many of the points are no later than that. */
function countUntil(points: Series['points'], atMs: number): number {
  let [low, high] = [0, points.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((points[middle]?.[0] ?? 0) <= atMs) low = middle + 1;
    else high = middle;
  }
  return low;
}

function latest({ points }: Series, atMs: number): number | null {
  const point = points[countUntil(points, atMs) - 1];
  return point === undefined || point[0] < atMs - lookBackMs ? null : point[1];
}

/** As Prometheus does: resets are added up, and the ends of the window are reckoned from what lies inside. */
function increase({ points }: Window, fromMs: number, toMs: number): number | null {
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined || points.length < 2) return null;
  const grown = points.reduce((sum, [, value], at) => {
    const before = points[at - 1]?.[1] ?? value;
    return sum + (value < before ? value : value - before);
  }, 0);
  const sampled = last[0] - first[0];
  const average = sampled / (points.length - 1);
  const toZero = grown > 0 ? sampled * (first[1] / grown) : Number.POSITIVE_INFINITY;
  const reach = (gap: number) => (gap < average * 1.1 ? gap : average / 2);
  const span = sampled + reach(Math.min(first[0] - fromMs, toZero)) + reach(toMs - last[0]);
  return grown * (span / sampled);
}

const aggregations: Readonly<Record<string, (values: readonly number[]) => number>> = {
  sum: (values) => values.reduce((sum, value) => sum + value, 0),
  min: (values) => Math.min(...values),
  max: (values) => Math.max(...values),
};

function aggregate(word: string, by: readonly string[], samples: readonly Sample[]): readonly Sample[] {
  const kept = ({ labels }: Sample) =>
    Object.fromEntries(Object.entries(labels).filter(([name]) => by.includes(name)));
  const groups = Map.groupBy(samples, (sample) => keyOf(kept(sample)));
  return [...groups.values()].map((group) => ({
    labels: kept(group[0] as Sample),
    value: (aggregations[word] as (values: readonly number[]) => number)(group.map(({ value }) => value)),
  }));
}

const comparisons: Readonly<Record<string, (a: number, b: number) => boolean>> = {
  '>=': (a, b) => a >= b,
  '<=': (a, b) => a <= b,
  '==': (a, b) => a === b,
  '>': (a, b) => a > b,
  '<': (a, b) => a < b,
};

/** Left and right of an operator, label set by label set; the left one's labels stay. */
function pairs(left: Value, right: Value, combine: (a: number, b: number) => number | null): Value {
  if (typeof left === 'number' && typeof right === 'number') return combine(left, right) ?? Number.NaN;
  if (typeof left === 'number') throw new Error('a number on the left of a vector');
  const others =
    typeof right === 'number' ? null : new Map(right.map((one) => [keyOf(one.labels), one.value]));
  return left.flatMap(({ labels, value }) => {
    const other = others === null ? (right as number) : others.get(keyOf(labels));
    const result = other === undefined ? null : combine(value, other);
    return result === null ? [] : [{ labels, value: result }];
  });
}

const operators: readonly Readonly<Record<string, (left: Value, right: Value) => Value>>[] = [
  {
    or: (left, right) => {
      const known = new Set(vector(left).map(({ labels }) => keyOf(labels)));
      return [...vector(left), ...vector(right).filter(({ labels }) => !known.has(keyOf(labels)))];
    },
  },
  {
    and: (left, right) => {
      const known = new Set(vector(right).map(({ labels }) => keyOf(labels)));
      return vector(left).filter(({ labels }) => known.has(keyOf(labels)));
    },
    unless: (left, right) => {
      const known = new Set(vector(right).map(({ labels }) => keyOf(labels)));
      return vector(left).filter(({ labels }) => !known.has(keyOf(labels)));
    },
  },
  Object.fromEntries(
    Object.entries(comparisons).map(([word, holds]) => [
      word,
      (left: Value, right: Value) => pairs(left, right, (a, b) => (holds(a, b) ? a : null)),
    ]),
  ),
  { '-': (left, right) => pairs(left, right, (a, b) => a - b) },
];

const matches: Readonly<Record<string, (value: string, wanted: string) => boolean>> = {
  '=': (value, wanted) => value === wanted,
  '!=': (value, wanted) => value !== wanted,
  '=~': (value, wanted) => new RegExp(`^(?:${wanted})$`).test(value),
  '!~': (value, wanted) => !new RegExp(`^(?:${wanted})$`).test(value),
};

const tokenPattern = /\s*("[^"]*"|\d+[smhd]\b|\d+|[a-z_][a-z0-9_]*|>=|<=|==|!=|=~|!~|[-><=(){}[\]:,])/gy;

/** An expression that can be asked at any moment of these series, to which more may be added. @throws Error for what it does not know */
export function compile(text: string, all: readonly Series[]): (atMs: number) => readonly Sample[] {
  const tokens = [...text.matchAll(tokenPattern)].map(([, token = '']) => token);
  if (tokens.join('') !== text.replaceAll(/\s/g, '')) throw new Error(`not understood: ${text}`);
  let next = 0;
  const peek = () => tokens[next] ?? '';
  const take = (wanted?: string) => {
    const token = peek();
    if (wanted !== undefined && token !== wanted)
      throw new Error(`${wanted} expected, not ${token}: ${text}`);
    next += 1;
    return token;
  };
  const list = (end: string, one: () => void) => {
    while (peek() !== end) {
      one();
      if (peek() === ',') take();
    }
    take(end);
  };
  const instantOf = (node: Node): Instant => {
    if (!('instant' in node)) throw new Error(`a range where a moment is due: ${text}`);
    return node.instant;
  };
  const rangeOf = (node: Node): Range => {
    if (!('range' in node)) throw new Error(`a moment where a range is due: ${text}`);
    return node.range;
  };

  const selector = (name: string): Node => {
    const tests: ((labels: Labels) => boolean)[] = [];
    if (peek() === '{') {
      take();
      list('}', () => {
        const label = take();
        const match = matches[take()] as (value: string, wanted: string) => boolean;
        const wanted = take().slice(1, -1);
        tests.push((labels) => match(labels[label] ?? '', wanted));
      });
    }
    let [chosenOf, found]: [number, readonly Series[]] = [0, []];
    const chosen = () => {
      if (chosenOf < all.length)
        found = all.filter((one) => one.name === name && tests.every((test) => test(one.labels)));
      chosenOf = all.length;
      return found;
    };
    if (peek() !== '[') {
      return {
        instant: (atMs) =>
          chosen().flatMap((one) => {
            const value = latest(one, atMs);
            return value === null ? [] : [{ labels: one.labels, value }];
          }),
      };
    }
    take();
    const overMs = durationMs(take());
    take(']');
    return {
      range: (atMs) => ({
        fromMs: atMs - overMs,
        windows: chosen().map(({ labels, points }) => ({
          labels,
          points: points
            .slice(countUntil(points, atMs - overMs - 1), countUntil(points, atMs))
            .flatMap(([at, value]) => (value === null ? [] : [[at, value] as const])),
        })),
      }),
    };
  };

  /** `[1d:5m]`: the expression at each whole step of the window. */
  const subquery = (node: Node): Node => {
    if (peek() !== '[') return node;
    take();
    const overMs = durationMs(take());
    take(':');
    const stepMs = durationMs(take());
    take(']');
    const inner = instantOf(node);
    // Windows overlap, and what is past does not change.
    const past = new Map<number, readonly (Sample & { readonly key: string })[]>();
    const samplesAt = (at: number, nowMs: number) => {
      const samples =
        past.get(at) ?? vector(inner(at)).map((sample) => ({ ...sample, key: keyOf(sample.labels) }));
      if (at < nowMs) past.set(at, samples);
      return samples;
    };
    return {
      range: (atMs) => {
        const windows = new Map<string, { labels: Labels; points: (readonly [number, number])[] }>();
        for (let at = Math.ceil((atMs - overMs) / stepMs) * stepMs; at <= atMs; at += stepMs) {
          for (const { key, labels, value } of samplesAt(at, atMs)) {
            const window = windows.get(key) ?? { labels, points: [] };
            windows.set(key, window);
            window.points.push([at, value]);
          }
        }
        return { fromMs: atMs - overMs, windows: [...windows.values()] };
      },
    };
  };

  const overRange = (
    inner: Range,
    value: (window: Window, fromMs: number, toMs: number) => number | null,
  ): Instant => {
    return (atMs) => {
      const { windows, fromMs } = inner(atMs);
      return windows.flatMap((window) => {
        const result = value(window, fromMs, atMs);
        return result === null ? [] : [{ labels: window.labels, value: result }];
      });
    };
  };

  const call = (name: string, argument: Node): Instant => {
    if (name === 'increase') return overRange(rangeOf(argument), increase);
    if (name === 'min_over_time')
      return overRange(rangeOf(argument), ({ points }) =>
        points.length === 0 ? null : Math.min(...points.map(([, value]) => value)),
      );
    if (name !== 'absent') throw new Error(`no such function: ${name}`);
    const inner = instantOf(argument);
    return (atMs) => (vector(inner(atMs)).length === 0 ? [{ labels: {}, value: 1 }] : []);
  };

  const operand = (): Node => {
    const token = take();
    if (token === '(') {
      const inner = expression(0);
      take(')');
      return inner;
    }
    if (/^\d+$/.test(token)) return { instant: () => Number(token) };
    if (aggregations[token] !== undefined && peek() === 'by') {
      take();
      take('(');
      const by: string[] = [];
      list(')', () => by.push(take()));
      take('(');
      const inner = instantOf(expression(0));
      take(')');
      return { instant: (atMs) => aggregate(token, by, vector(inner(atMs))) };
    }
    if (peek() !== '(') return selector(token);
    take();
    if (token === 'time') {
      take(')');
      return { instant: (atMs) => atMs / 1_000 };
    }
    const argument = expression(0);
    take(')');
    return { instant: call(token, argument) };
  };

  /** The looser an operator binds, the lower its level. */
  function expression(level: number): Node {
    const words = operators[level];
    if (words === undefined) return subquery(operand());
    let left = expression(level + 1);
    for (;;) {
      const operate = words[peek()];
      if (operate === undefined) return left;
      take();
      const [a, b] = [instantOf(left), instantOf(expression(level + 1))];
      left = { instant: (atMs) => operate(a(atMs), b(atMs)) };
    }
  }

  const whole = instantOf(expression(0));
  if (next < tokens.length) throw new Error(`not understood from ${peek()} on: ${text}`);
  return (atMs) => vector(whole(atMs));
}

/** The samples of one scrape, as Prometheus reads its text. */
export function parseScrape(text: string): readonly (Sample & { readonly name: string })[] {
  return text.split('\n').flatMap((line) => {
    const [, name, labels = '', value] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    if (name === undefined) return [];
    const pairsOf = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, label = '', word = '']) => [
      label,
      word,
    ]);
    return [{ name, labels: Object.fromEntries(pairsOf) as Labels, value: Number(value) }];
  });
}
