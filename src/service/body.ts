/** Collects the bytes of an answer in one buffer. */
export interface Body {
  /** @returns whether the length is still allowed; if not, the bytes are released */
  add(chunk: Uint8Array): boolean;
  /** Number of bytes so far. */
  size(): number;
  /** Returns all bytes and releases them. */
  take(): Buffer;
}

const firstBytes = 65_536;

/** @param expectedBytes the announced length; `null` if it is unknown */
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
