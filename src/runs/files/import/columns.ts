/** Finds the meaning of a file's columns. */
import { MusterdError } from '../../../errors.ts';
import { isEmailAddress } from '../../../model/canonical.ts';
import { type Field, fields } from '../../../model/fields.ts';
import { firstOf, printable } from '../../../model/in-words.ts';
import type { FileTable } from '../../../model/file-table.ts';
import { isNoValue } from './no-value.ts';
import { columnWords, type ImportColumn, importColumns } from './column-words.ts';

/** The text in lower case without accents, spaces and punctuation, to compare names of columns. */
const simple = (text: string) =>
  text
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '');

type SimpleWords = Readonly<Partial<Record<ImportColumn | 'half', readonly string[]>>>;

const languages: readonly SimpleWords[] = Object.values(columnWords).map((words) =>
  Object.fromEntries(Object.entries(words).map(([meaning, all]) => [meaning, all.split(',').map(simple)])),
);

const meanings: ReadonlyMap<string, ImportColumn> = new Map(
  languages.flatMap((words) =>
    [...importColumns, 'half' as const].flatMap((meaning) =>
      (words[meaning] ?? []).map((word) => [word, meaning === 'half' ? 'name' : meaning] as const),
    ),
  ),
);

/** A column that the command line maps to a field. */
export interface Mapping {
  readonly column: string;
  readonly meaning: ImportColumn;
}

/** @param text `Column=field` @throws MusterdError `usage` */
export function readMapping(text: string): Mapping {
  const at = text.lastIndexOf('=');
  const meaning = importColumns.find((name) => name === text.slice(at + 1).trim());
  if (at < 1 || meaning === undefined)
    throw new MusterdError('usage', `--map "${text}" is not of the form column=field`, {
      hint: `Name the column and its field, such as --map "Work email=email"; the fields are ${importColumns.join(', ')}.`,
    });
  return { column: text.slice(0, at).trim(), meaning };
}

/** The index of each known column, and the names of the other columns. */
export interface Columns {
  readonly places: ReadonlyMap<ImportColumn, number>;
  readonly ignored: readonly string[];
  /** Sentences about columns that were guessed. */
  readonly notes: readonly string[];
}

function placeOfMapped({ columns }: FileTable, { column }: Mapping): number {
  const exact = columns.indexOf(column);
  const place = exact >= 0 ? exact : columns.findIndex((name) => simple(name) === simple(column));
  if (place >= 0) return place;
  throw new MusterdError('usage', `--map: there is no column "${column}"`, {
    hint: `The columns of the file are ${columns.join(', ')}.`,
  });
}

/** @throws MusterdError `usage` for two columns with one meaning, and for whole names that no mapping asks to split */
export function readColumns(table: FileTable, mappings: readonly Mapping[]): Columns {
  const { columns } = table;
  const places = new Map<ImportColumn, number>();
  const take = (meaning: ImportColumn, place: number) => {
    const before = places.get(meaning);
    if (before !== undefined)
      throw new MusterdError(
        'usage',
        `The columns "${columns[before]}" and "${columns[place]}" are both read as ${meaning}`,
        { hint: `Choose one: --map "${columns[before]}=${meaning}".` },
      );
    places.set(meaning, place);
  };
  for (const mapping of mappings) take(mapping.meaning, placeOfMapped(table, mapping));
  const mapped = new Set(places.keys());
  const taken = new Set(places.values());
  for (const [place, column] of columns.entries()) {
    const meaning = meanings.get(simple(column));
    if (meaning !== undefined && !mapped.has(meaning) && !taken.has(place)) take(meaning, place);
  }
  if (!mapped.has('name')) takeOtherHalf(columns, places);
  refuseWholeNames(columns, places, mapped);
  const notes = takeByContent(table, places);
  const used = new Set(places.values());
  return { places, ignored: columns.filter((_, place) => !used.has(place)), notes };
}

const contents = {
  email: isEmailAddress,
  phone: (cell: string) => /^\+[0-9 ()./-]{7,}$/.test(cell),
} as const;

/** The meaning of a column whose cells are all emails or all phones, unless its own name is an email or a phone, too. */
function meaningOf(column: string, cells: readonly string[]): keyof typeof contents | undefined {
  const given = cells.map((cell) => cell.trim()).filter((cell) => cell !== '' && !isNoValue(cell, 'email'));
  const is = (meaning: keyof typeof contents) => given.every(contents[meaning]) && !contents[meaning](column);
  return given.length === 0 ? undefined : (['email', 'phone'] as const).find(is);
}

/** Makes a function that returns true if a column is read. The cells of columns that are not read are dropped. */
export const createIsRead = (mappings: readonly Mapping[]) => {
  const mapped = new Set(mappings.map(({ column }) => simple(column)));
  return (column: string, sample: readonly string[]): boolean =>
    meanings.has(simple(column)) || mapped.has(simple(column)) || meaningOf(column, sample) !== undefined;
};

/** Finds email and phone by content, but only in columns without a name: a named column can be about a manager. */
function takeByContent({ columns, rows }: FileTable, places: Map<ImportColumn, number>): readonly string[] {
  const used = new Set(places.values());
  const found = Map.groupBy(
    columns.keys().filter((place) => !used.has(place) && columns[place] === ''),
    (place) =>
      meaningOf(
        columns[place] ?? '',
        rows.slice(0, 20).map(({ cells }) => cells[place] ?? ''),
      ),
  );
  return (['email', 'phone'] as const).flatMap((meaning) => {
    const [place, ...others] = found.get(meaning) ?? [];
    if (place === undefined || others.length > 0 || places.has(meaning)) return [];
    places.set(meaning, place);
    return [`the column "${columns[place]}" is read as ${meaning}, by its content`];
  });
}

/** In some languages, a word means a whole name or one half. If the other half has a column, the word means one half. */
function takeOtherHalf(columns: readonly string[], places: Map<ImportColumn, number>): void {
  const wordOf = (meaning: ImportColumn) => simple(columns[places.get(meaning) ?? -1] ?? '');
  for (const [half, other] of [
    ['first_name', 'last_name'],
    ['last_name', 'first_name'],
  ] as const) {
    const whole = places.get('name');
    const isSaid = languages.some(
      (words) => words[half]?.includes(wordOf(half)) && words.half?.includes(wordOf('name')),
    );
    if (whole === undefined || places.has(other) || !isSaid) continue;
    places.set(other, whole);
    places.delete('name');
  }
}

const identities = ['id', 'email', 'phone'] as const;

/** @throws MusterdError `usage` if the columns do not identify a user, or contain nothing to change */
export function requireColumns({ columns, rows }: FileTable, { places, ignored }: Columns): void {
  if (rows.length === 0) return;
  const found = firstOf(
    columns.map((column) => `"${printable(column)}"`),
    20,
  );
  const [first = 'Column'] = ignored;
  const refuse = (missing: string, such: ImportColumn) =>
    new MusterdError('usage', `No column of the file is ${missing}. Its columns: ${found}`, {
      hint: `Map a column, such as --map "${printable(first)}=${such}".`,
    });
  if (identities.every((identity) => !places.has(identity)))
    throw refuse('the id, the email or the phone of a user', 'email');
  if (ignored.length > 0 && places.size === 1 && !places.has('name'))
    throw refuse('a value to change', 'first_name');
}

/** Ignores an unmapped column of whole names if a half has a column. If no half has one, refuses the file. */
function refuseWholeNames(
  columns: readonly string[],
  places: Map<ImportColumn, number>,
  mapped: ReadonlySet<ImportColumn>,
): void {
  const whole = places.get('name');
  if (whole === undefined || mapped.has('name')) return;
  if (places.has('first_name') || places.has('last_name')) {
    places.delete('name');
    return;
  }
  throw new MusterdError('usage', `The column "${columns[whole]}" holds whole names`, {
    hint: `Split it into first_name and last_name. Or give --map "${columns[whole]}=name": musterd then guesses each split.`,
  });
}

/** The columns that a field is read from; a field without columns is not imported. */
export const columnsOf: Readonly<Partial<Record<Field, readonly ImportColumn[]>>> = {
  name: ['first_name', 'last_name', 'name'],
  email: ['email'],
  phone: ['phone'],
  roleId: ['role', 'role_id'],
};

const fieldOf: Readonly<Record<string, Field>> = Object.fromEntries(
  fields.flatMap((field) => (columnsOf[field] ?? []).map((column) => [column, field])),
);

/** Reads which fields the import is allowed to change. @throws MusterdError `usage` */
export function readOnly(text: string | undefined): ReadonlySet<Field> {
  if (text === undefined) return new Set(Object.values(fieldOf));
  const words = text.split(',').map((word) => word.trim());
  return new Set(
    words.map((word) => {
      const field = fieldOf[word];
      if (field !== undefined) return field;
      throw new MusterdError('usage', `--only "${word}": use any of ${Object.keys(fieldOf).join(', ')}`);
    }),
  );
}
