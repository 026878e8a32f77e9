/**
 * Decides from the last outcome of a call if the call is repeated. The rule depends on the operation, not on the
 * method, because listings over POST are reads. A write is repeated only if it certainly had no effect: no byte left, or
 * the service answered 401. A write is not repeated after a 429, although it had no effect: the pause may be long, and
 * the values of the write get old. The caller decides again.
 */
import type { Effect } from './operation.ts';
import type { Failure, Outcome, Refusal } from './call-outcome.ts';

const leastMs = 1_000;
const mostMs = 900_000;
const stormPauseMs = 60_000;

interface PauseFacts {
  /** Number of refusals in a row, including this one. */
  readonly inARow: number;
  readonly retryAfter: string | null;
  /** The service's time in the `Date` header, with which a `Retry-After` date is compared. */
  readonly serviceNowMs: number | null;
  readonly wallMs: number;
  readonly random: () => number;
}

function clamp(ms: number): number {
  return Math.min(mostMs, Math.max(leastMs, ms));
}

/** Seconds or an HTTP date, clamped to 1 s … 15 min; `null` for anything else. */
export function parseRetryAfter(header: string | null, serviceNowMs: number): number | null {
  const text = header?.trim() ?? '';
  if (/^\d+$/.test(text)) return clamp(Number(text) * 1000);
  if (!/^[A-Z][a-z]{2},? /.test(text)) return null;
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : clamp(at - serviceNowMs);
}

/**
 * The pauses are 1 s, 2 s, then 60 s, because the service may count calls in fixed windows. A pause is never shorter than
 * a valid `Retry-After`. The jitter only adds to it, because too short a pause would get another 429.
 */
export function choosePauseMs(facts: PauseFacts): number {
  const retryAfterMs = parseRetryAfter(facts.retryAfter, facts.serviceNowMs ?? facts.wallMs);
  const base = facts.inARow >= 3 ? stormPauseMs : leastMs * 2 ** (facts.inARow - 1);
  const jitter = facts.random() * Math.min(base, 6_000);
  return Math.min(mostMs, retryAfterMs === null ? base + jitter : Math.max(retryAfterMs, base) + jitter);
}

/** The limits on repeating a call. It is repeated only if that is safe. */
export interface RetrySettings {
  /** The most attempts of one call, not counting attempts that ended in 401 or 429. */
  readonly attempts: number;
  /** The number of 429s after which one call gives up. */
  readonly throttles: number;
  /** The longest wait before the second attempt in ms; it doubles with each further attempt. */
  readonly baseMs: number;
  /** The longest wait in ms. */
  readonly maxMs: number;
}

export const defaultRetrySettings: RetrySettings = {
  attempts: 4,
  throttles: 6,
  baseMs: 500,
  maxMs: 30_000,
};

interface RequestTries {
  /** The number of failed attempts so far, including the last one, without 401 and 429. */
  readonly failures: number;
  readonly throttles: number;
}

export type Step =
  | { readonly kind: 'done' }
  | { readonly kind: 'give-up' }
  /** `costs`: true if the retry is taken from the client's retry budget. */
  | { readonly kind: 'retry'; readonly afterMs: number; readonly because: string; readonly costs: boolean }
  | { readonly kind: 'reauthorize' };

const giveUp: Step = { kind: 'give-up' };

/** True if a failure may be temporary, such as a proxy's error page. Other failures come from settings or a cancel. */
function isPassing(failure: Failure): boolean {
  switch (failure.reason) {
    case 'unreachable':
    case 'broken':
    case 'timeout':
    case 'unframed':
    case 'malformed':
    case 'not-json':
      return true;
    case 'tls':
    case 'encoded':
    case 'too-large':
    case 'redirect':
    case 'cancelled':
      return false;
    default:
      return failure.reason satisfies never;
  }
}

function isRepeatable(effect: Effect, outcome: Refusal | Failure): boolean {
  if (outcome.kind === 'failure') {
    return isPassing(outcome) && (effect === 'read' || outcome.phase === 'not-sent');
  }
  return effect === 'read' && outcome.status >= 500;
}

/** Full jitter: a random wait between 0 and the base, which doubles with each failure. */
function backoffMs(failures: number, settings: RetrySettings, random: () => number): number {
  return random() * Math.min(settings.maxMs, settings.baseMs * 2 ** failures);
}

/** Chooses the next step of a call. @param wallMs our wall clock, for a `Retry-After` date without a `Date` header */
export function nextStep(
  effect: Effect,
  outcome: Outcome,
  tries: RequestTries,
  settings: RetrySettings,
  facts: { readonly wallMs: number; readonly random: () => number },
): Step {
  if (outcome.kind === 'answer') return { kind: 'done' };
  if (outcome.kind === 'refusal' && outcome.status === 401) return { kind: 'reauthorize' };
  if (outcome.kind === 'refusal' && outcome.status === 429) {
    // The rate limiter makes the pause, because the pause holds back all calls, not only this one.
    if (effect === 'write' || tries.throttles >= settings.throttles) return giveUp;
    return { kind: 'retry', afterMs: 0, because: 'answered 429', costs: false };
  }
  if (!isRepeatable(effect, outcome) || tries.failures >= settings.attempts) return giveUp;
  const backoff = backoffMs(tries.failures, settings, facts.random);
  if (outcome.kind === 'failure') {
    return { kind: 'retry', afterMs: backoff, because: outcome.message, costs: true };
  }
  const retryAfterMs = parseRetryAfter(outcome.retryAfter, outcome.dateMs ?? facts.wallMs) ?? 0;
  if (retryAfterMs > settings.maxMs) return giveUp;
  const because = `answered ${outcome.status}`;
  return { kind: 'retry', afterMs: Math.max(retryAfterMs, backoff), because, costs: true };
}
