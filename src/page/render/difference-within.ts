/** Finds the part of a value that differs from another value: numbers are compared by digits, text by words. */

/** If less than this share of a value is unchanged, that is a coincidence, and the whole value counts as changed. */
const leastCommon = 1 / 3;

const isNumber = (text: string) => /^\+?\d[\d ()./-]*$/.test(text);
const lettersIn = (text: string) => text.match(/[\p{L}\p{N}]/gu)?.length ?? 0;
const wordsOf = (text: string) => text.match(/[\p{L}\p{M}\p{N}]+|[^\p{L}\p{M}\p{N}]/gu) ?? [];

/**
 * The new value in three parts: the unchanged beginning, the changed part, and the unchanged end. If nearly nothing is
 * unchanged, the changed part is the whole value. If text was only removed, the neighboring word or digit is marked.
 */
export function differenceWithin(before: string, after: string): readonly [string, string, string] {
  if (before === after) return [after, '', ''];
  const inDigits = isNumber(before) && isNumber(after);
  const [was, is] = inDigits ? [before.split(''), after.split('')] : [wordsOf(before), wordsOf(after)];
  const least = Math.min(was.length, is.length);
  let head = 0;
  while (head < least && was[head] === is[head]) head += 1;
  let tail = 0;
  while (tail < least - head && was.at(-1 - tail) === is.at(-1 - tail)) tail += 1;
  const same = [...is.slice(0, head), ...is.slice(is.length - tail)].join('');
  if (lettersIn(same) < Math.max(lettersIn(before), lettersIn(after)) * leastCommon) return ['', after, ''];
  const changed = () => is.slice(head, is.length - tail).join('');
  if (changed() === '')
    while (head + tail > 0 && lettersIn(changed()) === 0)
      if (tail > 0) tail -= 1;
      else head -= 1;
  return [is.slice(0, head).join(''), changed(), is.slice(is.length - tail).join('')];
}
