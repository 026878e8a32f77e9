/** The meaning of a file's columns. */
import { MusterdError } from '../../errors.ts';
import type { FileTable } from '../../model/file-table.ts';
import type { Field } from '../../model/user.ts';

/** `name`: a whole name in one column. */
export const importColumns = [
  'id',
  'first_name',
  'last_name',
  'name',
  'email',
  'phone',
  'role',
  'role_id',
] as const;
export type ImportColumn = (typeof importColumns)[number];

/** The usual spellings, in lower case and without spaces and punctuation. */
const spellings: Readonly<Record<ImportColumn, readonly string[]>> = {
  id: ['id', 'userid'],
  first_name: ['firstname', 'first', 'givenname', 'forename'],
  last_name: ['lastname', 'last', 'surname', 'familyname'],
  name: ['name', 'fullname', 'displayname', 'username', 'employeename'],
  email: ['email', 'emailaddress', 'mail', 'workemail', 'businessemail'],
  phone: [
    'phone',
    'phonenumber',
    'mobile',
    'mobilephone',
    'mobilenumber',
    'telephone',
    'telephonenumber',
    'tel',
    'cell',
    'cellphone',
    'workphone',
    'businessphone',
  ],
  role: ['role', 'rolename'],
  role_id: ['roleid'],
};

const simple = (text: string) =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '');

/** A column that the command line maps to a field. */
export interface Mapping {
  readonly column: string;
  readonly meaning: ImportColumn;
}

/** @param text `Column=field` @throws MusterdError `usage` */
export function readMapping(text: string): Mapping {
  const at = text.lastIndexOf('=');
  const meaning = importColumns.find((one) => one === text.slice(at + 1).trim());
  if (at < 1 || meaning === undefined)
    throw new MusterdError('usage', `--map "${text}" is not a column, "=" and a field`, {
      hint: `Such as --map "Work email=email"; the fields are ${importColumns.join(', ')}.`,
    });
  return { column: text.slice(0, at).trim(), meaning };
}

/** The index of each known column, and the names of the others. */
export interface Columns {
  readonly places: ReadonlyMap<ImportColumn, number>;
  readonly ignored: readonly string[];
}

function placeOfMapped({ columns }: FileTable, { column }: Mapping): number {
  const exact = columns.indexOf(column);
  const place = exact >= 0 ? exact : columns.findIndex((one) => simple(one) === simple(column));
  if (place >= 0) return place;
  throw new MusterdError('usage', `--map: there is no column "${column}"`, {
    hint: `The file has ${columns.join(', ')}.`,
  });
}

/**
 * @throws MusterdError `usage` for a column that occurs twice, and for a whole name without the request to split it
 */
export function readColumns(table: FileTable, mappings: readonly Mapping[]): Columns {
  const { columns } = table;
  const places = new Map<ImportColumn, number>();
  const take = (meaning: ImportColumn, place: number) => {
    const before = places.get(meaning);
    if (before !== undefined)
      throw new MusterdError(
        'usage',
        `The columns "${columns[before]}" and "${columns[place]}" are both read as ${meaning}`,
        { hint: `Say which one it is: --map "${columns[before]}=${meaning}".` },
      );
    places.set(meaning, place);
  };
  for (const mapping of mappings) take(mapping.meaning, placeOfMapped(table, mapping));
  const mapped = new Set(places.keys());
  const taken = new Set(places.values());
  for (const [place, column] of columns.entries()) {
    const meaning = importColumns.find((one) => spellings[one].includes(simple(column)));
    if (meaning !== undefined && !mapped.has(meaning) && !taken.has(place)) take(meaning, place);
  }
  refuseWholeNames(columns, places, mapped);
  const used = new Set(places.values());
  return { places, ignored: columns.filter((_, place) => !used.has(place)) };
}

/** A whole name next to its halves is ignored, unless it was asked for. */
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
    hint: `Part it into first_name and last_name. Or say --map "${columns[whole]}=name": each is cut before its last word, which is a guess.`,
  });
}

const fieldOf: Readonly<Record<string, Field>> = {
  name: 'name',
  first_name: 'name',
  last_name: 'name',
  email: 'email',
  phone: 'phone',
  role: 'roleId',
  role_id: 'roleId',
};

/** Which fields may be changed. @throws MusterdError `usage` */
export function readOnly(text: string | undefined): ReadonlySet<Field> {
  if (text === undefined) return new Set(Object.values(fieldOf));
  const words = text.split(',').map((word) => word.trim());
  return new Set(
    words.map((word) => {
      const field = fieldOf[word];
      if (field !== undefined) return field;
      throw new MusterdError('usage', `--only "${word}": use some of ${Object.keys(fieldOf).join(', ')}`);
    }),
  );
}
