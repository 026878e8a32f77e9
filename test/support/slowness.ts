import { spawnSync } from 'node:child_process';
import { availableParallelism, loadavg } from 'node:os';

/** Ms in which a calm machine of two cores starts a Node that does nothing. */
const calmStartMs = 60;

/**
 * How many times slower than a calm machine this one is now, a whole number of 1 to 10, since deadlines are whole
 * numbers of ms: by how long a process takes to start, and by how many others want the same cores.
 */
export function measureSlowness(): number {
  const startsMs = [1, 2, 3].map(() => {
    const began = performance.now();
    spawnSync(process.execPath, ['-e', '0'], { env: {} });
    return performance.now() - began;
  });
  return slownessOf(startsMs, (loadavg()[0] ?? 0) / availableParallelism());
}

/** The same of what was measured: ms of some starts, and how many processes want each core. */
export function slownessOf(startsMs: readonly number[], wantedPerCore: number): number {
  const middleMs = startsMs.toSorted((a, b) => a - b)[Math.floor(startsMs.length / 2)] ?? calmStartMs;
  return Math.ceil(Math.min(10, Math.max(1, middleMs / calmStartMs, wantedPerCore)));
}
