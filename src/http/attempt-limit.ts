/** Limits how often an address may fail within a minute before it is ignored for a while. */
interface AttemptLimit {
  /** Ms until the address is accepted again; 0 if it is. */
  blockedMs(address: string): number;
  failed(address: string): void;
}

const windowMs = 60_000;
/** Most addresses that are distinguished in one minute. All further ones count as one. */
const mostAddresses = 1_000;

export function createAttemptLimit(perMinute: number, monotonicMs: () => number): AttemptLimit {
  const failures = new Map<string, number>();
  let startedMs = monotonicMs();
  const begin = () => {
    if (monotonicMs() - startedMs < windowMs) return;
    failures.clear();
    startedMs = monotonicMs();
  };
  const keyOf = (address: string) =>
    failures.has(address) || failures.size < mostAddresses ? address : 'any other';
  return {
    blockedMs: (address) => {
      begin();
      const count = failures.get(keyOf(address)) ?? 0;
      return count < perMinute ? 0 : startedMs + windowMs - monotonicMs();
    },
    failed: (address) => {
      begin();
      const key = keyOf(address);
      failures.set(key, (failures.get(key) ?? 0) + 1);
    },
  };
}
