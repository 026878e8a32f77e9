/**
 * A spreadsheet runs a cell that begins like a formula, whoever wrote it. A quote before it makes it text. A text of
 * which reading would remove a quote gets one more, so that every text comes back as it was.
 */
const startsLikeFormula = /^'*[=+\-@\t\r＝＋－＠]/u;

export function withoutFormula(text: string): string {
  return startsLikeFormula.test(text) ? `'${text}` : text;
}

/** The text as it was before {@link withoutFormula}. */
export function asWritten(cell: string): string {
  return cell.startsWith("'") && startsLikeFormula.test(cell.slice(1)) ? cell.slice(1) : cell;
}
