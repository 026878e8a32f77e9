import { MusterdError } from '../errors.ts';
import { columnOf, showValue } from '../model/field-values.ts';
import { maxId } from '../model/id.ts';
import { type NamePair, samePair, splitName } from '../model/name.ts';
import type { Field } from '../model/user.ts';
import { readField } from '../runs/named-user.ts';
import { type Resolved, resolve, type Take } from '../runs/resolve-field.ts';
import { confirmationOf } from './confirmation.ts';
import { type Context, type ExitCode, exitCode } from './context.ts';
import { leaseWait } from './lease-wait.ts';
import { printJson, printLine } from './output.ts';
import { withMirror } from './setup.ts';

/** @throws MusterdError `usage` for what cannot be a value of the field; the rest the trigger on the mirror judges */
export function readTake(field: Field, text: string | undefined): Take {
  if (text === undefined) throw new MusterdError('usage', '--take is missing: mirror, service, or a value');
  if (text === 'mirror' || text === 'service') return text;
  switch (field) {
    case 'name': {
      const [first = '', last, ...more] = text.split('|').map((half) => half.trim());
      if (more.length > 0) throw new MusterdError('usage', `"${text}" has more than one bar`);
      return { value: last === undefined ? splitName(text) : { first, last } };
    }
    case 'roleId': {
      const value = /^\d+$/.test(text) ? BigInt(text) : maxId + 1n;
      if (value > maxId) throw new MusterdError('usage', `"${text}" is not a role id`);
      return { value };
    }
    case 'email':
    case 'phone':
      return { value: text.trim() === '' ? null : text.trim() };
    default:
      return field satisfies never;
  }
}

/** Decides a held field; the next run carries out what follows from it. */
export async function resolveCommand(
  context: Context,
  options: { readonly take?: string; readonly reason?: string; readonly as?: string },
  who: string,
  fieldName: string,
): Promise<ExitCode> {
  const field = readField(fieldName);
  const take = readTake(field, options.take);
  const { actor, why = `musterd resolve --take ${options.take}` } = confirmationOf(context, options);
  return withMirror(context, async (setup) => {
    const done = await resolve(setup, leaseWait(context, setup.config), who, { field, take, why, actor });
    const values = { mirror: done.mirror, base: done.base };
    const { id, waits } = done;
    if (context.json) printJson(context, { user_id: id, field: columnOf(field), ...values, waits });
    else printLine(context.out, inWords(done));
    return waits ? exitCode.waiting : exitCode.ok;
  });
}

function inWords({ id, field, name, mirror, base, waits }: Resolved): string {
  const what = `${columnOf(field)} of ${id} ${name}`;
  if (waits)
    return `${what}: ${showValue(mirror)} is not sent before somebody else agrees to it (push.fourEyes); "musterd plan" shows its batch`;
  const isSame = field === 'name' ? samePair(mirror as NamePair, base as NamePair) : mirror === base;
  return isSame
    ? `${what}: both sides have agreed on ${showValue(mirror)}`
    : `${what}: the next run sends ${showValue(mirror)} in place of ${showValue(base)}`;
}
