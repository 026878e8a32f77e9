/**
 * Checks on the bytes of an answer before they are parsed. Parsing takes memory by the number of
 * values, not of bytes: 16 million "[" are half a gigabyte.
 */

/** Deeper than any accepted row (see `row-flaws.ts`), and shallow enough for every parser. */
const maxDepth = 512;
/** "All IDs are integers" (interface.md, Resources): one of 64 bits has 19 digits and a sign. */
const maxNumberBytes = 64;
/** No text of the interface is as long. A row with a text longer than `row-flaws.ts` allows is rejected on its own. */
const maxStringBytes = 2_097_152;
/** A user of the service has about 11 fields in 250 bytes. */
const bytesPerValue = 24;
/** A number with this many digits may exceed 2^53, and then takes a string and a `bigint`. */
const longNumberBytes = 16;
const valuesPerLongNumber = 8;
/** Objects usually share the same few keys; one with very many keys takes ten times the memory. */
const plentyOfKeys = 128;
const maxKeysBeyond = 10_000;
/** Lists and objects take more memory than other values; a row is one, and contains few. */
const valuesPerContainer = 2;

const quote = 0x22;
const backslash = 0x5c;

/** The index of the closing quote of the string that begins at `start`, or the end of the bytes. */
function endOfString(bytes: Uint8Array, start: number): number {
  for (let at = start + 1; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === quote) return at;
    if (byte === backslash) at += 1;
  }
  return bytes.length;
}

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x30 && byte <= 0x39;

const isNumeric = (byte: number | undefined): boolean =>
  isDigit(byte) ||
  byte === 0x2b ||
  byte === 0x2d ||
  byte === 0x2e ||
  (byte !== undefined && (byte | 0x20) === 0x65);

function endOfNumber(bytes: Uint8Array, start: number): number {
  let at = start + 1;
  while (isNumeric(bytes[at])) at += 1;
  return at;
}

/** Whether the range contains only digits, after an optional sign. */
function isWhole(bytes: Uint8Array, start: number, end: number): boolean {
  let at = bytes[start] === 0x2d ? start + 1 : start;
  while (at < end && isDigit(bytes[at])) at += 1;
  return at === end;
}

interface Inspection {
  /** The bound that is exceeded; `null` if there is none. */
  readonly excess: string | null;
  /** Start and end positions of whole numbers that may exceed 2^53, alternating. */
  readonly longNumbers: readonly number[];
}

/** The kinds of bytes outside of texts and numbers, by what they begin or end. White space and commas do not matter. */
const beginsText = 1;
const beginsContainer = 2;
const endsContainer = 3;
const endsKey = 4;
const beginsNumber = 5;
const beginsWord = 6;
const isForeign = 7;

function meaningOf(byte: number): number {
  const character = String.fromCharCode(byte);
  if (character === '"') return beginsText;
  if ('[{'.includes(character)) return beginsContainer;
  if (']}'.includes(character)) return endsContainer;
  if (character === ':') return endsKey;
  if (character === '-' || isDigit(byte)) return beginsNumber;
  if ('tfn'.includes(character)) return beginsWord;
  return byte > 0x7f ? isForeign : 0;
}

const meanings = Uint8Array.from({ length: 256 }, (_, byte) => meaningOf(byte));

const createCounts = () => ({
  values: 0,
  containers: 0,
  keys: 0,
  /** The number of keys in objects that have plenty of them. */
  keysBeyond: 0,
  depth: 0,
  deepest: 0,
  /** The number of keys of the open object at each depth. Deeper ones do not matter, because the answer is refused. */
  keysAt: new Uint32Array(maxDepth + 1),
  /** The start and end of each, alternating. */
  longNumbers: [] as number[],
  longestText: 0,
  longestNumber: 0,
  foreign: 0,
});
type Counts = ReturnType<typeof createCounts>;

/** The first bound that is exceeded, in words; `null` if there is none. */
function excessOf(counts: Counts, maxBytes: number): string | null {
  const values = Math.floor(maxBytes / bytesPerValue);
  const containers = Math.floor(values / valuesPerContainer);
  const longNumbers = Math.floor(values / valuesPerLongNumber);
  const bounds: readonly (readonly [found: number, atMost: number, excess: string])[] = [
    [counts.longestText, maxStringBytes, `a text in it is longer than ${maxStringBytes} bytes`],
    [counts.deepest, maxDepth, `it is nested deeper than ${maxDepth} levels`],
    [counts.containers, containers, `it has more than ${containers} lists and objects`],
    [counts.keys, values, `it has more than ${values} keys`],
    [counts.keysBeyond, maxKeysBeyond, `objects in it have more than ${plentyOfKeys} keys`],
    [counts.longestNumber, maxNumberBytes, `a number in it is longer than ${maxNumberBytes} digits`],
    [
      counts.longNumbers.length / 2,
      longNumbers,
      `it has more than ${longNumbers} numbers of ${longNumberBytes} digits`,
    ],
    [counts.foreign, 0, 'outside of its texts it is not ASCII'],
    [counts.values, values, `it has more than ${values} values`],
  ];
  return bounds.find(([found, atMost]) => found > atMost)?.[2] ?? null;
}

/** The bounds are checked after this many bytes, so that no more of a hostile answer is read in vain. */
const stride = 65_536;

/**
 * Goes through the bytes once. It is not a parser: bytes that pass need not be JSON.
 *
 * @param maxBytes the largest answer allowed; the number of allowed values is proportional to it
 */
export function inspectJson(bytes: Uint8Array, maxBytes: number): Inspection {
  const counts = createCounts();
  for (let at = 0; at < bytes.length; ) {
    at = count(bytes, at, Math.min(at + stride, bytes.length), counts);
    const excess = excessOf(counts, maxBytes);
    if (excess !== null) return { excess, longNumbers: [] };
  }
  return { excess: null, longNumbers: counts.longNumbers };
}

/** Counts from one position to another, or to the end of what had begun before it. @returns where it ended */
function count(bytes: Uint8Array, from: number, to: number, counts: Counts): number {
  const { keysAt, longNumbers } = counts;
  let at = from;
  for (; at < to; at += 1) {
    const start = at;
    switch (meanings[bytes[at] ?? 0] ?? 0) {
      case beginsText:
        at = endOfString(bytes, at);
        counts.longestText = Math.max(counts.longestText, at - start);
        counts.values += 1;
        break;
      case beginsContainer:
        counts.containers += 1;
        counts.depth += 1;
        counts.deepest = Math.max(counts.deepest, counts.depth);
        keysAt[counts.depth] = 0;
        break;
      case endsContainer:
        counts.depth = Math.max(0, counts.depth - 1);
        break;
      case endsKey: {
        const keys = (keysAt[counts.depth] ?? 0) + 1;
        keysAt[counts.depth] = keys;
        counts.keys += 1;
        // The text before the colon was counted as a value.
        counts.values -= 1;
        if (keys > plentyOfKeys) counts.keysBeyond += 1;
        break;
      }
      case beginsNumber:
        at = endOfNumber(bytes, at) - 1;
        counts.longestNumber = Math.max(counts.longestNumber, at + 1 - start);
        if (at + 1 - start >= longNumberBytes && isWhole(bytes, start, at + 1))
          longNumbers.push(start, at + 1);
        counts.values += 1;
        break;
      case beginsWord:
        counts.values += 1;
        break;
      case isForeign:
        counts.foreign += 1;
        break;
      default:
    }
  }
  return at;
}

/** The bytes with the whole numbers at these positions replaced by strings that begin with the mark. */
export function markNumbers(bytes: Uint8Array, places: readonly number[], mark: string): Uint8Array {
  const open = Buffer.from(`"${mark}`);
  const marked = Buffer.allocUnsafeSlow(bytes.length + (places.length / 2) * (open.length + 1));
  let from = 0;
  let to = 0;
  const copy = (end: number) => {
    marked.set(bytes.subarray(from, end), to);
    to += end - from;
    from = end;
  };
  for (let index = 0; index < places.length; index += 2) {
    copy(places[index] ?? 0);
    marked.set(open, to);
    to += open.length;
    copy(places[index + 1] ?? 0);
    marked[to] = quote;
    to += 1;
  }
  copy(bytes.length);
  return marked;
}

function exactNumber(digits: string): number | bigint {
  const value = Number(digits);
  return Number.isSafeInteger(value) ? value : BigInt(digits);
}

/** Replaces marked strings by numbers, in place and at any depth. */
export function restoreNumbers(value: unknown, mark: string): unknown {
  const holder = { value };
  const open: Record<string, unknown>[] = [holder];
  for (let container = open.pop(); container !== undefined; container = open.pop()) {
    for (const key in container) {
      const inner = container[key];
      if (typeof inner === 'string') {
        if (inner.startsWith(mark)) container[key] = exactNumber(inner.slice(mark.length));
      } else if (typeof inner === 'object' && inner !== null) open.push(inner as Record<string, unknown>);
    }
  }
  return holder.value;
}
