/** A run in which nothing has changed, within a process that is warm: row 14. */
import { type Bench, type Group, holdSomething, inWords } from './bench.ts';
import { configOf, runHere } from './in-process.ts';
import { measure, type RowResult } from './results.ts';
import { createConnections } from '../src/service/connections.ts';
import { startService } from './service.ts';

const users = 5_000;

/** The CPU of node and Postgres together, in ms a run. */
async function measureCpu({ server, quick }: Bench, run: () => Promise<unknown>): Promise<readonly number[]> {
  // Postgres is asked in ticks of 10 ms: so many runs are one measurement.
  const runs = 10;
  const cpu: number[] = [];
  for (let turn = 0; turn < (quick ? 2 : 7); turn += 1) {
    const postgresBefore = server.cpuMs();
    const before = process.cpuUsage();
    for (let at = 0; at < runs; at += 1) await run();
    const { user, system } = process.cpuUsage(before);
    cpu.push(((user + system) / 1000 + server.cpuMs() - postgresBefore) / runs);
  }
  return cpu;
}

async function measureUnchanged(bench: Bench): Promise<RowResult> {
  const emulator = { users, tags: 25, fields: 12, ratePerMinute: 0 };
  const service = await startService({ emulator, replay: true });
  const database = await bench.server.newDatabase();
  // As a daemon keeps them.
  const connections = createConnections();
  try {
    // A thousand a second: so close together that places are not asked for ahead of need.
    const config = configOf(service.environment, 60_000);
    const run = (db = database.db) => runHere(db, config, undefined, { connections });
    // The first has everything to do, and after some more the code is compiled.
    for (let turn = 0; turn < 10; turn += 1) await run();
    await database.sql('analyze');
    const counted = await database.count(run);
    const unchangedMs = await measureCpu(bench, run);
    await database.sql(holdSomething);
    const heldMs = await measureCpu(bench, run);
    const one = (what: string, value: number, goal: number) =>
      measure({ what, unit: '', product: [value], goal });
    return {
      row: 14,
      size: inWords(users, 'users'),
      measures: [
        one('statements', counted.statements, 60),
        one('transactions', counted.transactions, 15),
        one('lease updates', counted.leaseWrites, 3),
        measure({ what: 'CPU time, no field held', unit: 'ms', product: unchangedMs, goal: 60 }),
        measure({ what: 'CPU time, one field held', unit: 'ms', product: heldMs, goal: 180 }),
      ],
    };
  } finally {
    await connections.close();
    await database.close();
    await service.close();
  }
}

export const unchanged: Group = {
  rows: [14],
  measure: async (bench) => [await measureUnchanged(bench)],
};
