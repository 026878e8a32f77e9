/** Finds what differs within a value: digits one by one, text word by word. */
import { diff } from 'node:util';

/** A piece of a value, compared with the value before. */
export interface Span {
  readonly kind: 'same' | 'changed';
  readonly text: string;
}

/** If less than this share of a value is the same, that is a coincidence, and all of it counts as changed. */
const leastCommon = 1 / 3;
/** Most comparisons of words. Between its two ends a longer text counts as one word. */
const mostComparisons = 40_000;

const isNumber = (text: string) => /^\+?\d[\d ()./-]*$/.test(text);
const hasLetters = (text: string) => /[\p{L}\p{N}]/u.test(text);
const wordsOf = (text: string) => text.match(/[\p{L}\p{M}\p{N}]+|[^\p{L}\p{M}\p{N}]/gu) ?? [];

/** The pieces of the new value, and for each whether it was there before. */
type MarkedPieces = { readonly pieces: readonly string[]; readonly isSame: boolean[] };

/** Two texts of the same length are compared place by place. */
function markPlaces(before: readonly string[], after: readonly string[]): MarkedPieces {
  return { pieces: after, isSame: after.map((piece, at) => piece === before[at]) };
}

/** Marks the pieces of the second that the first has in the same order. */
const markCommon = (before: readonly string[], after: readonly string[]): boolean[] =>
  diff([...after], [...before]).flatMap(([where]) => (where < 0 ? [] : [where === 0]));

/** Counts the pieces with which both begin. */
function countCommon(before: readonly string[], after: readonly string[]): number {
  const least = Math.min(before.length, after.length);
  let head = 0;
  while (head < least && before[head] === after[head]) head += 1;
  return head;
}

/** Marks what both begin and end with as the same. Between these it looks for words, but not for digits. */
function markPieces(before: readonly string[], after: readonly string[], isDigits: boolean): MarkedPieces {
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

/** If something is only missing, marks what takes its place, else what comes before it. */
function markNeighbour({ pieces, isSame }: MarkedPieces, at: number): void {
  const after = pieces.findIndex((piece, index) => index >= at && hasLetters(piece));
  const before = pieces.findLastIndex((piece, index) => index < at && hasLetters(piece));
  isSame[[after, before].find((index) => index >= 0) ?? 0] = false;
}

/** Marks the signs between two changed words as changed, too. */
function closeGaps({ pieces, isSame }: MarkedPieces): void {
  let lastChanged: number | undefined;
  for (const [at, same] of [...isSame].entries()) {
    if (!same) {
      if (lastChanged !== undefined && !pieces.slice(lastChanged + 1, at).some(hasLetters))
        isSame.fill(false, lastChanged, at);
      lastChanged = at;
    }
  }
}

function joinSpans({ pieces, isSame }: MarkedPieces): readonly Span[] {
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
 * The new value in pieces that are the same as before, or changed. All of it is changed if nearly nothing is common; if
 * something was only taken out, its neighbour is changed.
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
