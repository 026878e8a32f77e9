/** A listing on its way into the mirror, beside COPY of the same rows: rows 6 to 8. */
import { createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Bench, type Group, inWords } from './bench.ts';
import { copy } from './copy.ts';
import type { Published } from './listing-process.ts';
import { measureProcess, programHere } from './measure-process.ts';
import type { BenchDatabase } from './postgres.ts';
import { measure, type RowResult } from './results.ts';
import { copyColumns, copyLines, type TagCase } from './tags.ts';

/** The product, and COPY of the same rows right before it. */
interface Pair {
  readonly copyMs: number;
  readonly copyCpuMs: number;
  readonly ms: number;
  readonly cpuMs: number;
  readonly memoryMb: number;
}

interface Rows {
  readonly bench: Bench;
  readonly count: number;
  /** Where they stand for COPY. */
  readonly file: string;
}

/** Into a table that is like the mirror's, but has no triggers. */
async function copyAlone({ bench, file }: Rows, database: BenchDatabase) {
  await database.sql('create table if not exists public.like_tags (like mirror.tags including all)');
  await database.sql('truncate public.like_tags');
  const before = bench.server.cpuMs();
  const { ms, cpuMs } = await copy(database, { into: `public.like_tags (${copyColumns})`, file });
  return { copyMs: ms, copyCpuMs: cpuMs + bench.server.cpuMs() - before };
}

async function publish({ bench, count }: Rows, { url }: BenchDatabase, what: TagCase): Promise<Published> {
  const before = bench.server.cpuMs();
  const { stdout } = await measureProcess(programHere('listing-process.ts'), [String(count), what], {
    DATABASE_URL: url,
  });
  const published = JSON.parse(stdout) as Published;
  return { ...published, cpuMs: published.cpuMs + bench.server.cpuMs() - before };
}

async function pairOf(rows: Rows, database: BenchDatabase, what: TagCase): Promise<Pair> {
  const copied = await copyAlone(rows, database);
  const pair = { ...copied, ...(await publish(rows, database, what)) };
  rows.bench.say(`${rows.count} rows, ${what}: ${Math.round(pair.copyMs)} ms, ${Math.round(pair.ms)} ms`);
  return pair;
}

async function withRows<T>(bench: Bench, count: number, work: (rows: Rows) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'musterd-bench-rows-'));
  const file = join(folder, 'rows.copy');
  try {
    await pipeline(Readable.from(copyLines(count)), createWriteStream(file));
    return await work({ bench, count, file });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function withDatabase<T>(bench: Bench, work: (database: BenchDatabase) => Promise<T>): Promise<T> {
  const database = await bench.server.newDatabase();
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

const cases = ['new', 'unchanged', '1 % changed'] as const;

/** Each case on a mirror whose statistics are settled after the first load. */
async function measureCases(rows: Rows, repeats: number): Promise<ReadonlyMap<TagCase, readonly Pair[]>> {
  const pairs = new Map<TagCase, Pair[]>(cases.map((what) => [what, []]));
  for (let turn = 0; turn < repeats; turn += 1) {
    await withDatabase(rows.bench, async (database) => {
      for (const what of cases) {
        pairs.get(what)?.push(await pairOf(rows, database, what));
        if (what === 'new') await database.sql('analyze');
      }
    });
  }
  return pairs;
}

async function measureSixth(bench: Bench): Promise<RowResult> {
  const goals = { new: 2, unchanged: 1.1, '1 % changed': 1.2 };
  return await withRows(bench, bench.size, async (rows) => {
    const pairs = await measureCases(rows, bench.repeats);
    const measures = cases.map((what) => {
      const of = pairs.get(what) ?? [];
      const product = of.map(({ ms }) => ms);
      const limit = of.map(({ copyMs }) => copyMs);
      return measure({
        what,
        unit: 'ms',
        product,
        limit,
        goal: goals[what],
      });
    });
    return { row: 6, size: inWords(rows.count, 'rows'), measures };
  });
}

async function measureSeventh(bench: Bench): Promise<RowResult> {
  const goals = { new: 2.2, unchanged: 1.4, '1 % changed': 1.4 };
  return await withRows(bench, bench.size * 10, async (rows) => {
    const pairs = await measureCases(rows, 1);
    const cpu = cases.map((what) => {
      const of = pairs.get(what) ?? [];
      const product = of.map(({ cpuMs }) => cpuMs);
      return measure({
        what: `${what}, CPU time`,
        unit: 'ms',
        product,
        limit: of.map(({ copyCpuMs }) => copyCpuMs),
        goal: goals[what],
      });
    });
    const memory = cases.flatMap((what) => (pairs.get(what) ?? []).map(({ memoryMb }) => memoryMb));
    const measures = [
      ...cpu,
      measure({
        what: 'memory beyond the memory of an idle process',
        unit: 'MB',
        product: memory,
        goal: 150,
      }),
    ];
    return { row: 7, size: inWords(rows.count, 'rows'), measures };
  });
}

/** The second run after a first load, when nobody has analysed anything. */
async function measureEighth(bench: Bench): Promise<RowResult> {
  return await withRows(bench, bench.size * 0.4, async (rows) => {
    const pairs: Pair[] = [];
    for (let turn = 0; turn < bench.repeats; turn += 1) {
      await withDatabase(bench, async (database) => {
        await publish(rows, database, 'new');
        pairs.push(await pairOf(rows, database, 'unchanged'));
      });
    }
    const product = pairs.map(({ ms }) => ms);
    const limit = pairs.map(({ copyMs }) => copyMs);
    const measures = [
      measure({ what: 'unchanged, tables never analysed', unit: 'ms', product, limit, goal: 1.1 }),
    ];
    return { row: 8, size: inWords(rows.count, 'rows'), measures };
  });
}

const measured: Readonly<Record<number, (bench: Bench) => Promise<RowResult>>> = {
  6: measureSixth,
  7: measureSeventh,
  8: measureEighth,
};

export const listing: Group = {
  rows: [6, 7, 8],
  measure: async (bench) => {
    const results: RowResult[] = [];
    for (const [row, work] of Object.entries(measured))
      if (bench.isWanted(Number(row))) results.push(await work(bench));
    return results;
  },
};
