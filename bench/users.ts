/** A whole run as a process: rows 1 to 4. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Bench, type Group, holdSomething, inWords, unguarded, unlimited } from './bench.ts';
import { measureProcess, programHere, type Used } from './measure-process.ts';
import type { BenchDatabase } from './postgres.ts';
import { measure, type RowResult } from './results.ts';
import { type Service, startService } from './service.ts';

/** Fetching and parsing alone, and a run of the product beside it. */
interface Pair {
  readonly floorMs: number;
  readonly floorCpuMs: number;
  /** From its record's beginning to its end. */
  readonly runMs: number;
  /** Of node and of Postgres. */
  readonly cpuMs: number;
  readonly used: Used;
}

const cases = [
  'first',
  'unchanged, tables never analysed',
  'unchanged',
  'one field held',
  '1 % changed',
] as const;
export type Case = (typeof cases)[number];

interface Stage {
  readonly bench: Bench;
  readonly service: Service;
  readonly folder: string;
}

/** Everything that the run asks, asked again by a program that does nothing else. */
async function measureFloor({
  service,
  folder,
}: Stage): Promise<{ readonly ms: number; readonly cpuMs: number }> {
  const file = join(folder, 'exchanges.json');
  writeFileSync(file, JSON.stringify(await service.exchanges()));
  const args = [service.environment['MUSTERD_BASE_URL'] ?? '', file];
  const { stdout } = await measureProcess(programHere('floor-process.ts'), args);
  return JSON.parse(stdout) as { ms: number; cpuMs: number };
}

async function runOnce({ bench, service }: Stage, { url }: BenchDatabase) {
  const before = bench.server.cpuMs();
  const env = { ...service.environment, ...unlimited, ...unguarded, DATABASE_URL: url };
  const used = await measureProcess(bench.musterd, ['reconcile', '--json'], env);
  const { duration_ms: runMs } = JSON.parse(used.stdout) as { readonly duration_ms: number };
  return { used, runMs, cpuMs: used.cpuMs + bench.server.cpuMs() - before };
}

async function measurePair(stage: Stage, database: BenchDatabase): Promise<Pair> {
  const floor = await measureFloor(stage);
  return { floorMs: floor.ms, floorCpuMs: floor.cpuMs, ...(await runOnce(stage, database)) };
}

/** One life of a mirror: its first run, and what comes after. */
async function liveOnce(stage: Stage, pairs: Map<Case, Pair[]>, turn: number): Promise<BenchDatabase> {
  const { bench, service } = stage;
  const database = await bench.server.newDatabase();
  const add = async (name: Case) => {
    const pair = await measurePair(stage, database);
    bench.say(`${name}: ${Math.round(pair.floorMs)} ms, ${pair.runMs} ms`);
    pairs.set(name, [...(pairs.get(name) ?? []), pair]);
  };
  await add('first');
  await add('unchanged, tables never analysed');
  await database.sql('analyze');
  await add('unchanged');
  await add('unchanged');
  await database.sql(holdSomething);
  await add('one field held');
  await service.editEvery(100, `changed${turn}`);
  await add('1 % changed');
  return database;
}

/** Of CPU; of time only where nothing is to be done. */
const goals: Readonly<Record<Case, number>> = {
  first: 12,
  'unchanged, tables never analysed': 4.6,
  unchanged: 1.5,
  'one field held': 4.6,
  '1 % changed': 5.2,
};
const goalOfTime = 1;

function rowOf(row: number, which: readonly Case[], pairs: ReadonlyMap<Case, readonly Pair[]>, size: string) {
  const measures = which.flatMap((what) => {
    const of = pairs.get(what) ?? [];
    const goal = goals[what];
    const time = measure({
      what,
      unit: 'ms',
      product: of.map(({ runMs }) => runMs),
      limit: of.map(({ floorMs }) => floorMs),
      goal: goalOfTime,
    });
    return [
      ...(what === 'unchanged' ? [time] : []),
      measure({
        what: `${what}, CPU time with start-up and Postgres`,
        unit: 'ms',
        product: of.map(({ cpuMs }) => cpuMs),
        limit: of.map(({ floorCpuMs }) => floorCpuMs),
        goal,
      }),
    ];
  });
  return { row, size, measures };
}

function toRows(pairs: ReadonlyMap<Case, readonly Pair[]>, size: string): readonly RowResult[] {
  const of = (name: Case) => pairs.get(name) ?? [];
  const memory = (what: Case, goal: number) =>
    measure({ what, unit: 'MB', product: of(what).map(({ used }) => used.peakMb), goal });
  const turns = cases.map((what) =>
    measure({ what, unit: 'ms', product: of(what).map(({ used }) => used.longestTurnMs), goal: 250 }),
  );
  return [
    rowOf(1, ['unchanged', 'one field held', 'unchanged, tables never analysed'], pairs, size),
    rowOf(2, ['first', '1 % changed'], pairs, size),
    { row: 3, size, measures: [memory('first', 520), memory('unchanged', 200)] },
    { row: 4, size, measures: turns },
  ];
}

export interface Life {
  readonly pairs: ReadonlyMap<Case, readonly Pair[]>;
  readonly rows: readonly RowResult[];
}

/** So many lives of a team of so many users. */
export async function measureLives(bench: Bench, users: number, lives: number): Promise<Life> {
  const tags = users / 5;
  const folder = mkdtempSync(join(tmpdir(), 'musterd-bench-users-'));
  const emulator = { users, tags, fields: 10, ratePerMinute: 0 };
  const service = await startService({ emulator, replay: true });
  const stage = { bench, service, folder };
  const pairs = new Map<Case, Pair[]>();
  try {
    // The answers are made once, before anybody waits for them.
    const first = await bench.server.newDatabase();
    await runOnce(stage, first);
    await first.close();
    for (let turn = 0; turn < lives; turn += 1) {
      const database = await liveOnce(stage, pairs, turn);
      await database.close();
    }
  } finally {
    await service.close();
    rmSync(folder, { recursive: true, force: true });
  }
  const size = `${inWords(users, 'users')}, ${inWords(tags, 'tags')}`;
  return { pairs, rows: toRows(pairs, size) };
}

export const users: Group = {
  rows: [1, 2, 3, 4],
  measure: async (bench) => {
    const sizes = bench.quick ? [bench.size] : [bench.size / 10, bench.size / 2, bench.size];
    const lives = new Map<number, Life>();
    for (const size of sizes)
      lives.set(size, await measureLives(bench, size, size === bench.size ? bench.repeats : 1));
    return withPlots(lives.get(bench.size)?.rows ?? [], lives);
  },
};

/** Time and memory against the number of users, to the first and the third row. */
function withPlots(rows: readonly RowResult[], lives: ReadonlyMap<number, Life>): readonly RowResult[] {
  const line = (plot: 'time' | 'memory', what: Case, name: string, of: (pair: Pair) => number) => ({
    plot,
    name,
    points: [...lives].map(([x, { pairs }]) => {
      const values = (pairs.get(what) ?? []).map(of);
      return { x, y: values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0 };
    }),
  });
  const shown = ['first', '1 % changed', 'unchanged'] as const;
  return rows.map((row) => {
    if (row.row === 1) {
      const floor = line('time', 'unchanged', 'fetch and parse', ({ floorMs }) => floorMs);
      return {
        ...row,
        series: [...shown.map((what) => line('time', what, what, ({ runMs }) => runMs)), floor],
      };
    }
    if (row.row !== 3) return row;
    return { ...row, series: shown.map((what) => line('memory', what, what, ({ used }) => used.peakMb)) };
  });
}
