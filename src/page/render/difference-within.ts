/** What differs within a value: digits one by one, text word by word. Values in, values out. */

/** A piece of a value, beside what stood there before. */
export interface Span {
  readonly kind: 'same' | 'changed';
  readonly text: string;
}

/** Less than this share of a value in common is a coincidence: all of it is another. */
const leastCommon = 1 / 3;
/** Comparisons of words at most; a text of more is taken as one word between its two ends. */
const mostComparisons = 40_000;

const isNumber = (text: string) => /^\+?\d[\d ()./-]*$/.test(text);
const hasLetters = (text: string) => /[\p{L}\p{N}]/u.test(text);
const wordsOf = (text: string) => text.match(/[\p{L}\p{M}\p{N}]+|[^\p{L}\p{M}\p{N}]/gu) ?? [];

/** Pieces of the new value, and for each whether it stood there before. */
type Marked = { readonly pieces: readonly string[]; readonly isSame: boolean[] };

/** If two texts are of the same length, each place is compared with its own. */
function markPlaces(before: readonly string[], after: readonly string[]): Marked {
  return { pieces: after, isSame: after.map((piece, at) => piece === before[at]) };
}

/** The longest row of pieces that both have in this order. */
function markCommon(before: readonly string[], after: readonly string[]): boolean[] {
  const width = after.length + 1;
  const longest = new Uint32Array((before.length + 1) * width);
  const at = (row: number, column: number) => longest[row * width + column] ?? 0;
  for (let row = before.length - 1; row >= 0; row -= 1) {
    for (let column = after.length - 1; column >= 0; column -= 1) {
      longest[row * width + column] =
        before[row] === after[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  const isSame = after.map(() => false);
  for (let row = 0, column = 0; row < before.length && column < after.length; ) {
    if (before[row] === after[column]) {
      isSame[column] = true;
      row += 1;
      column += 1;
    } else if (at(row + 1, column) >= at(row, column + 1)) row += 1;
    else column += 1;
  }
  return isSame;
}

/** With how many pieces both begin. */
function countCommon(before: readonly string[], after: readonly string[]): number {
  const least = Math.min(before.length, after.length);
  let head = 0;
  while (head < least && before[head] === after[head]) head += 1;
  return head;
}

/** What both begin with and what both end with is the same; between them words are looked for, and no digits. */
function markPieces(before: readonly string[], after: readonly string[], isDigits: boolean): Marked {
  const least = Math.min(before.length, after.length);
  const head = countCommon(before, after);
  let tail = 0;
  while (tail < least - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  const [was, is] = [before, after].map((pieces) => pieces.slice(head, pieces.length - tail)) as [
    string[],
    string[],
  ];
  const isOther = isDigits || was.length * is.length > mostComparisons;
  const middle = isOther ? is.map(() => false) : markCommon(was, is);
  const isSame = [...Array<boolean>(head).fill(true), ...middle, ...Array<boolean>(tail).fill(true)];
  return { pieces: after, isSame };
}

/** If something is only missing, what stands in its place is marked, else what stands before it. */
function markNeighbour({ pieces, isSame }: Marked, at: number): void {
  const after = pieces.findIndex((piece, index) => index >= at && hasLetters(piece));
  const before = pieces.findLastIndex((piece, index) => index < at && hasLetters(piece));
  isSame[[after, before].find((index) => index >= 0) ?? 0] = false;
}

/** Signs between two changed words belong to them. */
function closeGaps({ pieces, isSame }: Marked): void {
  let lastChanged: number | undefined;
  for (const [at, same] of [...isSame].entries()) {
    if (!same) {
      if (lastChanged !== undefined && !pieces.slice(lastChanged + 1, at).some(hasLetters))
        isSame.fill(false, lastChanged, at);
      lastChanged = at;
    }
  }
}

function joinSpans({ pieces, isSame }: Marked): readonly Span[] {
  const spans: Span[] = [];
  for (const [at, text] of pieces.entries()) {
    const kind = isSame[at] === true ? 'same' : 'changed';
    const last = spans.at(-1);
    if (last?.kind === kind) spans[spans.length - 1] = { kind, text: last.text + text };
    else spans.push({ kind, text });
  }
  return spans;
}

/**
 * The new value in pieces that are the same as before, or changed. All of it is changed where nearly nothing is common;
 * where something was only taken out, its neighbour is.
 */
export function differenceWithin(before: string, after: string): readonly Span[] {
  if (after === '') return [];
  if (before === after) return [{ kind: 'same', text: after }];
  const all: readonly Span[] = [{ kind: 'changed', text: after }];
  if (before === '') return all;
  const isDigits = isNumber(before) && isNumber(after);
  const [was, is] = [before, after].map((text) => (isDigits ? text.split('') : wordsOf(text))) as [
    string[],
    string[],
  ];
  const marked = isDigits && was.length === is.length ? markPlaces(was, is) : markPieces(was, is, isDigits);
  if (!isDigits) closeGaps(marked);
  const lengthOf = (pieces: readonly string[]) => pieces.filter(hasLetters).join('').length;
  const common = lengthOf(marked.pieces.filter((_piece, at) => marked.isSame[at]));
  const whole = Math.max(lengthOf(was), lengthOf(is));
  if (common < whole * leastCommon) return all;
  if (!marked.isSame.includes(false)) markNeighbour(marked, countCommon(was, is));
  return joinSpans(marked);
}
