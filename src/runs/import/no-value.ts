/** Cells in which a program wrote that it had no value. */

const words: ReadonlySet<string> = new Set(['undefined', 'null', 'NULL', 'NaN', 'nan', '[object Object]']);

/** An error of a spreadsheet in any language, such as #N/A, #NV, #BEZUG! and #¿NOMBRE?, or a column that is too narrow. */
const error = /^(?:#{2,}|#[¡¿]?\p{Lu}[\p{Lu}\p{M}\p{N}/_ ]*[!?]?|Err:[0-9]+)$/u;

export const isNoValue = (cell: string): boolean => words.has(cell) || error.test(cell);
