/** Numbers and texts for sentences and commands that people read. */

/** Blanks characters that move, hide or reorder text on a terminal, because names can contain anything. */
export function printable(text: string): string {
  return text.toWellFormed().replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ');
}

export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

/** `3 users`, `1 user`. */
export function plural(count: number, singular: string, many = `${singular}s`): string {
  return `${count} ${count === 1 ? singular : many}`;
}

/** The first items, joined by commas, and `…` if there are more items. */
export function firstOf(all: readonly unknown[], most = 10): string {
  return `${all.slice(0, most).join(', ')}${all.length > most ? ', …' : ''}`;
}

export function seconds(ms: number): string {
  return ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/** A word, quoted for a shell if it needs quotes. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
