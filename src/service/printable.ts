/** Makes text from outside safe for a terminal or a log: without characters that move, hide or reorder text. */

const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Removes characters that move, hide or reorder text, and cuts the text to `maxLength`. */
export function toPrintable(text: string, maxLength: number): string {
  return text.toWellFormed().replace(unprintable, '').slice(0, maxLength).toWellFormed();
}

/** Replaces characters that move, hide or reorder text by JSON escapes. The text must be JSON. */
export function escapeUnprintable(json: string): string {
  return json.replace(unprintable, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
