/** Learns the service's limit from 429s, and computes the pauses. */
import { choosePauseMs } from './retry.ts';

/** The result of learning, which is kept between runs. */
export interface LearnedRate {
  /** Calls that may leave at once, without spacing. */
  readonly burst: number;
  /** The pace between bursts. */
  readonly perMinute: number;
}

export interface Pause {
  readonly pauseMs: number;
  /** Number of pauses in a row without an accepted call between them. */
  readonly inARow: number;
  /** Whether the burst or the rate was lowered. */
  readonly lowered: boolean;
}

/** The position of a call in the order of all calls. */
export interface Place {
  /** Number of calls released up to it. */
  readonly order: number;
  /** Number of calls by which it was ahead of an even pace; 1 for none. */
  readonly level: number;
}

interface Refused429 {
  readonly place: Place;
  readonly retryAfter: string | null;
  readonly serviceNowMs: number | null;
  readonly wallMs: number;
}

const minuteMs = 60_000;
/** After a storm (pauses of 60 s) calls leave at half the pace for this long. */
const calmMs = 600_000;
/** A smaller burst is not to blame: it only makes up for late timers. */
const leastBurst = 3;
const cut = 0.93;
const growth = 1.01;

/**
 * If a refused call was part of a burst, the burst is made smaller; if the burst is already
 * small, the pace is too high, perhaps because others use the same limit.
 */
function learnFrom429(lesson: LearnedRate, level: number): LearnedRate {
  if (lesson.burst > leastBurst) {
    return { ...lesson, burst: Math.max(leastBurst, Math.floor(Math.min(level, lesson.burst) * 0.8)) };
  }
  return { ...lesson, perMinute: Math.max(1, lesson.perMinute * cut) };
}

/** The pace recovers by 1 % for each minute without a 429; the burst stays as learned. */
function recover(lesson: LearnedRate, cleanMs: number, fullRate: number): LearnedRate {
  if (lesson.perMinute >= fullRate || cleanMs < minuteMs) return lesson;
  const minutes = Math.floor(cleanMs / minuteMs);
  return { ...lesson, perMinute: Math.min(fullRate, lesson.perMinute * growth ** minutes) };
}

/** @param fullRate most calls per minute; @param start the rate to begin with, at most that */
export function createLearner(fullRate: number, start: LearnedRate, startMs: number, random: () => number) {
  let lesson = start;
  let lessonAt = startMs;
  /** The last call that was released before the last pause began. */
  let pausedAfter = 0;
  let pausedUntil = Number.NEGATIVE_INFINITY;
  let inARow = 0;
  let calmUntil = Number.NEGATIVE_INFINITY;

  return {
    lesson: () => lesson,
    /** The current pace. */
    pace: (now: number) => ({
      burst: lesson.burst,
      periodMs: (minuteMs / lesson.perMinute) * (now < calmUntil ? 2 : 1),
    }),
    pausedMs: (now: number) => Math.max(0, pausedUntil - now),
    /**
     * Handles a 429.
     * @param order the last released call
     * @returns `null` if its pause has already begun
     */
    refused: (refused: Refused429, order: number, now: number): Pause | null => {
      if (refused.place.order <= pausedAfter) return null;
      inARow += 1;
      const pauseMs = choosePauseMs({ ...refused, inARow, random });
      pausedAfter = order;
      pausedUntil = now + pauseMs;
      if (inARow >= 3) calmUntil = pausedUntil + calmMs;
      const before = lesson;
      if (inARow === 1) lesson = learnFrom429(lesson, refused.place.level);
      lessonAt = pausedUntil;
      return { pauseMs, inARow, lowered: lesson !== before };
    },
    /** Handles any other answer. */
    accepted: (place: Place, now: number): void => {
      if (place.order <= pausedAfter) return;
      inARow = 0;
      const grown = recover(lesson, now - lessonAt, fullRate);
      if (grown !== lesson) lessonAt = now;
      lesson = grown;
    },
  };
}
