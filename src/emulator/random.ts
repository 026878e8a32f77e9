/** A source of numbers that are the same for the same seed on every machine. */
export interface Random {
  /** A number from 0 inclusive to 1 exclusive. */
  fraction(): number;
  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number;
  pick<T>(from: readonly T[]): T;
}

/** mulberry32, which is small and good enough for names and dates; nothing secret is drawn from it. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  function fraction(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  function between(low: number, high: number): number {
    return low + Math.floor(fraction() * (high - low + 1));
  }
  function pick<T>(from: readonly T[]): T {
    const chosen = from[between(0, from.length - 1)];
    if (chosen === undefined) throw new Error('Nothing to pick from an empty list.');
    return chosen;
  }
  return { fraction, between, pick };
}

/** A whole number from 0 to 2^32 − 1 that depends on the text alone (FNV-1a). */
export function seedOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  // The last steps spread similar texts (consecutive ids) over the whole range.
  hash = Math.imul(hash ^ (hash >>> 16), 0x45d9f3b);
  return (hash ^ (hash >>> 16)) >>> 0;
}
