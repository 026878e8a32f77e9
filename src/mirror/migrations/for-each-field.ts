/**
 * Expands what the repeatable files contain for each field of the table in `model/fields.ts`:
 *
 * - `{columns u.COLUMN}` is repeated for each column, with commas between: `u.first_name, u.last_name, u.email, …`
 * - `{fields (FIELD, VALUE(u.))}` is repeated for each field, with commas between.
 * - `{selects select … from …}` is repeated for each field, with `union all` between.
 *
 * FIELD is the name of the field, as a text; VALUE(u.) is its value in the row u, as JSON; and COLUMNS(u.) are the
 * columns of the field in the row u.
 */
import { columnOf, type Field, fields } from '../../model/fields.ts';
import { sqlColumnsOf } from '../db/field-sql.ts';

const fieldName = (field: Field): string => `'${columnOf(field)}'`;

function valueIn(field: Field, row: string): string {
  if (field !== 'name') return `to_jsonb(${row}${columnOf(field)})`;
  return `jsonb_build_object('first', ${row}first_name, 'last', ${row}last_name)`;
}

const columnsIn = (field: Field, row: string): string =>
  sqlColumnsOf(field)
    .map((column) => row + column)
    .join(', ');

const ofField = (template: string, field: Field): string =>
  template
    .replaceAll('FIELD', fieldName(field))
    .replaceAll(/VALUE\(([\w.]+)\)/g, (_, row: string) => valueIn(field, row))
    .replaceAll(/COLUMNS\(([\w.]+)\)/g, (_, row: string) => columnsIn(field, row));

const ofColumn = (template: string, field: Field): readonly string[] =>
  sqlColumnsOf(field).map((column) => ofField(template, field).replaceAll('COLUMN', column));

/** Joins the items. All but the first are written on one line, so that an error names the right line of the file. */
const joined = ([first = '', ...others]: readonly string[], separator: string): string =>
  [first, ...others.map((item) => item.replaceAll(/\s+/g, ' '))].join(separator);

export const forEachField = (text: string): string =>
  text
    .replaceAll(/\{columns ([^{}]+)\}/g, (_, template: string) =>
      joined(
        fields.flatMap((field) => ofColumn(template, field)),
        ', ',
      ),
    )
    .replaceAll(/\{(fields|selects) ([^{}]+)\}/g, (_, kind: string, template: string) =>
      joined(
        fields.map((field) => ofField(template, field)),
        kind === 'fields' ? ', ' : ' union all ',
      ),
    );
