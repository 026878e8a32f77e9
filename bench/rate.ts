/** The limit of 500 a minute, saturated: rows 17 and 18. */
import type { Bench, Group } from './bench.ts';
import { measureProcess, programHere } from './measure-process.ts';
import { measure, type Point, type RowResult } from './results.ts';
import { startService } from './service.ts';
import { createSlowProxy } from './slow-proxy.ts';
import { mostInAMinute } from './stats.ts';

const perMinute = 500;

interface Play {
  readonly name: string;
  readonly processes: number;
  /** How much longer each statement takes. */
  readonly statementMs: number;
  readonly goal: number;
}

const plays: readonly Play[] = [
  { name: '1 process', processes: 1, statementMs: 0, goal: 94 },
  { name: '3 processes', processes: 3, statementMs: 0, goal: 94 },
  { name: '1 process, each statement takes 250 ms', processes: 1, statementMs: 250, goal: 94 },
];

/**
 * What happens before this counts for nothing: processes start, and what may leave at once leaves, which is missing at the
 * end of the first minute. A quick look ends before that.
 */
const startAt = (quick: boolean) => (quick ? 5 : 60);

async function saturate(bench: Bench, { name, processes, statementMs }: Play, seconds: number) {
  const service = await startService({ emulator: { users: 5, tags: 1, fields: 1, ratePerMinute: 0 } });
  const database = await bench.server.newDatabase();
  const slow = statementMs === 0 ? undefined : await createSlowProxy(database.url, statementMs);
  try {
    const env = { ...service.environment, DATABASE_URL: slow?.url ?? database.url };
    const program = programHere('rate-process.ts');
    await Promise.all(
      Array.from({ length: processes }, () => measureProcess(program, [String(seconds)], env)),
    );
    const moments = (await service.arrivals()).map(({ atMs }) => atMs);
    const beganMs = (moments[0] ?? 0) + startAt(bench.quick) * 1000;
    const endMs = (moments[0] ?? 0) + (seconds - 1) * 1000;
    const counted = moments.filter((atMs) => atMs >= beganMs && atMs < endMs).length;
    const share = (100 * counted) / (((endMs - beganMs) / 60_000) * perMinute);
    bench.say(`${name}: ${Math.round(share)} % of the limit`);
    return { share, most: mostInAMinute(moments), points: overTime(moments) };
  } finally {
    await slow?.close();
    await database.close();
    await service.close();
  }
}

function overTime(moments: readonly number[]): readonly Point[] {
  const stepMs = 5_000;
  const [first = 0] = moments;
  const counts = Map.groupBy(moments, (atMs) => Math.floor((atMs - first) / stepMs));
  return [...counts].map(([step, { length }]) => ({
    x: (step * stepMs) / 1000,
    y: (100 * length * 60_000) / stepMs / perMinute,
  }));
}

async function measureRate(bench: Bench): Promise<readonly RowResult[]> {
  const seconds = bench.quick ? 20 : 150;
  // Side by side: they wait, and do not compute.
  const seen = await Promise.all(plays.map((play) => saturate(bench, play, seconds)));
  const size = `${seconds} s`;
  const uses = plays.map(({ name, goal }, index) =>
    measure({ what: name, unit: '%', product: [seen[index]?.share ?? 0], goal, atLeast: true }),
  );
  const most = plays.map(({ name }, index) =>
    measure({ what: name, unit: '', product: [seen[index]?.most ?? 0], goal: perMinute }),
  );
  const series = plays.map(({ name }, index) => ({
    plot: 'use' as const,
    name,
    points: seen[index]?.points ?? [],
  }));
  return [
    { row: 17, size, measures: uses, series },
    { row: 18, size, measures: most },
  ];
}

export const rate: Group = { rows: [17, 18], measure: measureRate };
