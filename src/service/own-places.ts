/** The places of a process that shares its limit with no other; `mirror/team/rate-limits.ts` does the same in SQL. */
import type { Clock } from '../clock.ts';
import type { Places } from '../model/pace.ts';

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
