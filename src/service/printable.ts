/** Text of others on its way to a terminal or a log: without what moves, hides or reorders the rest. */

const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Takes such characters out, and cuts to `maxLength`. */
export function toPrintable(text: string, maxLength: number): string {
  return text.toWellFormed().replace(unprintable, '').slice(0, maxLength).toWellFormed();
}

/** Writes them as JSON escapes instead; for text that is JSON. */
export function escapeUnprintable(json: string): string {
  return json.replace(unprintable, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
