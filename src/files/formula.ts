/**
 * A spreadsheet runs a cell that begins like a formula, whoever wrote it. A quote before it makes it text. One more
 * quote goes before each text of which a quote would be taken away at reading, so that every text comes back as it was.
 */
const startsLikeFormula = /^'*[=+\-@\t\r＝＋－＠]/u;

export function withoutFormula(text: string): string {
  return startsLikeFormula.test(text) ? `'${text}` : text;
}

/** The text that {@link withoutFormula} was given. */
export function asWritten(cell: string): string {
  return cell.startsWith("'") && startsLikeFormula.test(cell.slice(1)) ? cell.slice(1) : cell;
}
