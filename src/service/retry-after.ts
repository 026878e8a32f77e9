/** How long to pause after a refusal. Pure. */

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
  const asked = parseRetryAfter(facts.retryAfter, facts.serviceNowMs ?? facts.wallMs);
  const base = facts.inARow >= 3 ? stormPauseMs : leastMs * 2 ** (facts.inARow - 1);
  const jitter = facts.random() * Math.min(base, 6_000);
  return Math.min(mostMs, asked === null ? base + jitter : Math.max(asked, base) + jitter);
}
