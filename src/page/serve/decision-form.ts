/** Reads the forms of the page, and refuses everything that its own forms cannot send. */
import { MusterdError } from '../../errors.ts';
import { fieldColumns } from '../../model/fields.ts';
import { type Id, maxId } from '../../model/id.ts';
import { perList } from '../../model/waiting-page.ts';
import { ofBatch, type Verb, verbs } from '../render/decide-form.ts';

/** The longest text in a form. Only the return address can be longer, because it contains the keys of ticked rows. */
const longestText = 1_000;

export interface RowOfForm {
  readonly userId: Id;
  readonly field: string;
  readonly key: string;
}

export interface DecisionForm {
  readonly verb: Verb;
  readonly batch: string | null;
  /** The rows that are ticked; `null` for missing rows of a listing, which have no ticks. */
  readonly rows: readonly RowOfForm[] | null;
  readonly all: number;
}

export const unreadable = (what: string): MusterdError =>
  new MusterdError('usage', `The form cannot be read: ${what}`);

/** @throws MusterdError `usage` if a value has a NUL character or is too long */
export function requireReadable(form: URLSearchParams): void {
  for (const [name, value] of form) {
    if (value.includes('\0')) throw unreadable('a text contains a NUL character');
    if (value.length > longestText && name !== 'back') throw unreadable(`"${name.slice(0, 20)}" is too long`);
  }
}

export function only(form: URLSearchParams, name: string): string {
  const [value = '', ...others] = form.getAll(name);
  if (others.length > 0) throw unreadable(`"${name}" is in it twice`);
  return value;
}

const keyOfRow = new RegExp(`^(?<id>\\d{1,19})\\.(?<field>${fieldColumns.join('|')})\\.[0-9a-f]{12}$`);

function readRows(keys: readonly string[]): readonly RowOfForm[] {
  if (keys.length > perList) throw unreadable('it has more rows than a page shows');
  return [...new Set(keys)].map((key) => {
    const { id, field = '' } = keyOfRow.exec(key)?.groups ?? {};
    const userId = id === undefined ? maxId + 1n : BigInt(id);
    if (userId > maxId) throw unreadable('it names a row that no list has');
    return { userId, field, key };
  });
}

/** @throws MusterdError `usage` */
export function readDecisionForm(form: URLSearchParams): DecisionForm {
  const withdrawn = form.getAll('withdraw');
  const word = withdrawn.length > 0 ? 'withdraw' : only(form, 'verb');
  const known = (Object.keys(verbs) as Verb[]).find((one) => one === word);
  if (known === undefined) throw unreadable('it names no action, such as approve');
  const all = only(form, 'rows');
  if (!/^\d{1,9}$/.test(all)) throw unreadable('it lacks the number of shown rows');
  const batch = only(form, 'batch') || null;
  // An edit without a batch is withdrawn by letting the service's value win.
  const verb = known === 'withdraw' && batch === null ? 'service' : known;
  if (ofBatch.has(verb) && batch === null) throw unreadable('it is not in this list');
  const keys = withdrawn.length > 0 ? withdrawn : form.getAll('row');
  const rows = form.get('ticks') === null ? null : readRows(keys);
  if (rows === null && (batch === null || verb !== 'approve')) throw unreadable('it is not in this list');
  if (verb === 'value' && rows?.length !== 1) throw unreadable('another value needs exactly one field');
  return { verb, batch, rows, all: Number(all) };
}

/** @throws MusterdError `usage` if the reason is missing */
export function readReason(form: URLSearchParams): string {
  const why = only(form, 'why');
  if (why.trim() === '') throw new MusterdError('usage', 'A reason is missing');
  return why;
}
