/**
 * SQL for the writable fields, made from the table in `model/fields.ts`. Statements that need the columns of all fields,
 * as a tuple, a list or an object, use these functions. A row is given by its alias. The columns of a staged row may have
 * a prefix.
 */
import { type RawBuilder, sql } from 'kysely';
import {
  columnOf,
  type Field,
  fields,
  type FieldValue,
  single,
  singleNames,
  type UserValues,
} from '../../model/fields.ts';

type Sql = RawBuilder<unknown>;
type ColumnType = 'text' | 'bigint';

const halves = ['first_name', 'last_name'] as const;
/** The columns of a field. The name has two, one for each half. */
export const sqlColumnsOf = (field: Field): readonly string[] =>
  field === 'name' ? halves : [columnOf(field)];
const columns = fields.flatMap(sqlColumnsOf);
export const typeOf = (field: Field): ColumnType => (field === 'name' ? 'text' : single(field).type);

const inRow = (row: string, column: string, prefix: string): Sql => sql.ref(`${row}.${prefix}${column}`);
const list = (names: readonly string[], toSql: (column: string) => Sql): Sql => sql.join(names.map(toSql));

/** The columns of all fields, for `insert into`. */
export const columnNames: Sql = list(columns, (column) => sql.ref(column));

/** `u.first_name, u.last_name, u.email, …`: the columns of all fields in a row. */
export const valuesOf = (row: string, prefix = ''): Sql =>
  list(columns, (column) => inRow(row, column, prefix));

/** Like `valuesOf`, but without the halves of the name, for rows that have the joined name instead. */
export const singlesIn = (row: string): Sql =>
  list(singleNames.map(columnOf), (column) => inRow(row, column, ''));

/** The columns of all fields in a row, selected under other names. */
export const valuesAs = (row: string, prefix: string): Sql =>
  list(columns, (column) => sql`${inRow(row, column, '')} as ${sql.ref(prefix + column)}`);

/** `first_name = …, last_name = …, …`: the assignments of an `update`. @param to makes the value of a column */
export const setValues = (to: (column: string, field: Field) => Sql): Sql =>
  sql.join(
    fields.flatMap((field) =>
      sqlColumnsOf(field).map((column) => sql`${sql.ref(column)} = ${to(column, field)}`),
    ),
  );

/** True if two rows differ in a field. */
export const differs = (field: Field, left: string, right: string): Sql => {
  const tuple = (row: string) => list(sqlColumnsOf(field), (column) => inRow(row, column, ''));
  return sql`(${tuple(left)}) is distinct from (${tuple(right)})`;
};

/** A field's value in a row as JSON. A name is an object with its two halves. */
export const jsonOf = (field: Field, row: string, prefix = ''): Sql =>
  field === 'name'
    ? sql`jsonb_build_object('first', ${inRow(row, 'first_name', prefix)}, 'last', ${inRow(row, 'last_name', prefix)})`
    : sql`to_jsonb(${inRow(row, columnOf(field), prefix)})`;

/** The values of all fields of a row in one JSON object. */
export const objectOf = (row: string, prefix = ''): Sql =>
  sql`jsonb_build_object(${sql.join(
    fields.map((field) => {
      const value = field === 'name' ? jsonOf(field, row, prefix) : inRow(row, columnOf(field), prefix);
      return sql`${sql.lit(columnOf(field))}, ${value}`;
    }),
  )})`;

/** One row for each field, with its name and these values. */
export const rowPerField = (valuesFor: (field: Field) => readonly Sql[]): Sql =>
  sql`(values ${sql.join(
    fields.map((field) => sql`(${sql.join([sql.lit(columnOf(field)), ...valuesFor(field)])})`),
  )})`;

/** The columns of all fields, with their types, in rows that are staged. */
export const stagedColumns = (prefix = ''): readonly (readonly [name: string, type: ColumnType])[] =>
  fields.flatMap((field) => sqlColumnsOf(field).map((column) => [prefix + column, typeOf(field)] as const));

/** The columns of all fields except the name, in rows that are staged. */
export const stagedSingles: readonly (readonly [name: string, type: ColumnType])[] = singleNames.map(
  (field) => [columnOf(field), typeOf(field)],
);

/** The values of all fields, in the order of their columns. */
export const stagedValues = (
  values: UserValues | undefined,
): readonly (string | bigint | null | undefined)[] => [
  values?.name.first,
  values?.name.last,
  ...singleNames.map((field) => values?.[field]),
];

/** The values of all fields by column, for rows that are staged as JSON objects. */
export const byColumn = (values: UserValues, prefix = ''): Readonly<Record<string, unknown>> => {
  const all = stagedValues(values);
  return Object.fromEntries(columns.map((column, at) => [prefix + column, all[at]]));
};

/** The definitions of these columns for `jsonb_to_recordset`. */
export const definitionsOf = (prefix = ''): Sql =>
  sql.join(stagedColumns(prefix).map(([name, type]) => sql`${sql.ref(name)} ${sql.raw(type)}`));

export function valueFromJson(field: Field, value: unknown): FieldValue {
  if (value === null || value === undefined) return null;
  return typeOf(field) === 'bigint' ? BigInt(value as number) : (value as FieldValue);
}
