/** Loaded into the daemon of a soak: tells its parent what the process holds, each time after a collection. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { getHeapSpaceStatistics } from 'node:v8';

/** What a process says of itself. */
export interface Holding {
  /** The heap, without the code in it. */
  readonly objectsMb: number;
  /** What V8 has made of functions: there is more of it each time that one more is called often. */
  readonly codeMb: number;
  /** Buffers, and whatever else lies outside of the heap. */
  readonly externalMb: number;
  /** Timers, sockets and requests that keep the process alive. */
  readonly resources: number;
  readonly lagMs: number;
}

const mb = (bytes: number) => bytes / 2 ** 20;

const lag = monitorEventLoopDelay({ resolution: 20 });
lag.enable();
const timer = setInterval(() => {
  const lagMs = lag.percentile(99) / 1e6;
  // The collection that is asked for is no lag of the daemon.
  lag.disable();
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  const code = getHeapSpaceStatistics()
    .filter(({ space_name: name }) => /code|trusted/.test(name))
    .reduce((sum, { space_used_size: used }) => sum + used, 0);
  const resources = process.getActiveResourcesInfo().length;
  const memory = { objectsMb: mb(heapUsed - code), codeMb: mb(code), externalMb: mb(external) };
  process.send?.({ ...memory, resources, lagMs } satisfies Holding);
  lag.reset();
  lag.enable();
}, Number(process.env['SOAK_EVERY_MS']));
timer.unref();
process.channel?.unref();
