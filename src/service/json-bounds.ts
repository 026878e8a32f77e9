/**
 * What a long answer must not have, because parsing it would take a multiple of its bytes in memory. It is found in the
 * bytes, before anything is parsed.
 */

/** The least bytes for each; a user has 25 values in 250 bytes, 7 of them texts, and a small tag 3 in 20. */
const leastBytesPer = { values: 4, texts: 12, longNumbers: 64 } as const;
/** Numbers of so many digits are exact only as `bigint`, which takes ten times its digits. */
const [longDigits, mostDepth, mostKeys] = [16, 512, 10_000];

/** Bytes by what they are outside of texts. */
const [quote, backslash, comma, colon, openList, openObject, closeList, closeObject] = [
  34, 92, 44, 58, 91, 123, 93, 125,
] as const;

function hashOf(bytes: Uint8Array, from: number, to: number): number {
  let hash = 0;
  for (let at = from; at < to; at += 1) hash = (Math.imul(hash, 31) + (bytes[at] ?? 0)) | 0;
  return hash;
}

/** @returns what is too much, in words; `null` if nothing is */
export function findExcess(bytes: Uint8Array): string | null {
  const keys = new Set<number>();
  const found = { values: 0, texts: 0, longNumbers: 0 };
  let [depth, digits, text] = [0, 0, 0];
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] as number;
    if (byte >= 48 && byte <= 57) {
      digits += 1;
      if (digits === longDigits) found.longNumbers += 1;
      continue;
    }
    digits = 0;
    if (byte === quote) {
      at += 1;
      text = at;
      found.texts += 1;
      for (let inner = bytes[at]; inner !== quote && inner !== undefined; inner = bytes[at])
        at += inner === backslash ? 2 : 1;
    } else if (byte === comma) found.values += 1;
    else if (byte === colon) {
      found.texts -= 1;
      keys.add(hashOf(bytes, text, at));
      if (keys.size > mostKeys) return `it has more than ${mostKeys} different keys`;
    } else if (byte === openList || byte === openObject) {
      if (depth === mostDepth) return `it is nested deeper than ${mostDepth} levels`;
      found.values += 1;
      depth += 1;
    } else if (byte === closeList || byte === closeObject) depth = Math.max(0, depth - 1);
  }
  const excess = ([what, words]: readonly [keyof typeof found, string]) =>
    found[what] * leastBytesPer[what] > bytes.length ? [`${found[what]} ${words}`] : [];
  const [first] = (
    [
      ['values', 'values'],
      ['texts', 'texts'],
      ['longNumbers', `numbers of ${longDigits} digits`],
    ] as const
  ).flatMap(excess);
  return first === undefined ? null : `it has ${first} in ${bytes.length} bytes`;
}
