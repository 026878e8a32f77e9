import { columnOf, showValue } from '../model/field-values.ts';
import { type NamePair, samePair } from '../model/name.ts';
import { readField } from '../runs/named-user.ts';
import { readTake } from '../runs/read-take.ts';
import { type Resolved, resolve } from '../runs/resolve-field.ts';
import { confirmationOf } from './confirmation.ts';
import { type Context, type ExitCode, exitCode } from './context.ts';
import { leaseWait } from './lease-wait.ts';
import { printJson, printLine } from './output.ts';
import { withMirror } from './setup.ts';

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
