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

/** The result of the checks. */
export interface Inspection {
  /** Which bound is exceeded; `null`: none. */
  readonly excess: string | null;
  /** Start and end positions of whole numbers that may exceed 2^53, alternating. */
  readonly longNumbers: readonly number[];
}

/** The counts, and their bounds for the allowed length of the answer. */
function limitsOf(maxBytes: number) {
  const values = Math.floor(maxBytes / bytesPerValue);
  return {
    values,
    containers: Math.floor(values / valuesPerContainer),
    longNumbers: Math.floor(values / valuesPerLongNumber),
  };
}

/**
 * Goes through the bytes once. It is not a parser: bytes that pass need not be JSON.
 *
 * @param maxBytes the largest answer allowed; the number of allowed values is proportional to it
 */
export function inspectJson(bytes: Uint8Array, maxBytes: number): Inspection {
  const longNumbers: number[] = [];
  const excess = walk(bytes, limitsOf(maxBytes), longNumbers);
  return { excess, longNumbers };
}

function walk(bytes: Uint8Array, limits: ReturnType<typeof limitsOf>, longNumbers: number[]): string | null {
  let depth = 0;
  let values = 0;
  let containers = 0;
  let allKeys = 0;
  let keysBeyond = 0;
  const keys = new Uint32Array(maxDepth + 1);
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === quote) {
      const end = endOfString(bytes, at);
      if (end - at > maxStringBytes) return `a text in it is longer than ${maxStringBytes} bytes`;
      at = end;
      values += 1;
    } else if (byte === 0x5b || byte === 0x7b) {
      depth += 1;
      containers += 1;
      if (depth > maxDepth) return `it is nested deeper than ${maxDepth} levels`;
      if (containers > limits.containers) return `it has more than ${limits.containers} lists and objects`;
      keys[depth] = 0;
    } else if (byte === 0x5d || byte === 0x7d) depth = Math.max(0, depth - 1);
    else if (byte === 0x3a) {
      const count = (keys[depth] ?? 0) + 1;
      keys[depth] = count;
      // The string before the colon was a key.
      values -= 1;
      allKeys += 1;
      if (allKeys > limits.values) return `it has more than ${limits.values} keys`;
      if (count > plentyOfKeys) keysBeyond += 1;
      if (keysBeyond > maxKeysBeyond) return `objects in it have more than ${plentyOfKeys} keys`;
    } else if (byte === 0x2d || isDigit(byte)) {
      const end = endOfNumber(bytes, at);
      if (end - at > maxNumberBytes) return `a number in it is longer than ${maxNumberBytes} digits`;
      if (end - at >= longNumberBytes && isWhole(bytes, at, end)) longNumbers.push(at, end);
      if (longNumbers.length > 2 * limits.longNumbers)
        return `it has more than ${limits.longNumbers} numbers of ${longNumberBytes} digits`;
      at = end - 1;
      values += 1;
    } else if (byte === 0x74 || byte === 0x66 || byte === 0x6e) values += 1;
    else if (byte > 0x7f) return 'outside of its texts it is not ASCII';
    if (values > limits.values) return `it has more than ${limits.values} values`;
  }
  return null;
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
