/** Numbers and texts in sentences and commands for people. */

/** Takes out what moves, hides or reorders text on a terminal: names are written by others. */
export function printable(text: string): string {
  return text.toWellFormed().replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ');
}

/** Each line for itself. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

/** `3 users`, `1 user`. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

export function seconds(ms: number): string {
  return ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/** A word as a shell takes it, no matter what is in it. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
