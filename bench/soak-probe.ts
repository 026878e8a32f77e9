/** Loaded into the daemon of a soak: tells its parent what the process holds, each time after a collection. */
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** What a process says of itself. */
export interface Holding {
  readonly heapMb: number;
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
  const resources = process.getActiveResourcesInfo().length;
  const holding: Holding = { heapMb: mb(heapUsed), externalMb: mb(external), resources, lagMs };
  process.send?.(holding);
  lag.reset();
  lag.enable();
}, Number(process.env['SOAK_EVERY_MS']));
timer.unref();
process.channel?.unref();
