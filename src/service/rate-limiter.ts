/**
 * Keeps every call within the service's rate: "500 requests per minute, all calls; excess gets 429"
 * (interface.md, Limits). Two rules at once:
 *
 * - a log: 99 % of the limit at most, where a call counts from before it is sent until 60 s after its
 *   answer. Whatever the network does, no 60 s at the service can hold more.
 * - pacing: calls leave evenly at the same rate, with a small burst for a start.
 *
 * A 429 stops all calls and teaches a smaller burst, then a lower rate.
 */
import type { Clock } from '../clock.ts';
import { MusterdError } from '../errors.ts';
import { createPacer, type Pause, type Place } from './pacer.ts';
import type { LearnedRate } from './learned-rate.ts';
import { createSlidingWindow } from './sliding-window.ts';

export interface RateSettings {
  /** The service's limit; ours is 99 % of it. */
  readonly perMinute: number;
  /** Calls that may leave at once after a quiet time. */
  readonly burst: number;
  /** The part of the limit that is ours (0 to 1); the rest is left to other integrations of the team. */
  readonly share: number;
  /** What an earlier run learned; see {@link Rate.learned}. */
  readonly learned?: LearnedRate | undefined;
  /** Where several processes share a limit: takes n calls from it and says how long to wait, in ms. */
  readonly reserve?: ((calls: number) => Promise<number>) | undefined;
  /** Tells the other processes of a pause. */
  readonly announcePause?: ((pauseMs: number) => Promise<void>) | undefined;
}

export const defaultRateSettings: RateSettings = { perMinute: 500, burst: 20, share: 1 };

/** Permission for one request. Must be given back in any case. */
export interface Slot {
  readonly place: Place;
  /** @param sent whether the request can have reached the service, and thus counts there */
  release(sent: boolean): void;
}

export interface Rate {
  /** Waits for its turn, first come first served. @throws MusterdError `stopped` when the signal is aborted */
  acquire(): Promise<Slot>;
  /** A 429: nothing leaves for a while. `null` where the pause for it is already under way. */
  throttled(slot: Slot, retryAfter: string | null, serviceNowMs: number | null): Promise<Pause | null>;
  /** Any other answer. */
  accepted(slot: Slot): void;
  /** The burst and the rate now in force, to be kept for the next run. */
  learned(): LearnedRate;
  /** Calls that count against the limit at this moment, and how many may. */
  load(): { readonly used: number; readonly capacity: number };
}

const windowMs = 60_000;
const margin = 0.99;

export function stopped(): MusterdError {
  return new MusterdError('stopped', 'stopped on request');
}

/** @throws MusterdError `stopped` when the signal ends the wait */
export async function sleepOrStop(clock: Clock, ms: number, signal: AbortSignal | undefined): Promise<void> {
  await clock.sleep(ms, signal).catch((error: unknown) => {
    throw signal?.aborted === true ? stopped() : error;
  });
}

export function createRate(
  settings: RateSettings,
  clock: Clock,
  options: { readonly signal?: AbortSignal | undefined; readonly random: () => number },
): Rate {
  const { signal, random } = options;
  const fullRate = settings.perMinute * settings.share * margin;
  const capacity = Math.max(1, Math.floor(fullRate));
  const log = createSlidingWindow(capacity, windowMs);
  const { learned } = settings;
  const start: LearnedRate = {
    burst: Math.max(1, Math.floor(Math.min(learned?.burst ?? settings.burst, settings.burst, capacity))),
    perMinute: Math.min(learned?.perMinute ?? fullRate, fullRate),
  };
  const pace = createPacer(fullRate, start, clock.monotonicMs(), random);
  let turn: Promise<unknown> = Promise.resolve();

  const take = (now: number): Slot => {
    const give = log.take();
    let open = true;
    const release = (sent: boolean) => {
      if (open) give(sent ? clock.monotonicMs() : null);
      open = false;
    };
    return { place: pace.take(now), release };
  };

  const grant = async (): Promise<Slot> => {
    for (let reserved = settings.reserve === undefined; ; ) {
      if (signal?.aborted === true) throw stopped();
      const now = clock.monotonicMs();
      const room = log.waitMs(now);
      const wait = room === null ? null : Math.max(room, pace.waitMs(now));
      if (wait === null) await log.released(signal);
      else if (wait > 0) await sleepOrStop(clock, Math.max(1, wait), signal);
      else if (reserved) return take(now);
      else {
        reserved = true;
        const sharedMs = (await settings.reserve?.(1)) ?? 0;
        if (sharedMs > 0) await sleepOrStop(clock, sharedMs, signal);
      }
    }
  };

  return {
    acquire: () => {
      const mine = turn.then(grant);
      turn = mine.catch(() => undefined);
      return mine;
    },
    throttled: async ({ place }, retryAfter, serviceNowMs) => {
      const refused = { place, retryAfter, serviceNowMs, wallMs: clock.now() };
      const pause = pace.refused(refused, clock.monotonicMs());
      if (pause !== null) await settings.announcePause?.(pause.pauseMs);
      return pause;
    },
    accepted: ({ place }) => {
      pace.accepted(place, clock.monotonicMs());
    },
    learned: () => pace.lesson(),
    load: () => ({ used: log.used(clock.monotonicMs()), capacity }),
  };
}
