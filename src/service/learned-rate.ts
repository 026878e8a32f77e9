/** What 429s teach about the service's limiter, as a value that can be kept from run to run. Pure. */
export interface LearnedRate {
  /** Calls that may leave at once. */
  readonly burst: number;
  /** The pace between bursts. */
  readonly perMinute: number;
}

/** Below this a burst is not to blame: it only makes up for timers that fire late. */
const leastBurst = 3;
const cut = 0.93;
const growth = 1.01;
const minuteMs = 60_000;

/**
 * A refused call that was part of a burst makes the burst smaller than it was; where the burst is already
 * small, the pace is too high, perhaps because others use the same limit.
 */
export function learnFrom429(lesson: LearnedRate, level: number): LearnedRate {
  if (lesson.burst > leastBurst) {
    return { ...lesson, burst: Math.max(leastBurst, Math.floor(Math.min(level, lesson.burst) * 0.8)) };
  }
  return { ...lesson, perMinute: Math.max(1, lesson.perMinute * cut) };
}

/** The pace grows back by 1 % for each minute without a 429; the burst stays as it was learned. */
export function recover(lesson: LearnedRate, cleanMs: number, fullRate: number): LearnedRate {
  if (lesson.perMinute >= fullRate || cleanMs < minuteMs) return lesson;
  const minutes = Math.floor(cleanMs / minuteMs);
  return { ...lesson, perMinute: Math.min(fullRate, lesson.perMinute * growth ** minutes) };
}
