import { describe, expect, test } from 'vitest';
import type { Places } from '../../src/model/pace.ts';
import {
  createOwnPlaces,
  createRate,
  defaultRateSettings,
  type RateSettings,
} from '../../src/service/rate-limiter.ts';
import { mostIn, playSaturated, slidingLog, fixedWindow, type Limiter } from './rate-world.ts';
import { createVirtualClock } from './virtual-clock.ts';

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

/** Calls as fast as they may leave, for some minutes, of one process whose calls take little time. */
const saturate = (limiter: Limiter, minutes: number, settings: Partial<RateSettings> = {}, seed = 1) =>
  playSaturated({ processes: 1, callers: 4, statementMs: 0, limiter, minutes, settings, seed });

/** A pace without jitter, and its clock. */
function openRate(settings: Partial<RateSettings> = {}, signal?: AbortSignal) {
  const clock = createVirtualClock();
  const rate = createRate({ ...defaultRateSettings, ...settings }, clock, { signal, random: () => 0 });
  return { clock, rate };
}

describe('createRate', () => {
  test.each([1, 2, 3])('sends 475 requests a minute on average, and at most 500 (seed %i)', async (seed) => {
    const { arrivals, refused, perMinute } = await saturate(slidingLog(500), 10, {}, seed);
    expect(refused).toBe(0);
    expect(mostIn(minuteMs, arrivals)).toBeLessThanOrEqual(500);
    expect(perMinute).toBeGreaterThanOrEqual(475);
  });

  test.each([
    ['a limiter with a fixed window', fixedWindow(500, 17_000), 0],
    ['a limiter with a bucket of 500', bucket(500, 500), 0],
    ['a limiter with a bucket of 60', bucket(500, 60), 0],
    ['a limiter with a bucket of 20', bucket(500, 20), 2],
    ['a limiter with a bucket of 5', bucket(500, 5), 15],
  ])('gets at most 15 429s from %s, and still sends 200 requests a minute', async (_name, limiter, most) => {
    const { refused, perMinute } = await saturate(limiter, 15);
    expect(refused).toBeLessThanOrEqual(most);
    expect(perMinute).toBeGreaterThanOrEqual(most > 0 ? 200 : 465);
  });

  test.each([
    [100_000, 1],
    [6_000, 0.5],
    [60, 1],
    [7, 1],
    [1, 1],
    [500, 0.2],
  ])('gets no 429 at a limit of %i requests a minute if its share is %f', async (perMinute, share) => {
    const { arrivals, refused } = await saturate(slidingLog(perMinute * share), perMinute > 1_000 ? 2 : 5, {
      perMinute,
      share,
    });
    expect(refused).toBe(0);
    expect(arrivals.length).toBeGreaterThan(0);
    expect(mostIn(minuteMs, arrivals)).toBeLessThanOrEqual(perMinute * share);
  });

  test('sends 200 requests a minute with at most 180 429s in an hour while another client uses 100 of 500', async () => {
    const limiter = slidingLog(500);
    let next = 0;
    const shared: Limiter = (now) => {
      for (; next <= now; next += 600) limiter(next);
      return limiter(now);
    };
    const { refused, perMinute } = await saturate(shared, 60);
    expect(refused).toBeLessThanOrEqual(180);
    expect(perMinute).toBeGreaterThanOrEqual(200);
  });

  test('sends the first 20 calls at once, and later calls at equal intervals', async () => {
    const { clock, rate } = openRate();
    const times: number[] = [];
    const call = async () => {
      const slot = await rate.acquire();
      times.push(clock.now());
      rate.accepted(slot);
    };
    await clock.run(Promise.all(Array.from({ length: 40 }, call)));
    expect(times.filter((at) => at === 0)).toHaveLength(20);
    const gaps = times.slice(20).map((at, i) => at - (times[19 + i] ?? 0));
    for (const gap of gaps) expect(gap).toBeCloseTo(60_000 / 475, 3);
  });

  test('pauses 1 s for four 429s of the same burst, and 2 s for the next 429', async () => {
    const { clock, rate } = openRate();
    const slots = await clock.run(Promise.all(Array.from({ length: 4 }, () => rate.acquire())));
    const pauses = await Promise.all(slots.map((slot) => rate.throttled(slot, null, null)));
    expect(pauses).toEqual([{ pauseMs: 1_000, inARow: 1 }, null, null, null]);
    const next = await clock.run(rate.acquire());
    expect(clock.now()).toBe(1_000);
    expect(await rate.throttled(next, null, null)).toMatchObject({ pauseMs: 2_000, inARow: 2 });
  });

  test('reports the pause after a 429 to the shared rate limit, and delays a waiting call', async () => {
    const clock = createVirtualClock();
    const paused: number[] = [];
    const own = createOwnPlaces(clock);
    const places: Places = {
      take: async (pace) => {
        await clock.sleep(10);
        return await own.take(pace);
      },
      pause: async (ms) => {
        paused.push(ms);
        await Promise.resolve();
      },
    };
    const rate = createRate({ ...defaultRateSettings, places }, clock, { random: () => 0 });
    const first = await clock.run(rate.acquire());
    const next = rate.acquire();
    await Promise.resolve();
    await rate.throttled(first, '5', null);
    await clock.run(next);
    expect([paused, clock.now()]).toEqual([[5_000], 5_020]);
  });

  test('fails a call if the shared rate limit fails, and lets the next call pass', async () => {
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
    await clock.run(rate.acquire());
  });
});

describe('createRate with a rate limit that processes share', () => {
  const worlds = [
    ['one process', { processes: 1 }, 475],
    ['three processes', { processes: 3 }, 475],
    ['one process, statements of 250 ms', { processes: 1, statementMs: 250 }, 450],
    ['three processes, statements of 250 ms', { processes: 3, statementMs: 250 }, 450],
    ['one process, statements of a second', { processes: 1, statementMs: 1_000 }, 400],
    ['a latency of half a second', { processes: 1, latencyMs: 500 }, 450],
    [
      'three processes that have unused slots of an hour ago',
      { processes: 3, statementMs: 2_000, callsBefore: 3 },
      300,
    ],
    ['spikes of 3 s', { processes: 3, spikeMs: 3_000 }, 450],
    ['handshakes and spikes of 20 s', { processes: 3, spikeMs: 20_000 }, 430],
  ] as const;

  test.each(worlds)('sends 300 to 500 requests a minute with %s', async (_name, world, least) => {
    for (const seed of [1, 2, 3]) {
      const { arrivals, perMinute } = await playSaturated({ ...world, minutes: 5, seed });
      expect(mostIn(minuteMs, arrivals)).toBeLessThanOrEqual(500);
      expect(perMinute).toBeGreaterThanOrEqual(least);
    }
  });
});

test('createRate rejects waiting and later calls once its signal aborts', async () => {
  for (const settings of [{ burst: 1 }, { perMinute: 1 }] as const) {
    const stop = new AbortController();
    const { clock, rate } = openRate(settings, stop.signal);
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
