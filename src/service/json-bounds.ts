/**
 * What is looked at in the bytes of an answer before they are parsed. Parsing takes memory by the number of
 * values, not by the number of bytes: 16 million "[" are half a gigabyte.
 */

/** Deeper than any row is taken (see `write-answer.ts`), and shallow enough for every parser. */
const maxDepth = 512;
/** "All IDs are integers" (interface.md, Resources): one of 64 bits has 19 digits and a sign. */
const maxNumberBytes = 64;
/** No text of the interface is as long; a row with a longer one than `write-answer.ts` takes is rejected by itself. */
const maxStringBytes = 2_097_152;
/** A user of the service has some 11 fields in some 250 bytes. */
const bytesPerValue = 24;
/** A number of so many digits may be past 2^53, and then takes a text and a `bigint`. */
const longNumberBytes = 16;
const valuesPerLongNumber = 8;
/** Objects have the same few keys each; one of very many takes ten times the room. */
const plentyOfKeys = 128;
const maxKeysBeyond = 10_000;
/** Lists and objects take more room than other values; a row is one, and has few inside. */
const valuesPerContainer = 2;

const quote = 0x22;
const backslash = 0x5c;

/** Where the string that begins at `start` ends: the place of its second quote, or the end of the bytes. */
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

/** Whether nothing but digits stands there, behind a sign perhaps. */
function isWhole(bytes: Uint8Array, start: number, end: number): boolean {
  let at = bytes[start] === 0x2d ? start + 1 : start;
  while (at < end && isDigit(bytes[at])) at += 1;
  return at === end;
}

/** What there is to know of the bytes of an answer before they are parsed. */
export interface Inspection {
  /** What is too much about them; `null`: nothing. */
  readonly excess: string | null;
  /** Where whole numbers that may be past 2^53 begin and end, in turn. */
  readonly longNumbers: readonly number[];
}

/** What is counted, and how much of it there may be in an answer that may be so long. */
function limitsOf(maxBytes: number) {
  const values = Math.floor(maxBytes / bytesPerValue);
  return {
    values,
    containers: Math.floor(values / valuesPerContainer),
    longNumbers: Math.floor(values / valuesPerLongNumber),
  };
}

/**
 * Goes through the bytes once. It is not a parser: what it lets pass may not be JSON.
 *
 * @param maxBytes how long the answer may be, which is in proportion to how many values it may have
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
      // What stood before it was a key.
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

/** The bytes with the whole numbers at these places as strings that begin with the mark. */
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

/** Numbers in place of the marked strings, in the value itself, at any depth. */
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
