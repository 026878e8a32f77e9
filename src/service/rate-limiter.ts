/**
 * Keeps every call within the service's rate: "500 requests per minute, all calls; excess gets 429"
 * (interface.md, Limits). Places are reserved in blocks, ahead of need, from a pool that all processes share; each
 * request uses one. A place counts from its reservation until a minute after the answer: however long a request is
 * under way, the service never sees more than the limit in any 60 s. Two rules apply, a log and a pace:
 * see `createOwnPlaces`.
 *
 * After a 429 all calls stop, and the burst becomes smaller, then the rate lower.
 */
import type { Clock } from '../clock.ts';
import { MusterdError } from '../errors.ts';
import { paceOf, type Places, type PaceSettings } from '../model/pace.ts';
import { createLearner, type LearnedRate, type Pause, type Place } from './learned-rate.ts';
import { createPlacesInHand } from './places-in-hand.ts';

export interface RateSettings extends PaceSettings {
  /** Calls that may leave at once after a quiet time. */
  readonly burst: number;
  /** The rate learned by an earlier run; see {@link Rate.learned}. */
  readonly learned: LearnedRate | undefined;
  /** Set if several processes share a limit. */
  readonly places: Places | undefined;
}

export const defaultRateSettings: RateSettings = {
  perMinute: 500,
  burst: 20,
  share: 1,
  learned: undefined,
  places: undefined,
};

/** Permission for one request. Must always be given back. */
export interface Slot {
  readonly place: Place;
  /** @param sent whether the request may have reached the service, and thus counts there */
  release(sent: boolean): void;
}

export interface Rate {
  /**
   * Waits for a place, first come, first served.
   * @param either the client's signal, or one that is aborted with it
   * @throws MusterdError `stopped` when the signal is aborted
   */
  acquire(either?: AbortSignal): Promise<Slot>;
  /** Reports a 429, after which nothing leaves for a while. @returns `null` if its pause has already begun */
  throttled(slot: Slot, retryAfter: string | null, serviceNowMs: number | null): Promise<Pause | null>;
  /** Reports any other answer. */
  accepted(slot: Slot): void;
  /** The current burst and rate, to be kept for the next run. */
  learned(): LearnedRate;
  /** Gives back unused places. */
  close(): Promise<void>;
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

export function createRate(
  settings: RateSettings,
  clock: Clock,
  options: { readonly signal?: AbortSignal | undefined; readonly random: () => number },
): Rate {
  const { signal, random } = options;
  const { learned, places = createOwnPlaces(clock) } = settings;
  const full = paceOf(settings);
  const start: LearnedRate = {
    burst: Math.max(1, Math.floor(Math.min(learned?.burst ?? full.burst, full.burst))),
    perMinute: Math.min(learned?.perMinute ?? full.perMinute, full.perMinute),
  };
  const learner = createLearner(full.perMinute, start, clock.monotonicMs(), random);
  const inHand = createPlacesInHand(places, full.capacity, clock);
  let turn: Promise<unknown> = Promise.resolve();
  let order = 0;
  let pauses = 0;
  let filling: Promise<void> | undefined;
  let onAnswer: (() => void) | undefined;

  const fill = () => {
    const before = pauses;
    filling ??= inHand
      .fill(learner.pace(clock.monotonicMs()), () => pauses === before)
      .finally(() => {
        filling = undefined;
      });
    return filling;
  };

  const anAnswer = (either: AbortSignal | undefined) =>
    new Promise<void>((resolve) => {
      onAnswer = resolve;
      either?.addEventListener('abort', () => resolve(), { once: true });
    });

  const use = (level: number): Slot => {
    inHand.use();
    order += 1;
    let open = true;
    const release = (sent: boolean) => {
      if (open) inHand.answered(sent);
      open = false;
      onAnswer?.();
    };
    return { place: { order, level }, release };
  };

  const grant = async (either: AbortSignal | undefined): Promise<Slot> => {
    for (;;) {
      if (either?.aborted === true) throw stopped();
      const now = clock.monotonicMs();
      const next = inHand.next(now);
      const wait = Math.max(learner.pausedMs(now), next === undefined ? 0 : next.at - now);
      // If that fails, the next caller that needs a place requests again.
      if (next !== undefined && inHand.runsOut(learner.pace(now).periodMs)) fill().catch(() => undefined);
      if (wait > 0) await sleepOrStop(clock, Math.max(1, wait), either);
      else if (next !== undefined) return use(next.level);
      else if (inHand.isFull()) await anAnswer(either);
      else await fill();
    }
  };

  return {
    acquire: (either = signal) => {
      const mine = turn.then(() => grant(either));
      turn = mine.catch(() => undefined);
      return mine;
    },
    throttled: async ({ place }, retryAfter, serviceNowMs) => {
      const now = clock.monotonicMs();
      const refused = { place, retryAfter, serviceNowMs, wallMs: clock.now() };
      const pause = learner.refused(refused, order, now);
      if (pause === null) return null;
      pauses += 1;
      inHand.drop();
      await places.pause(pause.pauseMs, learner.pace(now + pause.pauseMs));
      return pause;
    },
    accepted: ({ place }) => {
      learner.accepted(place, clock.monotonicMs());
    },
    learned: () => learner.lesson(),
    close: async () => {
      await filling?.catch(() => undefined);
      await inHand.close(learner.pace(clock.monotonicMs()));
    },
  };
}

/** The places of a process that shares its limit with no other; `mirror/team/rate-limits.ts` does the same in SQL. */
export function createOwnPlaces({ monotonicMs }: Pick<Clock, 'monotonicMs'>): Places {
  let nextAt = Number.NEGATIVE_INFINITY;
  let counted = new Map<string, { readonly places: number; readonly until: number }>();
  return {
    take: async ({ places: wanted, capacity, burst, periodMs, counted: reported }) => {
      const now = monotonicMs();
      for (const [key, [places, forMs]] of Object.entries(reported)) {
        counted.set(key, { places, until: now + forMs });
      }
      const latestFirst = [...counted]
        .filter(([, { places, until }]) => places > 0 && until > now)
        .toSorted(([, one], [, other]) => other.until - one.until);
      counted = new Map(latestFirst);
      let due = Math.max(nextAt, now);
      let later = 0;
      for (const [, { places, until }] of latestFirst) {
        later += places;
        if (wanted <= 0 || later <= capacity) continue;
        // The number of wanted places that fit before this one stops counting.
        const before = Math.max(0, capacity - later + wanted);
        due = Math.max(due, until + (burst - 1 - before) * periodMs);
      }
      nextAt = due + wanted * periodMs;
      return await Promise.resolve(due - now);
    },
    pause: async (pauseMs, { burst, periodMs }) => {
      nextAt = Math.max(nextAt, monotonicMs() + pauseMs + (burst - 1) * periodMs);
      await Promise.resolve();
    },
  };
}
