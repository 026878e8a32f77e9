/** Reads the forms that decide. Anything that a form of ours would not have sent is refused. */
import { MusterdError } from '../../errors.ts';
import { type Field, fieldColumns } from '../../model/fields.ts';
import { type Id, maxId } from '../../model/id.ts';
import { perList } from '../../model/waiting-page.ts';
import { type Verb, verbs } from '../render/decide.ts';
import { readValue } from '../../runs/read-take.ts';
import type { WinningValue } from '../../runs/resolve-field.ts';

/** The longest text that a person may write. */
const longestText = 1_000;

export interface RowOfForm {
  readonly userId: Id;
  readonly field: string;
  /** The key of the row in the form, with what was shown. */
  readonly key: string;
}

export interface DecisionForm {
  readonly verb: Verb;
  /** The rows that are ticked; `null` if the form has no ticks and means all that waits under its name. */
  readonly rows: readonly RowOfForm[] | null;
  /** The number of rows that were shown. */
  readonly all: number;
  readonly state: string;
  /** The address of the list. */
  readonly back: string;
}

const unreadable = (what: string) =>
  new MusterdError('usage', `The form cannot be read: ${what}`, {
    hint: 'Go back, load the page again, and try once more.',
  });

/** @throws MusterdError `usage` for fields that no form of the page has */
export function requireReadable(form: URLSearchParams): void {
  for (const [name, value] of form) {
    if (value.includes('\0')) throw unreadable('a text has a NUL character in it');
    if (value.length > longestText) throw unreadable(`"${name.slice(0, 20)}" is too long`);
  }
}

function only(form: URLSearchParams, name: string): string {
  const [value = '', ...others] = form.getAll(name);
  if (others.length > 0) throw unreadable(`"${name}" stands in it twice`);
  return value;
}

const readNumber = (text: string): Id | undefined => {
  const value = /^\d{1,19}$/.test(text) ? BigInt(text) : maxId + 1n;
  return value <= maxId ? value : undefined;
};

const keyOfRow = new RegExp(`^(?<id>\\d{1,19})\\.(?<field>${fieldColumns.join('|')})\\.[0-9a-f]{12}$`);

function readRows(keys: readonly string[]): readonly RowOfForm[] {
  if (keys.length > perList) throw unreadable('it has more rows than a page shows');
  return [...new Set(keys)].map((key) => {
    const { id = '', field = '' } = keyOfRow.exec(key)?.groups ?? {};
    const userId = readNumber(id);
    if (userId === undefined) throw unreadable('what it names is not a row of a list');
    return { userId, field, key };
  });
}

/** @throws MusterdError `usage` */
export function readDecisionForm(form: URLSearchParams): DecisionForm {
  const withdrawn = form.getAll('withdraw');
  const verbWord = withdrawn.length > 0 ? 'Withdraw' : only(form, 'verb');
  const verb = verbs.find((one) => one === verbWord);
  if (verb === undefined) throw unreadable('it does not say what is to be done');
  const all = only(form, 'rows');
  if (!/^\d{1,9}$/.test(all)) throw unreadable('it does not say how many rows were shown');
  const keys = withdrawn.length > 0 ? withdrawn : form.getAll('row');
  const rows = form.get('ticks') === null ? null : readRows(keys);
  if (verb === 'value' && rows?.length !== 1) throw unreadable('another value is for one field');
  const back = form.get('back') ?? '';
  return { verb, rows, all: Number(all), state: form.get('state') ?? '', back };
}

/** @throws MusterdError `usage` for a value that the field cannot have */
export const readTyped = (
  form: URLSearchParams,
  verb: 'mirror' | 'service' | 'value',
  field: Field,
): WinningValue => (verb === 'value' ? { value: readValue(field, only(form, 'value')) } : verb);

/** @throws MusterdError `usage` if there is none */
export function readReason(form: URLSearchParams): string {
  const why = only(form, 'why');
  if (why.trim() === '') throw new MusterdError('usage', 'A reason is missing');
  return why;
}
