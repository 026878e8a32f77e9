/**
 * Bounds on the content of a long answer, because parsing some content takes many times its bytes in memory. The bounds
 * are checked on the bytes, before anything is parsed.
 */

/** The least bytes per value, text or long number. A user has 25 values (7 texts) in 250 bytes; a small tag 3 in 20. */
const leastBytesPer = { values: 4, texts: 12, longNumbers: 64 } as const;
/** A number of at least `longDigits` digits is exact only as a `bigint`, which takes ten bytes per digit. */
const [longDigits, mostDepth, mostKeys] = [16, 512, 10_000];

/** The bytes that have a meaning outside of texts. */
const [quote, backslash, comma, colon, openList, openObject, closeList, closeObject] = [
  34, 92, 44, 58, 91, 123, 93, 125,
] as const;

function hashOf(bytes: Uint8Array, from: number, to: number): number {
  let hash = 0;
  for (let at = from; at < to; at += 1) hash = (Math.imul(hash, 31) + (bytes[at] ?? 0)) | 0;
  return hash;
}

/** @returns the index of the end of the text that begins at `from` */
function endOfText(bytes: Uint8Array, from: number): number {
  let at = from;
  for (let byte = bytes[at]; byte !== quote && byte !== undefined; byte = bytes[at])
    at += byte === backslash ? 2 : 1;
  return at;
}

/** @returns the index after the digits that begin at `from` */
function endOfDigits(bytes: Uint8Array, from: number): number {
  let at = from;
  while (isDigit(bytes[at] ?? 0)) at += 1;
  return at;
}

const isDigit = (byte: number) => byte >= 48 && byte <= 57;

interface Bounds {
  /** The first bound that is exceeded, in words; `null` if none is. */
  readonly excess: string | null;
  /** True if a number needs a `bigint` to be exact. */
  readonly hasLongNumber: boolean;
}

export function measureBounds(bytes: Uint8Array): Bounds {
  const keys = new Set<number>();
  const found = { values: 0, texts: 0, longNumbers: 0 };
  let [depth, text] = [0, 0];
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] as number;
    switch (byte) {
      case quote:
        text = at + 1;
        found.texts += 1;
        at = endOfText(bytes, text);
        break;
      case comma:
        found.values += 1;
        break;
      case colon:
        found.texts -= 1;
        keys.add(hashOf(bytes, text, at));
        if (keys.size > mostKeys) return tooMuch(`it has more than ${mostKeys} different keys`);
        break;
      case openList:
      case openObject:
        if (depth === mostDepth) return tooMuch(`it is nested deeper than ${mostDepth} levels`);
        found.values += 1;
        depth += 1;
        break;
      case closeList:
      case closeObject:
        depth = Math.max(0, depth - 1);
        break;
      default: {
        if (!isDigit(byte)) break;
        const end = endOfDigits(bytes, at);
        if (end - at >= longDigits) found.longNumbers += 1;
        at = end - 1;
      }
    }
  }
  return { excess: sayExcess(found, bytes.length), hasLongNumber: found.longNumbers > 0 };
}

const tooMuch = (excess: string): Bounds => ({ excess, hasLongNumber: false });

function sayExcess(
  found: Readonly<Record<keyof typeof leastBytesPer, number>>,
  length: number,
): string | null {
  const words = { values: 'values', texts: 'texts', longNumbers: `numbers of ${longDigits} digits` } as const;
  for (const what of ['values', 'texts', 'longNumbers'] as const)
    if (found[what] * leastBytesPer[what] > length)
      return `it has ${found[what]} ${words[what]} in ${length} bytes`;
  return null;
}
