/** Many teams on one daemon and on three: rows 23 and 24. `scale-out.ts` plays the loss of one of them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { writeTeams } from '../test/support/scale-out.ts';
import { type Bench, type Group, inWords } from './bench.ts';
import { startMeasured } from './measure-process.ts';
import { type BenchDatabase, cpuMsOf } from './postgres.ts';
import { measure, type RowResult } from './results.ts';
import { startService } from './service.ts';

interface Play {
  readonly teams: number;
  readonly users: number;
  readonly daemons: number;
  readonly intervalS: number;
}

interface Watched {
  readonly database: BenchDatabase;
  /** CPU time so far. */
  readonly cpuMs: () => { readonly node: number; readonly postgres: number };
}

/** Until every team has had its first complete run; then `work` watches what goes on. */
async function withDaemons<T>(
  { server, musterd }: Bench,
  { teams, users, daemons, intervalS }: Play,
  work: (watched: Watched) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'musterd-bench-teams-'));
  const others = Array.from({ length: teams - 1 }, (_, at) => ({ seed: at + 2 }));
  const emulator = { users, tags: 3, fields: 2, ratePerMinute: 0, teams: others };
  const service = await startService({ emulator });
  const database = await server.newDatabase();
  const schedule = intervalS === 60 ? '0 * * * * *' : `*/${intervalS} * * * * *`;
  const settings = { schedule, concurrency: 4, ratePerMinute: 500 };
  const file = writeTeams(folder, await service.environments(), settings);
  const before = server.cpuMs();
  const running = Array.from({ length: daemons }, () =>
    startMeasured(musterd, ['daemon', '--config', file], { DATABASE_URL: database.url }),
  );
  const cpuMs = () => ({
    node: running.reduce((sum, daemon) => sum + cpuMsOf(daemon.process.pid ?? 0), 0),
    postgres: server.cpuMs() - before,
  });
  try {
    const done = async () => {
      const [[count] = []] = await database.sql(
        `select count(*)::int from sync.due where run_group = 'users' and complete_at is not null`,
      );
      return count === teams;
    };
    // A slow machine takes minutes for it: whoever started this ends it.
    while (!(await done())) await delay(250);
    return await work({ database, cpuMs });
  } finally {
    for (const daemon of running) daemon.process.kill('SIGTERM');
    await Promise.all(running.map((daemon) => daemon.ended));
    await database.close();
    await service.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measureFirstRound(bench: Bench): Promise<RowResult> {
  const play = { teams: Math.max(5, bench.size / 500), users: 500, daemons: 1, intervalS: 60 };
  const used = await withDaemons(bench, play, async ({ cpuMs }) => cpuMs());
  const of = (what: string, ms: number) =>
    measure({ what: `${what} per team`, unit: 'ms', product: [ms / play.teams], goal: 12_000 / 200 });
  return {
    row: 23,
    size: `${inWords(play.teams, 'teams')} of ${play.users} users`,
    measures: [of('CPU time of Node', used.node), of('CPU time of Postgres', used.postgres)],
  };
}

/** Of the runs that began in the last so many seconds. */
async function lookBack({ sql }: BenchDatabase, seconds: number, intervalS: number) {
  const [[runs = 0, late = 0] = []] = await sql(
    `with r as (
       select team, started_at, lag(started_at) over (partition by team order by started_at) as before
       from sync.runs where 'users' = any (groups) and outcome = 'complete')
     select count(*)::int as runs, (count(distinct team) filter (where started_at - before > interval '${intervalS * 1.5} s'))::int as late
     from r where started_at > clock_timestamp() - interval '${seconds} s'`,
  );
  return { runs: Number(runs), late: Number(late) };
}

async function measureMany(bench: Bench): Promise<RowResult> {
  const play = {
    teams: Math.max(20, bench.size / 50),
    users: 50,
    daemons: 3,
    intervalS: bench.quick ? 5 : 60,
  };
  const intervals = bench.quick ? 2 : 3;
  const seen = await withDaemons(bench, play, async ({ database, cpuMs }) => {
    // What was due during the first round is made up for in the first interval.
    await delay(1000 * play.intervalS);
    const before = cpuMs();
    await delay(1000 * intervals * play.intervalS);
    const after = cpuMs();
    const { runs, late } = await lookBack(database, intervals * play.intervalS, play.intervalS);
    const of = (name: 'node' | 'postgres') => (after[name] - before[name]) / runs;
    return { runs, late, node: of('node'), postgres: of('postgres') };
  });
  bench.say(`${seen.runs} runs of ${play.teams} teams, ${seen.late} late`);
  return {
    row: 24,
    size: `${inWords(play.teams, 'teams')} of ${play.users} users, every ${play.intervalS} s`,
    measures: [
      measure({ what: 'teams whose run was late', unit: '', product: [seen.late], goal: 0 }),
      measure({ what: 'CPU time of Node per run', unit: 'ms', product: [seen.node], goal: 8 }),
      measure({ what: 'CPU time of Postgres per run', unit: 'ms', product: [seen.postgres], goal: 8 }),
    ],
  };
}

export const manyTeams: Group = {
  rows: [23, 24],
  measure: async (bench) => [
    ...(bench.isWanted(23) ? [await measureFirstRound(bench)] : []),
    ...(bench.isWanted(24) ? [await measureMany(bench)] : []),
  ],
};
