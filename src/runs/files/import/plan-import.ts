/**
 * Plans what a file changes for the users in the mirror. Several rows of one user count as one row if all of them have
 * the same content. If their content differs, none of them is used.
 */
import { createHash } from 'node:crypto';
import type { UserEdit } from '../../../mirror/users/edits.ts';
import { type Field, fields, type FieldValue } from '../../../model/fields.ts';
import type { FileTable, FileTableRow, RowProblem } from '../../../model/file-table.ts';
import type { Id } from '../../../model/id.ts';
import { firstOf, plural } from '../../../model/in-words.ts';
import { toJson } from '../../../model/json.ts';
import type { ImportColumn } from './column-words.ts';
import { type Columns, columnsOf } from './columns.ts';
import { createMatcher, type RowMatch, type MatchWishes, type TeamUser } from './match-user.ts';
import { mayHaveLostLetters } from './lost-letters.ts';
import { isNoValue } from './no-value.ts';
import { shapeOf } from './read-phone.ts';
import {
  type Cells,
  lostLetters,
  type KnownRole,
  type WantedValue,
  wantedEmail,
  wantedName,
  wantedPhone,
  wantedRole,
} from './read-values.ts';

export interface ImportChange {
  readonly line: number;
  readonly userId: Id;
  readonly name: string;
  readonly field: Field;
  readonly from: FieldValue;
  readonly to: FieldValue;
  readonly base: FieldValue | undefined;
  /** True if the import guessed how to split a whole name. */
  readonly isGuess: boolean;
  /** The reason why the change is held until a person approves it; `undefined` if it is certain. */
  readonly unsure: string | undefined;
}

export interface ImportPlan {
  /** The number of rows that are not empty. */
  readonly rows: number;
  /** The number of rows that belong to a user. */
  readonly matched: number;
  /** The number of rows that change something. */
  readonly changing: number;
  readonly problems: readonly RowProblem[];
  readonly changes: readonly ImportChange[];
  readonly edits: readonly UserEdit[];
  /** The users of the team who are in no row. */
  readonly notInFile: readonly { readonly user_id: Id; readonly name: string }[];
  /** Sentences about things that a person should check. */
  readonly notes: readonly string[];
}

export interface ImportWishes extends MatchWishes {
  readonly table: FileTable;
  readonly columns: Columns;
  /** Fields that the import is allowed to change. */
  readonly only: ReadonlySet<Field>;
  /** True if an empty cell clears a field that can be cleared. */
  readonly clears: boolean;
}

const cellAt = ({ cells }: FileTableRow, place = -1) => (cells[place] ?? '').trim();

const cellsOf =
  (row: FileTableRow, { places }: Columns): Cells =>
  (column) => {
    const cell = cellAt(row, places.get(column));
    return isNoValue(cell, column) ? '' : cell;
  };

function noteNoValues(rows: readonly FileTableRow[], { places }: Columns): readonly string[] {
  const found = rows.flatMap((row) =>
    [...places]
      .filter(([column, place]) => isNoValue(cellAt(row, place), column))
      .map(([, place]) => `line ${row.line}: ${cellAt(row, place)}`),
  );
  if (found.length === 0) return [];
  return [
    `${plural(found.length, 'cell')} with a spreadsheet error, which change nothing: ${firstOf(found)}`,
  ];
}

/** The email addresses in a text, each as a row without other values. */
const emailsIn = (text: string): readonly Cells[] =>
  (text.match(/[^\s,;:"'<>]+@[^\s,;:"'<>]+/g) ?? []).map(
    (email) => (column) => (column === 'email' ? email : ''),
  );

interface ReadRow {
  readonly line: number;
  readonly user: TeamUser;
  readonly changes: readonly ImportChange[];
  readonly problems: readonly RowProblem[];
  /** True if the row has lost letters. */
  readonly isLost: boolean;
  /** The content of the row, to compare it with other rows of the same user. */
  readonly says: string;
}

function readRow(
  row: FileTableRow,
  user: TeamUser,
  wishes: ImportWishes,
  roles: readonly KnownRole[],
  shapes: ReadonlySet<string>,
): ReadRow {
  const { columns, only, clears, country } = wishes;
  const cells = cellsOf(row, columns);
  const { mirror, base } = user;
  const isCleared = clears && columns.places.has('phone') && cellAt(row, columns.places.get('phone')) === '';
  const wanted: Readonly<Partial<Record<Field, () => WantedValue<FieldValue>>>> = {
    name: () => wantedName(cells, mirror),
    email: () => wantedEmail(cells('email'), mirror),
    phone: () => wantedPhone(cells('phone'), mirror, isCleared, { country, shapes }),
    roleId: () => wantedRole(cells, mirror, roles),
  };
  const changes: ImportChange[] = [];
  const problems: RowProblem[] = [];
  let isLost = false;
  for (const field of fields.filter((name) => only.has(name))) {
    const found = wanted[field]?.();
    if (found === undefined) continue;
    if ('wrong' in found) {
      problems.push({ line: row.line, kind: 'invalid', reason: found.wrong });
      isLost ||= found.isLost === true;
    } else
      changes.push({
        line: row.line,
        userId: user.id,
        name: mirror.joined,
        field,
        from: mirror[field],
        to: found.value,
        base: base?.[field],
        isGuess: found.isGuess === true,
        unsure: found.unsure,
      });
  }
  const texts = fields
    .filter((field) => only.has(field))
    .flatMap((field) => columnsOf[field] ?? [])
    .map((column: ImportColumn) => cells(column));
  return {
    line: row.line,
    user,
    changes,
    problems,
    isLost,
    says: toJson([changes.map(({ field, to }) => [field, to]), problems.length > 0 && texts]),
  };
}

/** A value that can be compared as text. A name becomes a list, because the keys of an object can be in any order. */
const plain = (value: FieldValue | undefined) =>
  typeof value === 'object' && value !== null ? [value.first, value.last] : (value ?? null);

/** The texts of a change that differ from the present value. */
function newTexts({ from, to }: ImportChange): readonly string[] {
  const before = [plain(from)].flat();
  return [plain(to)]
    .flat()
    .filter((text, at): text is string => typeof text === 'string' && text !== before[at]);
}

/** If any row has lost letters, every new text of the file that may have lost letters is reported as a problem. */
function suspectAll(rows: readonly ReadRow[]): readonly ReadRow[] {
  if (!rows.some(({ isLost }) => isLost)) return rows;
  return rows.map((row) => {
    const lost = row.changes.flatMap(newTexts).filter(mayHaveLostLetters);
    const problems = lost.map((text) => ({
      line: row.line,
      kind: 'invalid' as const,
      reason: lostLetters(text).wrong,
    }));
    return { ...row, problems: [...row.problems, ...problems] };
  });
}

/** Chooses which rows of each user are used, and reports problems of the other rows. */
function chooseRows(rows: readonly ReadRow[]) {
  const problems: RowProblem[] = [];
  const good: ReadRow[] = [];
  let usable = 0;
  for (const [id, same] of Map.groupBy(rows, ({ user }) => user.id)) {
    const [first, ...others] = same;
    if (first === undefined) continue;
    if (others.every(({ says }) => says === first.says)) {
      for (const row of first.problems.length > 0 ? same : []) problems.push(...row.problems);
      if (first.problems.length > 0) continue;
      good.push(first);
      usable += same.length;
      continue;
    }
    const lines = firstOf(others.map(({ line }) => `line ${line}`));
    const reasonOf = (row: ReadRow) =>
      row === first ? `like ${lines}` : `like line ${first.line}, but has other values`;
    for (const row of same)
      problems.push({ line: row.line, kind: 'duplicate', reason: `it is of user ${id}, ${reasonOf(row)}` });
  }
  return { good, problems, usable };
}

const editOf = ({ user, changes }: ReadRow): UserEdit => ({
  id: user.id,
  expected: user.mirror,
  values: Object.fromEntries(changes.map(({ field, to }) => [field, to])),
  isGuess: changes.some(({ isGuess }) => isGuess),
  unsure: changes.find(({ unsure }) => unsure !== undefined)?.unsure,
});

export function planImport(
  wishes: ImportWishes,
  users: readonly TeamUser[],
  roles: readonly KnownRole[],
): ImportPlan {
  const { table, columns } = wishes;
  const match = createMatcher(users, wishes);
  const shapes = new Set(users.flatMap(({ mirror: { phone } }) => (phone === null ? [] : [shapeOf(phone)])));
  const problems: RowProblem[] = table.problems.map(({ line, reason }) => ({
    line,
    kind: 'unreadable',
    reason,
  }));
  const read: ReadRow[] = [];
  const doubtful: (Extract<RowMatch, { kind: 'contradictory' }> & { readonly row: FileTableRow })[] = [];
  const inFile = new Set<TeamUser>();
  for (const row of table.rows) {
    const found = match(cellsOf(row, columns));
    if (found.user !== undefined) inFile.add(found.user);
    if (found.kind === undefined) read.push(readRow(row, found.user, wishes, roles, shapes));
    else if (found.kind === 'contradictory') doubtful.push({ ...found, row });
    else {
      const { kind, reason, user } = found;
      problems.push({ line: row.line, kind, reason, ...(user && { user_id: user.id }) });
    }
  }
  const isRenamed = ({ changes }: ReadRow) => changes.some(({ field }) => field === 'name');
  const renamed = new Set([...read.filter(isRenamed), ...doubtful].map(({ user }) => user));
  for (const { row, user, kind, reason, namesakes } of doubtful)
    if (namesakes.length > 0 && !namesakes.some((one) => renamed.has(one)))
      read.push(readRow(row, user, wishes, roles, shapes));
    else problems.push({ line: row.line, kind, reason });
  // A user is not reported as missing from the file if an unreadable row might be about that user.
  for (const row of table.problems)
    for (const cells of [cellsOf(row, columns), ...emailsIn(row.text)]) {
      const { user } = match(cells);
      if (user !== undefined) inFile.add(user);
    }
  const chosen = chooseRows(suspectAll(read));
  const changing = chosen.good.filter(({ changes }) => changes.length > 0);
  const changes = changing.flatMap((row) => row.changes);
  return {
    rows: table.rows.length + table.problems.length,
    matched: chosen.usable,
    changing: changing.length,
    problems: [...problems, ...chosen.problems].toSorted((a, b) => a.line - b.line),
    changes: changes.toSorted((a, b) => (a.userId < b.userId ? -1 : a.userId > b.userId ? 1 : 0)),
    edits: changing.map(editOf),
    notInFile: users.flatMap((user) =>
      inFile.has(user) ? [] : [{ user_id: user.id, name: user.mirror.joined }],
    ),
    notes: noteNoValues(table.rows, columns),
  };
}

/** The hash of the import, for "--expect". It changes with the rows, fields, values or bases of the edits that the import makes. */
export function hashOfImport(changes: readonly ImportChange[]): string {
  const rowOf = ({ userId, field, base, to, from, isGuess, unsure }: ImportChange) =>
    [
      userId,
      field,
      plain(base),
      plain(to),
      plain(from),
      isGuess,
      ...(unsure === undefined ? [] : [unsure]),
    ] as const;
  return createHash('sha256')
    .update(toJson(changes.map(rowOf)))
    .digest('hex')
    .slice(0, 12);
}
