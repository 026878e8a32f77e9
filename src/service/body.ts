/** The bytes of an answer as they come in, each held once, in room of their own. */
export interface Body {
  /** @returns whether it still is as long as it may be; if not, the bytes are let go */
  add(chunk: Uint8Array): boolean;
  /** How many there are so far. */
  size(): number;
  /** All bytes, which are let go here. */
  take(): Buffer;
}

const firstBytes = 65_536;

/** @param expectedBytes what the answer says of its length; `null`: nothing */
export function createBody(maxBytes: number, expectedBytes: number | null): Body {
  let held = Buffer.allocUnsafeSlow(Math.min(maxBytes, expectedBytes ?? firstBytes));
  let size = 0;
  const none = Buffer.alloc(0);
  return {
    add: (chunk) => {
      const needed = size + chunk.length;
      if (needed > maxBytes) {
        held = none;
        size = 0;
        return false;
      }
      if (needed > held.length) {
        const longer = Buffer.allocUnsafeSlow(Math.min(maxBytes, Math.max(needed, 2 * held.length)));
        longer.set(held.subarray(0, size));
        held = longer;
      }
      held.set(chunk, size);
      size = needed;
      return true;
    },
    size: () => size,
    take: () => {
      const bytes = held.subarray(0, size);
      held = none;
      return bytes;
    },
  };
}
