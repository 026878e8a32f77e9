/** Reads the forms that decide. Whatever a browser of ours would not have sent is refused. */
import { MusterdError } from '../errors.ts';
import { type Id, maxId } from '../model/id.ts';
import type { Field } from '../model/user.ts';
import { readValue } from '../runs/read-take.ts';
import type { Take } from '../runs/resolve-field.ts';
import type { Verb } from '../page/decide.ts';

/** As long as a person may write, and as many rows as one page has. */
const longestText = 1_000;
const mostEdits = 2_000;

export interface BatchForm {
  readonly verb: Verb;
  /** Those that have a tick; `null`: the form has no ticks, and the whole batch is meant. */
  readonly edits: readonly Id[] | null;
  /** As many rows of it were shown. */
  readonly rows: number;
}

export interface FieldForm {
  /** The word: a value is typed only when it is asked for once more. */
  readonly take: 'mirror' | 'service' | 'value';
  /** What was shown of the field. */
  readonly digest: string;
}

const unreadable = (what: string) =>
  new MusterdError('usage', `The form cannot be read: ${what}`, {
    hint: 'Go back, load the page again, and try once more.',
  });

/** @throws MusterdError `usage` for what no form of the page has */
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

const readWhole = (text: string): Id | undefined => {
  const value = /^\d{1,19}$/.test(text) ? BigInt(text) : maxId + 1n;
  return value <= maxId ? value : undefined;
};

function readEdits(form: URLSearchParams): readonly Id[] {
  const edits = form.getAll('edit').map(readWhole);
  if (edits.length > mostEdits) throw unreadable('it has more edits than a page shows');
  if (edits.includes(undefined)) throw unreadable('what it names is not an edit');
  return [...new Set(edits.filter((edit) => edit !== undefined))];
}

/** @throws MusterdError `usage` */
export function readBatchForm(form: URLSearchParams): BatchForm {
  const verb = only(form, 'verb');
  if (verb !== 'Approve' && verb !== 'Reject') throw unreadable('it neither approves nor rejects');
  const rows = only(form, 'rows');
  if (!/^\d{1,9}$/.test(rows)) throw unreadable('it does not say how many rows were shown');
  return { verb, edits: form.get('ticks') === null ? null : readEdits(form), rows: Number(rows) };
}

/** @throws MusterdError `usage` */
export function readFieldForm(form: URLSearchParams): FieldForm {
  const take = only(form, 'take');
  if (take !== 'mirror' && take !== 'service' && take !== 'value')
    throw unreadable('it does not say which value is to be taken');
  const digest = only(form, 'digest');
  if (!/^[0-9a-f]{12}$/.test(digest)) throw unreadable('it does not say what was shown');
  return { take, digest };
}

/** @throws MusterdError `usage` for a value that the field cannot have */
export const readTyped = (form: URLSearchParams, take: FieldForm['take'], field: Field): Take =>
  take === 'value' ? { value: readValue(field, only(form, 'value')) } : take;

/** @throws MusterdError `usage` without one */
export function readReason(form: URLSearchParams): string {
  const why = only(form, 'why');
  if (why.trim() === '') throw new MusterdError('usage', 'A reason is missing');
  return why;
}

/** Of the path. @throws MusterdError `usage` */
export function readUserId(text: string): Id {
  const id = readWhole(text);
  if (id === undefined) throw unreadable('what it names is not a user');
  return id;
}
