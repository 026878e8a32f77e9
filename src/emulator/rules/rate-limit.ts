import type { Variants } from '../faults/variants.ts';

/** Counts the requests of one team against its rate limit. */
export interface RateLimit {
  /** Returns 0 and counts the request if it is accepted, or else the ms until a request would be accepted. */
  take(nowMs: number, perMinute: number, window: Variants['rate-window']): number;
}

const minuteMs = 60_000;

/** interface.md, Limits: 500 requests per minute over all endpoints; an excess request gets a 429 and is not counted. */
export function createRateLimit(): RateLimit {
  let sliding: number[] = [];
  let fixed = { minute: -1, count: 0 };
  let bucket = { level: Number.NaN, atMs: 0 };

  function takeSliding(nowMs: number, perMinute: number): number {
    const oldest = sliding.findIndex((at) => at > nowMs - minuteMs);
    if (oldest !== 0) sliding = oldest === -1 ? [] : sliding.slice(oldest);
    const first = sliding[sliding.length - perMinute];
    if (first !== undefined) return first + minuteMs - nowMs;
    sliding.push(nowMs);
    return 0;
  }

  function takeFixed(nowMs: number, perMinute: number): number {
    const minute = Math.floor(nowMs / minuteMs);
    if (fixed.minute !== minute) fixed = { minute, count: 0 };
    if (fixed.count >= perMinute) return (minute + 1) * minuteMs - nowMs;
    fixed.count += 1;
    return 0;
  }

  /** The bucket holds a tenth of a minute's requests, so that short bursts are accepted. */
  function takeFromBucket(nowMs: number, perMinute: number): number {
    const capacity = Math.max(1, Math.floor(perMinute / 10));
    const refill = (Math.max(0, nowMs - bucket.atMs) * perMinute) / minuteMs;
    const level = Number.isNaN(bucket.level) ? capacity : Math.min(capacity, bucket.level + refill);
    bucket = { level: level >= 1 ? level - 1 : level, atMs: nowMs };
    return level >= 1 ? 0 : ((1 - level) * minuteMs) / perMinute;
  }

  return {
    take: (nowMs, perMinute, window) => {
      if (perMinute === 0) return 0;
      if (window === 'sliding') return takeSliding(nowMs, perMinute);
      return window === 'fixed' ? takeFixed(nowMs, perMinute) : takeFromBucket(nowMs, perMinute);
    },
  };
}
