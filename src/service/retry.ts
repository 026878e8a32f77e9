/**
 * Whether a call is repeated, decided on its last outcome. Pure. The rule goes by operation, not by
 * method: listings over POST are reads, and a write is repeated only if it certainly had no
 * effect: no byte left, or the service answered 401. After a 429 it had no effect either, but the pause may be
 * long and the values of the write get old: the caller decides again.
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
  /** The service's time from its `Date` header, against which a `Retry-After` date is measured. */
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
 * 1 s, 2 s, then 60 s, because the service may use fixed windows; never less than a sane `Retry-After`. The
 * jitter only adds: too short a pause would get another 429.
 */
export function choosePauseMs(facts: PauseFacts): number {
  const retryAfterMs = parseRetryAfter(facts.retryAfter, facts.serviceNowMs ?? facts.wallMs);
  const base = facts.inARow >= 3 ? stormPauseMs : leastMs * 2 ** (facts.inARow - 1);
  const jitter = facts.random() * Math.min(base, 6_000);
  return Math.min(mostMs, retryAfterMs === null ? base + jitter : Math.max(retryAfterMs, base) + jitter);
}

/** How often a call is repeated, which happens only if that is safe. */
export interface RetrySettings {
  /** Attempts of one call in all, not counting those that ended in 401 or 429. */
  readonly attempts: number;
  /** How many 429s one call may get before it gives up. */
  readonly throttles: number;
  /** The longest wait before the second attempt in ms; it doubles with each further one. */
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
  /** Attempts so far that count, including the last one. */
  readonly failures: number;
  readonly throttles: number;
}

export type Step =
  | { readonly kind: 'done' }
  | { readonly kind: 'give-up' }
  /** `costs` says whether it is taken from the client's retry budget. */
  | { readonly kind: 'retry'; readonly afterMs: number; readonly because: string; readonly costs: boolean }
  | { readonly kind: 'reauthorize' };

const giveUp: Step = { kind: 'give-up' };

/** Whether a failure may be temporary, such as a proxy's error page. The others are due to settings. */
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

/** Full jitter: between 0 and the doubled base. */
function backoffMs(failures: number, settings: RetrySettings, random: () => number): number {
  return random() * Math.min(settings.maxMs, settings.baseMs * 2 ** failures);
}

/** @param wallMs our wall clock, for a `Retry-After` date if the answer has no `Date` */
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
    // The rate limiter makes the pause, because it holds all calls, not only this one.
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
