/** Cells in which a program wrote that it had no value. */
import type { ImportColumn } from './column-words.ts';

const words: ReadonlySet<string> = new Set(['undefined', 'NaN', 'nan', '[object Object]']);

/** An error of a spreadsheet in any language, such as #N/A, #NV, #BEZUG! and #¿NOMBRE?, or a column that is too narrow. */
const error = /^(?:#{2,}|#[¡¿]?\p{Lu}[\p{Lu}\p{M}\p{N}/_ ]*[!?]?|Err:[0-9]+)$/u;

/** True if a cell has no value. "Null" can be a name. A broken id is not a missing id: it could be of any user. */
export const isNoValue = (cell: string, column: ImportColumn): boolean =>
  /^null$/i.test(cell)
    ? !['name', 'first_name', 'last_name'].includes(column)
    : column !== 'id' && (words.has(cell) || error.test(cell));
