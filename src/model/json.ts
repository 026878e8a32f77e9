/** JSON in which integers past 2^53 stay exact, in both directions: they are `bigint` in this program. */

/** Node 24 has `JSON.rawJSON`, but the compiler's library does not declare it yet. */
const exactJson = JSON as typeof JSON & { rawJSON(text: string): unknown };

/** A number with fewer digits than this is exact as a JavaScript number. */
const longDigits = 16;
const wholeNumber = /^-?\d+$/;
/** Longer integers cannot be stored, and making a `bigint` of them can take minutes. They are read as a `number`. */
const mostDigits = 1_000;

/** A `bigint` is written as a JSON integer; `undefined` properties are left out. */
export function toJson(value: unknown, indent?: number): string {
  const exact = (_key: string, inner: unknown) =>
    typeof inner === 'bigint' ? exactJson.rawJSON(inner.toString()) : inner;
  return JSON.stringify(value, exact, indent);
}

function isDigit(text: string, index: number): boolean {
  const code = text.charCodeAt(index);
  return code >= 0x30 && code <= 0x39;
}

/** True if 16 digits follow each other, so a number may be past 2^53. It is enough to look at every 16th character. */
function hasLongNumber(text: string): boolean {
  for (let at = longDigits - 1; at < text.length; at += longDigits) {
    if (!isDigit(text, at)) continue;
    let from = at;
    let to = at + 1;
    while (from > 0 && isDigit(text, from - 1)) from -= 1;
    while (isDigit(text, to)) to += 1;
    if (to - from >= longDigits) return true;
  }
  return false;
}

function keepExact(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
  const source = context?.source;
  return source !== undefined && source.length <= mostDigits && wholeNumber.test(source)
    ? BigInt(source)
    : value;
}

/**
 * Reads JSON with integers past 2^53 as `bigint` and all other numbers as `number`.
 * @param isExact true if the text may have an integer past 2^53
 * @throws SyntaxError if the text is not JSON, or RangeError if it is nested too deep to be read
 */
export function fromJson(text: string, isExact = hasLongNumber(text)): unknown {
  return isExact ? JSON.parse(text, keepExact) : JSON.parse(text);
}
