/** Many edits on their way to the service, and listings on their way from it: rows 15, 16, 19, 20. */
import { useOfLimit } from '../test/support/use-of-limit.ts';
import { type Bench, type Group, inWords, unguarded, unlimited } from './bench.ts';
import { measureProcess, startMeasured } from './measure-process.ts';
import type { BenchDatabase } from './postgres.ts';
import { measure, type Point, type RowResult } from './results.ts';
import { type Arrival, type Service, type ServiceOptions, startService } from './service.ts';

const perMinute = 500;

async function withService<T>(
  { server }: Bench,
  options: ServiceOptions,
  work: (service: Service, database: BenchDatabase) => Promise<T>,
): Promise<T> {
  const service = await startService(options);
  const database = await server.newDatabase();
  try {
    return await work(service, database);
  } finally {
    await database.close();
    await service.close();
  }
}

/** A mirror in which so many users wait to be sent. */
async function withEdits<T>(
  bench: Bench,
  count: number,
  work: (service: Service, database: BenchDatabase) => Promise<T>,
): Promise<T> {
  // One of twenty has no email.
  const emulator = { users: Math.ceil(count * 1.1), tags: 10, fields: 5, ratePerMinute: 0 };
  return await withService(bench, { emulator }, async (service, database) => {
    const env = { ...service.environment, ...unlimited, DATABASE_URL: database.url };
    await measureProcess(bench.musterd, ['reconcile'], env);
    await database.sql(
      `update mirror.users set email = 'drained.' || id || '@example.com' where id in
         (select id from mirror.users where email is not null and resolved order by id limit ${count})`,
    );
    await service.clear();
    return await work(service, database);
  });
}

async function measureRequests(bench: Bench): Promise<RowResult> {
  const count = bench.size / 10;
  return await withEdits(bench, count, async (service, database) => {
    const env = { ...service.environment, ...unlimited, ...unguarded, DATABASE_URL: database.url };
    await measureProcess(bench.musterd, ['reconcile'], env);
    const requests = (await service.arrivals()).length;
    const [product, limit] = [[requests], [Math.ceil(count / 25)]];
    return {
      row: 15,
      size: inWords(count, 'edits'),
      measures: [measure({ what: 'requests', unit: '', product, limit, goal: 2.1 })],
    };
  });
}

/** Requests in each five seconds, as a share of the limit. */
function useOverTime(arrivals: readonly Arrival[], fromMs: number): readonly Point[] {
  const stepMs = 5_000;
  const counts = Map.groupBy(arrivals, ({ atMs }) => Math.floor((atMs - fromMs) / stepMs));
  return [...counts].flatMap(([step, { length }]) =>
    step < 0 ? [] : [{ x: (step * stepMs) / 1000, y: (100 * length * 60_000) / stepMs / perMinute }],
  );
}

/** The share of the limit that is used, to the last update or to the end of our patience. */
async function measureUse(bench: Bench, latencyMs: number) {
  const count = bench.quick ? 3_000 : bench.size / 10;
  return await withEdits(bench, count, async (service, database) => {
    await service.setDelay(latencyMs);
    const env = { ...service.environment, ...unguarded, DATABASE_URL: database.url };
    const run = startMeasured(bench.musterd, ['reconcile'], env);
    const patience = setTimeout(() => run.process.kill('SIGTERM'), bench.quick ? 25_000 : 180_000);
    await run.ended;
    clearTimeout(patience);
    const arrivals = await service.arrivals();
    const share = 100 * useOfLimit(arrivals, perMinute);
    const first = arrivals.find(({ path }) => path === '/v1/users/update')?.atMs ?? 0;
    bench.say(`${latencyMs} ms: ${Math.round(share)} % of the limit`);
    return { share, points: useOverTime(arrivals, first) };
  });
}

async function measureUses(bench: Bench): Promise<RowResult> {
  // Two requests are in flight at most.
  const goals = { 150: 94, 500: 45 } as const;
  const latencies = bench.quick ? ([150] as const) : ([150, 500] as const);
  const uses: Awaited<ReturnType<typeof measureUse>>[] = [];
  for (const latencyMs of latencies) uses.push(await measureUse(bench, latencyMs));
  return {
    row: 16,
    size: inWords(bench.quick ? 3_000 : bench.size / 10, 'edits'),
    measures: uses.map(({ share }, index) =>
      measure({
        what: `share of the limit at a delay of ${latencies[index]} ms`,
        unit: '%',
        product: [share],
        goal: goals[latencies[index] ?? 150],
        atLeast: true,
      }),
    ),
    series: uses.map(({ points }, index) => ({
      plot: 'use' as const,
      name: `draining at ${latencies[index]} ms`,
      points,
    })),
  };
}

/** A service that takes 1,000 rows a page, by a client whose settings say nothing of it. */
async function measurePages(bench: Bench): Promise<RowResult> {
  const tags = 12_000;
  const emulator = {
    users: 20,
    tags,
    fields: 5,
    ratePerMinute: 0,
    variants: { 'limit-cap': 1_000 },
  } as const;
  return await withService(bench, { emulator }, async (service, database) => {
    const env = { ...service.environment, MUSTERD__rate__perMinute: '1000000', DATABASE_URL: database.url };
    await measureProcess(bench.musterd, ['reconcile'], env);
    await service.clear();
    await measureProcess(bench.musterd, ['reconcile'], env);
    const pages = (await service.arrivals()).filter(({ path }) => path.startsWith('/v1/tag'));
    const [product, limit] = [[pages.length], [Math.ceil(tags / 1_000) + 1]];
    return {
      row: 19,
      size: inWords(tags, 'tags'),
      measures: [measure({ what: 'requests for pages', unit: '', product, limit, goal: 1 })],
    };
  });
}

/** A first run, far away. */
async function measureFirst(bench: Bench): Promise<RowResult> {
  const tags = bench.size / 5;
  const latencyMs = 150;
  const emulator = { users: 20, tags, fields: 5, ratePerMinute: 0 };
  return await withService(bench, { emulator, delayMs: latencyMs }, async (service, database) => {
    const env = { ...service.environment, MUSTERD__rate__perMinute: '1000000', DATABASE_URL: database.url };
    const { stdout } = await measureProcess(bench.musterd, ['reconcile', '--json'], env);
    const { duration_ms: ms } = JSON.parse(stdout) as { readonly duration_ms: number };
    // The pages that 20,000 tags take, and as many fewer.
    const goal = Math.max(3_000, (10_000 * tags) / 20_000);
    const what = `run at a delay of ${latencyMs} ms`;
    return {
      row: 20,
      size: inWords(tags, 'tags'),
      measures: [measure({ what, unit: 'ms', product: [ms], goal })],
    };
  });
}

const measured: Readonly<Record<number, (bench: Bench) => Promise<RowResult>>> = {
  15: measureRequests,
  16: measureUses,
  19: measurePages,
  20: measureFirst,
};

export const drain: Group = {
  rows: [15, 16, 19, 20],
  measure: async (bench) => {
    const results: RowResult[] = [];
    for (const [row, work] of Object.entries(measured))
      if (bench.isWanted(Number(row))) results.push(await work(bench));
    return results;
  },
};
