/**
 * Keeps all calls within the service's rate limit: "500 requests per minute, all calls; excess gets 429" (interface.md,
 * Limits). Each call takes a place, a time at which one call may leave, and waits for this time (a generic cell rate
 * algorithm). All processes share the places. After a 429 no call leaves for a while, in any process.
 */
import type { Clock } from '../clock.ts';
import { MusterdError } from '../errors.ts';
import { paceOf, type Places, type PaceSettings } from '../model/pace.ts';
import { choosePauseMs } from './retry.ts';

export interface RateSettings extends PaceSettings {
  readonly burst: number;
  /** Given if several processes share one limit. */
  readonly places: Places | undefined;
}

export const defaultRateSettings: RateSettings = { perMinute: 500, burst: 20, share: 1, places: undefined };

/** A place expires this long after it was due, in ms. A call that used it later would exceed the present pace. */
const unusedMs = 500;

interface Pause {
  readonly pauseMs: number;
  /** The number of pauses since the last call that was accepted, including this one. */
  readonly inARow: number;
}

export interface Rate {
  /**
   * Waits for a place, first come, first served.
   * @param either the client's signal, or a signal that is aborted together with it
   * @returns the number of the call: 1 for the first call, then 2 and so on
   * @throws MusterdError `stopped` when the signal is aborted
   */
  acquire(either?: AbortSignal): Promise<number>;
  /** Reports a 429 for the call with this number. @returns `null` if the pause for it has already begun */
  throttled(order: number, retryAfter: string | null, serviceNowMs: number | null): Promise<Pause | null>;
  /** Reports any answer except a 429 for the call with this number. */
  accepted(order: number): void;
}

export function stopped(): MusterdError {
  return new MusterdError('stopped', 'Stopped on request');
}

/** @throws MusterdError `stopped` when the signal ends the wait */
export async function sleepOrStop(clock: Clock, ms: number, signal: AbortSignal | undefined): Promise<void> {
  await clock.sleep(ms, signal).catch((error: unknown) => {
    throw signal?.aborted === true ? stopped() : error;
  });
}

function requireRunning(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw stopped();
}

export function createRate(
  settings: RateSettings,
  clock: Clock,
  { signal, random }: { readonly signal?: AbortSignal | undefined; readonly random: () => number },
): Rate {
  const { places = createOwnPlaces(clock) } = settings;
  const pace = paceOf(settings);
  let turn: Promise<unknown> = Promise.resolve();
  let order = 0;
  let pausedAfter = 0;
  let pausedUntil = Number.NEGATIVE_INFINITY;
  let inARow = 0;

  /** The times of the places that are taken, but not used yet. */
  let inHand: number[] = [];
  let askMs = 0;

  /** Takes one place. If the database is slow, takes as many places as become due during one query for them. */
  const fill = async () => {
    const count = Math.min(pace.burst, Math.floor(askMs / pace.periodMs) + 1);
    const before = pausedAfter;
    const askedAt = clock.monotonicMs();
    const last = await places.take(pace, count);
    askMs = clock.monotonicMs() - askedAt;
    if (before !== pausedAfter) return;
    const now = askedAt + askMs;
    inHand = Array.from(
      { length: count },
      (_, i) => now + Math.max(0, last - (count - 1 - i) * pace.periodMs),
    );
  };

  const grant = async (either: AbortSignal | undefined): Promise<number> => {
    requireRunning(either);
    // While a call waits for its place, a pause may begin, which drops all places.
    for (;;) {
      const now = clock.monotonicMs();
      inHand = inHand.filter((due) => due > now - unusedMs);
      const wait = Math.max(inHand[0] ?? 0, pausedUntil) - now;
      if (wait > 0) await sleepOrStop(clock, Math.max(1, wait), either);
      else if (inHand.shift() === undefined) await fill();
      else break;
    }
    requireRunning(either);
    order += 1;
    return order;
  };

  return {
    acquire: (either = signal) => {
      const mine = turn.then(() => grant(either));
      turn = mine.catch(() => undefined);
      return mine;
    },
    throttled: async (refused, retryAfter, serviceNowMs) => {
      if (refused <= pausedAfter) return null;
      inARow += 1;
      pausedAfter = order;
      inHand = [];
      const pauseMs = choosePauseMs({ retryAfter, serviceNowMs, wallMs: clock.now(), inARow, random });
      pausedUntil = clock.monotonicMs() + pauseMs;
      await places.pause(pauseMs, pace);
      return { pauseMs, inARow };
    },
    accepted: (answered) => {
      if (answered > pausedAfter) inARow = 0;
    },
  };
}

/** The places of a process that shares its limit with no other process. `mirror/team/rate-limits.ts` has shared places. */
export function createOwnPlaces({ monotonicMs }: Pick<Clock, 'monotonicMs'>): Places {
  let nextAt = Number.NEGATIVE_INFINITY;
  return {
    take: ({ burst, periodMs }, count = 1) => {
      const now = monotonicMs();
      nextAt = Math.max(nextAt, now) + count * periodMs;
      return Promise.resolve(nextAt - now - burst * periodMs);
    },
    pause: (pauseMs, { burst, periodMs }) => {
      nextAt = Math.max(nextAt, monotonicMs() + pauseMs + (burst - 1) * periodMs);
      return Promise.resolve();
    },
  };
}
