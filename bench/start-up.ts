/** What it takes until a command has said something: row 22. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Bench, Group } from './bench.ts';
import type { Environment } from './measure-process.ts';
import { cpuMsOfEndedChildren } from './postgres.ts';
import { measure, type RowResult } from './results.ts';

/** CPU time comes in ticks of 10 ms: so many starts are one measurement. */
const starts = 10;

function cpuOfStart(args: readonly string[], env: Environment): number {
  const before = cpuMsOfEndedChildren();
  for (let turn = 0; turn < starts; turn += 1) {
    const { status, stderr } = spawnSync(process.execPath, args, { env, encoding: 'utf8' });
    if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}: ${stderr}`);
  }
  return (cpuMsOfEndedChildren() - before) / starts;
}

async function measureStartUp({ server, musterd, repeats }: Bench): Promise<RowResult> {
  const database = await server.newDatabase();
  // Compiled code is kept in it from the first start on.
  const home = mkdtempSync(join(tmpdir(), 'musterd-bench-home-'));
  try {
    const env = {
      PATH: process.env['PATH'] ?? '',
      HOME: home,
      NO_COLOR: '1',
      DATABASE_URL: database.url,
    };
    const took = { node: [] as number[], status: [] as number[], help: [] as number[] };
    for (const command of ['status', '--help']) cpuOfStart([musterd, command], env);
    for (let turn = 0; turn < repeats; turn += 1) {
      took.node.push(cpuOfStart(['-e', '0'], env));
      took.status.push(cpuOfStart([musterd, 'status'], env));
      took.help.push(cpuOfStart([musterd, '--help'], env));
    }
    // The goals are times; what Node alone takes is shown beside them.
    const peers = { 'node -e 0': took.node };
    return {
      row: 22,
      size: 'built',
      measures: [
        measure({ what: 'status, CPU time', unit: 'ms', product: took.status, peers, goal: 250 }),
        measure({ what: '--help, CPU time', unit: 'ms', product: took.help, peers, goal: 80 }),
      ],
    };
  } finally {
    rmSync(home, { recursive: true, force: true });
    await database.close();
  }
}

export const startUp: Group = { rows: [22], measure: async (bench) => [await measureStartUp(bench)] };
