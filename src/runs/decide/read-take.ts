/** Reads what a person typed after `--take`: a value for one field, or the side whose value wins. */
import { stored } from '../../model/canonical.ts';
import { type Field, type FieldValue, isText, single } from '../../model/fields.ts';
import { MusterdError } from '../../errors.ts';
import { type Id, maxId } from '../../model/id.ts';
import { printable } from '../../model/in-words.ts';
import { splitName } from '../../model/name.ts';
import type { SeenField, WinningValue } from './resolve-field.ts';

/** @throws MusterdError `usage` for an impossible value. All other checks are made by the trigger on the mirror. */
export function readValue(field: Field, text: string): FieldValue {
  if (field === 'name') {
    const [first = '', ...last] = text.split('|');
    return last.length === 0 ? splitName(text) : { first: first.trim(), last: last.join('|').trim() };
  }
  if (isText(field)) return stored(text.trim());
  const value = /^\d+$/.test(text) ? BigInt(text) : maxId + 1n;
  if (value > maxId) throw new MusterdError('usage', `"${text}" is not a ${single(field).noun} id`);
  return value;
}

/** @throws MusterdError `usage`, like `readValue` */
export function readTake(field: Field, text: string | undefined): WinningValue {
  if (text === undefined) throw new MusterdError('usage', 'Missing --take: mirror, service, or a value');
  return text === 'mirror' || text === 'service' ? text : { value: readValue(field, text) };
}

/** The command-line options that state what the person saw of a held field. */
export interface SeenOptions {
  /** The number of the edit. */
  readonly edit?: string;
  /** The mirror's value. */
  readonly if?: string;
  /** The service's value, in addition to `edit` or `if`. */
  readonly ifService?: string;
}

/** Reads a value as the service shows it, with a joined name. @throws MusterdError `usage`, like `readValue` */
export function readShown(field: Field, text: string): string | Id | null {
  if (field === 'name') return text;
  return text.trim() === '' ? null : (readValue(field, text.trim()) as string | Id | null);
}

/** @throws MusterdError `usage`, like `readValue` */
export function readSeen(field: Field, { edit, if: value, ifService }: SeenOptions): SeenField | undefined {
  if (edit !== undefined && value !== undefined)
    throw new MusterdError('usage', '--edit and --if both name the value that you saw: give one of them');
  const service = ifService === undefined ? undefined : readShown(field, ifService);
  if (value !== undefined) {
    const isNothing = field !== 'name' && value.trim() === '';
    return { kind: 'value', value: isNothing ? null : readValue(field, value), service };
  }
  if (edit === undefined) {
    if (service === undefined) return undefined;
    throw new MusterdError('usage', '--if-service also needs --edit or --if');
  }
  const id = /^\d{1,19}$/.test(edit) ? BigInt(edit) : maxId + 1n;
  if (id <= maxId) return { kind: 'edit', edit: id, service };
  throw new MusterdError('usage', `--edit "${printable(edit)}" is not the number of an edit`, {
    hint: 'Run "musterd held" to see the number.',
  });
}
