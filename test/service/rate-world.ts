/** Processes that call a service as fast as they may, and what arrives there; hours pass in moments. */
import type { Places } from '../../src/model/pace.ts';
import {
  createOwnPlaces,
  createRate,
  defaultRateSettings,
  type Rate,
  type RateSettings,
} from '../../src/service/rate-limiter.ts';
import { createVirtualClock } from './virtual-clock.ts';

/** Decides on a call that arrives at `now`: whether it is taken. */
export type Limiter = (now: number) => boolean;

const minuteMs = 60_000;

export function slidingLog(limit: number): Limiter {
  const taken: number[] = [];
  return (now) => {
    while ((taken[0] ?? Number.POSITIVE_INFINITY) <= now - minuteMs) taken.shift();
    if (taken.length >= limit) return false;
    taken.push(now);
    return true;
  };
}

export function fixedWindow(limit: number, phaseMs: number): Limiter {
  let window = -1;
  let used = 0;
  return (now) => {
    const current = Math.floor((now + phaseMs) / minuteMs);
    if (current !== window) used = 0;
    window = current;
    used += 1;
    return used <= limit;
  };
}

/** A small generator of numbers from 0 to 1, so that a run can be repeated. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}

/** The most of these times, in any order, that lie in one window. */
export function mostIn(windowMs: number, times: readonly number[]): number {
  const sorted = times.toSorted((one, other) => one - other);
  let from = 0;
  let most = 0;
  sorted.forEach((at, to) => {
    while ((sorted[from] ?? at) <= at - windowMs) from += 1;
    most = Math.max(most, to - from + 1);
  });
  return most;
}

export interface SaturatedWorld {
  readonly processes: number;
  readonly minutes: number;
  readonly seed: number;
  /** Of the database; it looks at its clock in the middle. */
  readonly statementMs?: number;
  readonly latencyMs?: number;
  /** One request in fifty waits for so long before it leaves, or on its way. */
  readonly spikeMs?: number;
  readonly limiter?: Limiter;
  readonly callers?: number;
  readonly settings?: Partial<RateSettings>;
  /** Before the callers begin, each process has made so many calls, an hour ago. */
  readonly callsBefore?: number;
}

/** All processes call as fast as they may. */
export async function playSaturated(world: SaturatedWorld) {
  const { processes, minutes, seed, statementMs = 1, latencyMs = 100, spikeMs = 0, callers = 8 } = world;
  const limiter = world.limiter ?? slidingLog(500);
  const clock = createVirtualClock();
  const random = seeded(seed);
  const own = createOwnPlaces(clock);
  const arrivals: number[] = [];
  let refused = 0;
  const slow: Places = {
    take: async (pace, count) => {
      await clock.sleep(statementMs / 2);
      const due = await own.take(pace, count);
      await clock.sleep(statementMs / 2);
      return due;
    },
    pause: async (ms, pace) => await own.pause(ms, pace),
  };
  const call = async (rate: Rate) => {
    const order = await rate.acquire();
    await clock.sleep((latencyMs / 2) * (0.5 + random()) + (random() < 0.02 ? spikeMs * random() : 0));
    arrivals.push(clock.now());
    const taken = limiter(clock.now());
    await clock.sleep((latencyMs / 2) * (0.5 + random()));
    if (taken) rate.accepted(order);
    else {
      refused += 1;
      await rate.throttled(order, null, null);
    }
  };
  let end = Number.POSITIVE_INFINITY;
  const rates = Array.from({ length: processes }, () =>
    createRate({ ...defaultRateSettings, places: slow, ...world.settings }, clock, { random }),
  );
  const caller = async (rate: Rate) => {
    while (clock.now() < end) await call(rate);
  };
  for (let nr = 0; nr < (world.callsBefore ?? 0); nr += 1)
    await clock.run(Promise.all(rates.map((rate) => rate.acquire())));
  if (world.callsBefore !== undefined) await clock.run(clock.sleep(3_600_000));
  const from = clock.now();
  end = from + minutes * minuteMs;
  const all = rates.flatMap((rate) => Array.from({ length: callers }, () => caller(rate)));
  await clock.run(Promise.all(all));
  return { arrivals, refused, perMinute: arrivals.filter((at) => at < end).length / minutes };
}
