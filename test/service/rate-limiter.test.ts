import { describe, expect, test } from 'vitest';
import type { Places } from '../../src/model/pace.ts';
import {
  createOwnPlaces,
  createRate,
  defaultRateSettings,
  type Rate,
  type RateSettings,
} from '../../src/service/rate-limiter.ts';
import {
  mostIn,
  playSaturated,
  seeded,
  watchPlaces,
  slidingLog,
  fixedWindow,
  type Limiter,
} from './rate-world.ts';
import { createVirtualClock, type VirtualClock } from './virtual-clock.ts';

const minuteMs = 60_000;

function bucket(limit: number, size: number): Limiter {
  let tokens = size;
  let at = 0;
  return (now) => {
    tokens = Math.min(size, tokens + ((now - at) * limit) / minuteMs);
    at = now;
    if (tokens < 1) return false;
    tokens -= 1;
    return true;
  };
}

interface Load {
  readonly arrivals: number[];
  refused: number;
}

async function oneCall(rate: Rate, clock: VirtualClock, limiter: Limiter, load: Load, random: () => number) {
  const slot = await rate.acquire();
  await clock.sleep(5 + 60 * random() ** 3);
  load.arrivals.push(clock.now());
  const taken = limiter(clock.now());
  await clock.sleep(5 + 60 * random() ** 3);
  if (taken) rate.accepted(slot);
  else {
    load.refused += 1;
    await rate.throttled(slot, null, null);
  }
  slot.release(true);
}

/** Calls as fast as they may leave, for some minutes, from several callers at once. */
async function saturate(limiter: Limiter, minutes: number, settings: Partial<RateSettings> = {}, seed = 1) {
  const clock = createVirtualClock();
  const random = seeded(seed);
  const rate = createRate({ ...defaultRateSettings, ...settings }, clock, { random });
  const load: Load = { arrivals: [], refused: 0 };
  const caller = async () => {
    while (clock.now() < minutes * minuteMs) await oneCall(rate, clock, limiter, load, random);
  };
  await clock.run(Promise.all(Array.from({ length: 4 }, caller)));
  const perMinute = load.arrivals.filter((at) => at < minutes * minuteMs).length / minutes;
  return { ...load, perMinute, rate };
}

describe('rate', () => {
  test.each([1, 2, 3])('never above the limit in any 60 s, and 98 %% of it used (seed %i)', async (seed) => {
    const { arrivals, refused, perMinute } = await saturate(slidingLog(500), 10, {}, seed);
    expect(refused).toBe(0);
    expect(mostIn(minuteMs, arrivals)).toBeLessThanOrEqual(500);
    expect(perMinute).toBeGreaterThanOrEqual(490);
  });

  test.each([
    ['a fixed window', fixedWindow(500, 17_000), 0],
    ['a bucket of 500', bucket(500, 500), 0],
    ['a bucket of 60', bucket(500, 60), 0],
    ['a bucket of 20', bucket(500, 20), 2],
    ['a bucket of 5', bucket(500, 5), 15],
  ])('%s: at most a few 429s, learned from', async (_name, limiter, most) => {
    const { refused, perMinute } = await saturate(limiter, 15);
    expect(refused).toBeLessThanOrEqual(most);
    expect(perMinute).toBeGreaterThanOrEqual(475);
  });

  test.each([
    [100_000, 1],
    [6_000, 0.5],
    [60, 1],
    [7, 1],
    [1, 1],
    [500, 0.2],
  ])('%i a minute with a share of %f', async (perMinute, share) => {
    const { arrivals, refused } = await saturate(slidingLog(perMinute * share), perMinute > 1_000 ? 2 : 5, {
      perMinute,
      share,
    });
    expect(refused).toBe(0);
    expect(arrivals.length).toBeGreaterThan(0);
    expect(mostIn(minuteMs, arrivals)).toBeLessThanOrEqual(perMinute * share);
  });

  test('others use a fifth of the limit: few 429s and most of the rest', async () => {
    const limiter = slidingLog(500);
    let next = 0;
    const shared: Limiter = (now) => {
      for (; next <= now; next += 600) limiter(next);
      return limiter(now);
    };
    const { refused, perMinute } = await saturate(shared, 60);
    expect(refused).toBeLessThanOrEqual(60);
    expect(perMinute).toBeGreaterThanOrEqual(0.7 * 400);
  });

  test('a burst leaves at once, and the rest evenly', async () => {
    const clock = createVirtualClock();
    const rate = createRate(defaultRateSettings, clock, { random: () => 0 });
    const times: number[] = [];
    const call = async () => {
      const slot = await rate.acquire();
      times.push(clock.now());
      rate.accepted(slot);
      slot.release(true);
    };
    await clock.run(Promise.all(Array.from({ length: 40 }, call)));
    expect(times.filter((at) => at === 0)).toHaveLength(20);
    const gaps = times.slice(20).map((at, i) => at - (times[19 + i] ?? 0));
    for (const gap of gaps) expect(gap).toBeCloseTo(60_000 / 495, 3);
  });

  test('first come, first served', async () => {
    const clock = createVirtualClock();
    const rate = createRate({ ...defaultRateSettings, burst: 1 }, clock, { random: () => 0 });
    const order: number[] = [];
    const calls = Array.from({ length: 10 }, async (_, i) => {
      const slot = await rate.acquire();
      order.push(i);
      slot.release(true);
    });
    await clock.run(Promise.all(calls));
    expect(order).toEqual(order.toSorted((a, b) => a - b));
  });

  test('a request that was never sent costs nothing of the limit; giving back twice changes nothing', async () => {
    const clock = createVirtualClock();
    const { places, counted } = watchPlaces(clock);
    const rate = createRate({ ...defaultRateSettings, places }, clock, { random: () => 0 });
    const slot = await clock.run(rate.acquire());
    expect(counted()).toBe(8);
    slot.release(false);
    slot.release(true);
    const sent = await clock.run(rate.acquire());
    sent.release(true);
    await rate.close();
    expect(counted()).toBe(1);
    await clock.run(clock.sleep(minuteMs));
    expect(counted()).toBe(1);
    await clock.run(clock.sleep(1_000));
    expect(counted()).toBe(0);
  });

  test('several refusals of one burst are one pause', async () => {
    const clock = createVirtualClock();
    const rate = createRate(defaultRateSettings, clock, { random: () => 0 });
    const slots = await clock.run(Promise.all(Array.from({ length: 4 }, () => rate.acquire())));
    const pauses = await Promise.all(slots.map((slot) => rate.throttled(slot, null, null)));
    expect(pauses).toEqual([{ pauseMs: 1_000, inARow: 1, lowered: true }, null, null, null]);
    for (const slot of slots) slot.release(true);
    const next = await clock.run(rate.acquire());
    expect(clock.now()).toBe(1_000);
    expect(await rate.throttled(next, null, null)).toMatchObject({ pauseMs: 2_000, inARow: 2 });
  });

  test('after a storm calls leave at half the pace for ten minutes', async () => {
    const clock = createVirtualClock();
    const rate = createRate(defaultRateSettings, clock, { random: () => 0 });
    for (let i = 0; i < 3; i += 1) {
      const slot = await clock.run(rate.acquire());
      await rate.throttled(slot, null, null);
      slot.release(true);
    }
    const countMinute = async () => {
      const end = clock.now() + minuteMs;
      let count = 0;
      while (clock.now() < end) {
        const slot = await clock.run(rate.acquire());
        rate.accepted(slot);
        slot.release(true);
        count += 1;
      }
      return count;
    };
    await clock.run(clock.sleep(minuteMs));
    expect(await countMinute()).toBeLessThan(260);
    await clock.run(clock.sleep(10 * minuteMs));
    expect(await countMinute()).toBeGreaterThan(450);
  });

  test('what was learned is kept, within what is allowed now', () => {
    const clock = createVirtualClock();
    const make = (settings: Partial<RateSettings>) =>
      createRate({ ...defaultRateSettings, ...settings }, clock, { random: () => 0 }).learned();
    expect(make({ learned: { burst: 4, perMinute: 300 } })).toEqual({ burst: 4, perMinute: 300 });
    expect(make({ learned: { burst: 90, perMinute: 9_000 } })).toEqual({ burst: 20, perMinute: 495 });
    expect(make({ perMinute: 10 })).toEqual({ burst: 9, perMinute: 9.9 });
  });

  test('a shared limit is asked for a few places at once, its wait is kept, and it is told of a pause', async () => {
    const clock = createVirtualClock();
    const taken: number[] = [];
    const paused: number[] = [];
    const places: Places = {
      take: async (wanted) => {
        taken.push(wanted.places);
        return await Promise.resolve(250 + 19 * wanted.periodMs);
      },
      pause: async (ms) => {
        paused.push(ms);
        await Promise.resolve();
      },
    };
    const rate = createRate({ ...defaultRateSettings, places }, clock, { random: () => 0 });
    const slot = await clock.run(rate.acquire());
    expect(clock.now()).toBeCloseTo(250);
    expect(taken).toEqual([8]);
    await rate.throttled(slot, '5', null);
    expect(paused).toEqual([5_000]);
  });

  test.each([
    ['in hand', 1, 2],
    ['being reserved', 8, 3],
  ])('places that are %s when a pause begins are not used after it', async (_, inUse, reservations) => {
    const clock = createVirtualClock();
    let taken = 0;
    const take = async () => {
      taken += 1;
      await clock.sleep(10);
      return 0;
    };
    const places: Places = { take, pause: () => Promise.resolve() };
    const rate = createRate({ ...defaultRateSettings, places }, clock, { random: () => 0 });
    const [slot] = await clock.run(Promise.all(Array.from({ length: inUse }, () => rate.acquire())));
    if (slot === undefined) throw new Error('no place');
    const next = rate.acquire();
    await Promise.resolve();
    await rate.throttled(slot, '1', null);
    await clock.run(next);
    await clock.run(rate.acquire());
    expect(taken).toBe(reservations);
  });

  test('a shared limit that fails ends that call and no other', async () => {
    const clock = createVirtualClock();
    let calls = 0;
    const own = createOwnPlaces(clock);
    const take: Places['take'] = async (wanted) => {
      calls += 1;
      if (calls === 1) throw new Error('no database');
      return await own.take(wanted);
    };
    const rate = createRate({ ...defaultRateSettings, places: { ...own, take } }, clock, { random: () => 0 });
    await expect(clock.run(rate.acquire())).rejects.toThrow('no database');
    (await clock.run(rate.acquire())).release(true);
  });
});

describe('rate: places in blocks', () => {
  const worlds = [
    ['one process', { processes: 1 }, 490],
    ['three processes', { processes: 3 }, 490],
    ['one process, statements of 250 ms', { processes: 1, statementMs: 250 }, 475],
    ['three processes, statements of 250 ms', { processes: 3, statementMs: 250 }, 475],
    ['one process, statements of a second', { processes: 1, statementMs: 1_000 }, 450],
    ['a latency of half a second', { processes: 1, latencyMs: 500 }, 475],
    ['spikes of 3 s', { processes: 3, spikeMs: 3_000 }, 475],
    ['handshakes and spikes of 20 s', { processes: 3, spikeMs: 20_000 }, 450],
  ] as const;

  test.each(worlds)('%s: what is allowed is used, and never more arrives', async (_name, world, least) => {
    for (const seed of [1, 2, 3]) {
      const { arrivals, perMinute } = await playSaturated({ ...world, minutes: 5, seed });
      expect(mostIn(minuteMs, arrivals)).toBeLessThanOrEqual(500);
      expect(perMinute).toBeGreaterThanOrEqual(least);
    }
  });
});

describe('rate: stopping', () => {
  test('a stop ends every wait: for the pace, for a pause, for an answer', async () => {
    for (const settings of [{ burst: 1 }, { perMinute: 1 }] as const) {
      const clock = createVirtualClock();
      const stop = new AbortController();
      const all = { ...defaultRateSettings, ...settings };
      const rate = createRate(all, clock, { signal: stop.signal, random: () => 0 });
      await clock.run(rate.acquire());
      const waiting = rate.acquire();
      const behind = rate.acquire();
      await new Promise(setImmediate);
      stop.abort();
      await expect(waiting).rejects.toMatchObject({ code: 'stopped' });
      await expect(behind).rejects.toMatchObject({ code: 'stopped' });
      await expect(rate.acquire()).rejects.toMatchObject({ code: 'stopped' });
    }
  });
});
