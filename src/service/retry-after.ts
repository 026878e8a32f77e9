/** How long to pause after a refusal. Pure. */

const leastMs = 1_000;
const mostMs = 900_000;
const stormPauseMs = 60_000;

export interface PauseFacts {
  /** How many refusals came in a row, this one included. */
  readonly inARow: number;
  readonly retryAfter: string | null;
  /** The service's own clock, by its `Date` header: a `Retry-After` date is measured on it. */
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
 * 1 s, 2 s, then 60 s, since a fixed window may be in force; never less than a sane `Retry-After`. The
 * jitter only adds: a pause cut short would be another 429.
 */
export function choosePauseMs(facts: PauseFacts): number {
  const asked = parseRetryAfter(facts.retryAfter, facts.serviceNowMs ?? facts.wallMs);
  const base = facts.inARow >= 3 ? stormPauseMs : leastMs * 2 ** (facts.inARow - 1);
  const jitter = facts.random() * Math.min(base, 6_000);
  return Math.min(mostMs, asked === null ? base + jitter : Math.max(asked, base) + jitter);
}
