/**
 * When calls may leave: evenly, with a burst for a start, and not at all during a pause. Synchronous; who
 * waits is `rate-limiter.ts`. The pacing is a GCRA: `due` is when the next call would leave had all been evenly
 * spaced, so that a timer that fires late costs no throughput.
 */
import { type LearnedRate, learnFrom429, recover } from './learned-rate.ts';
import { choosePauseMs } from './retry-after.ts';

export interface Pause {
  readonly pauseMs: number;
  /** How many pauses came without an accepted call between them. */
  readonly inARow: number;
  /** Whether the burst or the rate was lowered. */
  readonly lowered: boolean;
}

/** A call's place in the order of all. */
export interface Place {
  /** How many calls were let go up to it. */
  readonly order: number;
  /** How many calls ahead of an even pace it was; 1 for none. */
  readonly level: number;
}

export interface Refused429 {
  readonly place: Place;
  readonly retryAfter: string | null;
  readonly serviceNowMs: number | null;
  readonly wallMs: number;
}

export interface Pacer {
  /** How long until the next call may leave; 0 for now. */
  waitMs(now: number): number;
  /** Lets one call go. */
  take(now: number): Place;
  /** A 429; `null` where the pause for it is already under way. */
  refused(refused: Refused429, now: number): Pause | null;
  /** Any other answer. */
  accepted(place: Place, now: number): void;
  lesson(): LearnedRate;
}

const minuteMs = 60_000;
/** After a storm (pauses of 60 s) calls leave at half the pace for this long. */
const calmMs = 600_000;

/** @param fullRate calls a minute at most; @param start what to begin with, within that */
export function createPacer(
  fullRate: number,
  start: LearnedRate,
  startMs: number,
  random: () => number,
): Pacer {
  let lesson = start;
  let lessonAt = startMs;
  let due = startMs;
  let order = 0;
  /** Calls up to this one were let go before the last pause began. */
  let pausedAfter = 0;
  let pausedUntil = Number.NEGATIVE_INFINITY;
  let inARow = 0;
  let calmUntil = Number.NEGATIVE_INFINITY;

  const intervalMs = (now: number) => (minuteMs / lesson.perMinute) * (now < calmUntil ? 2 : 1);

  return {
    lesson: () => lesson,
    waitMs: (now) => Math.max(0, pausedUntil - now, due - (lesson.burst - 1) * intervalMs(now) - now),
    take: (now) => {
      const interval = intervalMs(now);
      due = Math.max(due, now) + interval;
      order += 1;
      return { order, level: (due - now) / interval };
    },
    refused: (refused, now) => {
      if (refused.place.order <= pausedAfter) return null;
      inARow += 1;
      const pauseMs = choosePauseMs({ ...refused, inARow, random });
      pausedAfter = order;
      pausedUntil = now + pauseMs;
      if (inARow >= 3) calmUntil = pausedUntil + calmMs;
      const before = lesson;
      if (inARow === 1) lesson = learnFrom429(lesson, refused.place.level);
      lessonAt = pausedUntil;
      // The burst is spent: after the pause calls leave one by one.
      due = pausedUntil + (lesson.burst - 1) * intervalMs(pausedUntil);
      return { pauseMs, inARow, lowered: lesson !== before };
    },
    accepted: (place, now) => {
      if (place.order <= pausedAfter) return;
      inARow = 0;
      const grown = recover(lesson, now - lessonAt, fullRate);
      if (grown !== lesson) lessonAt = now;
      lesson = grown;
    },
  };
}
