/**
 * A spreadsheet runs a cell that begins like a formula. A quote in front makes the cell text. A formula that already
 * has quotes in front gets one more quote, because reading removes one. So every text comes back unchanged.
 */
const startsLikeFormula = /^'*[=+\-@\t\r＝＋－＠]/u;

export function withoutFormula(text: string): string {
  return startsLikeFormula.test(text) ? `'${text}` : text;
}

/** The text as it was before {@link withoutFormula}. */
export function asWritten(cell: string): string {
  return cell.startsWith("'") && startsLikeFormula.test(cell.slice(1)) ? cell.slice(1) : cell;
}
