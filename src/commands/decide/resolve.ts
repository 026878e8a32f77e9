import { MusterdError } from '../../errors.ts';
import { columnOf } from '../../model/fields.ts';
import { showValue } from '../../model/field-values.ts';
import { showTime } from '../../model/zone-time.ts';
import { printable } from '../../model/in-words.ts';
import { type NamePair, samePair } from '../../model/name.ts';
import { type HeldNow, readHeldNow } from '../../runs/decide/held-now.ts';
import { readField } from '../../runs/named-user.ts';
import type { Setup } from '../../runs/open.ts';
import { type BatchResolution, resolveBatch } from '../../runs/decide/resolve-batch.ts';
import { readSeen, readTake, type SeenOptions } from '../../runs/decide/read-take.ts';
import { sayValue } from '../../runs/decide/require-held.ts';
import { sayResolve } from '../../runs/decide/say-seen.ts';
import { loginAdds } from '../../runs/four-eyes.ts';
import {
  type ResolvedField,
  resolve,
  type SeenField,
  type WinningValue,
} from '../../runs/decide/resolve-field.ts';
import { numbered } from './approve.ts';
import { type AskPerson, askAtTerminal, confirmationOf, longestReason } from '../confirmation.ts';
import { type Context, type ExitCode, exitCode } from '../context.ts';
import { printJson, printLine } from '../output.ts';
import { printTable } from '../print-table.ts';
import { withMirror } from '../setup.ts';

export interface ResolveOptions extends SeenOptions {
  readonly batch?: string;
  readonly take?: string;
  readonly reason?: string;
  readonly as?: string;
}

/**
 * Decides about a held field. The next run carries the decision out.
 * @param ask shows the field and asks the person; `undefined` without a terminal: then the options must name the
 * values that the person has seen
 */
export async function resolveCommand(
  context: Context,
  options: ResolveOptions,
  userText: string | undefined,
  fieldName: string | undefined,
  ask: AskPerson | undefined = askAtTerminal(context),
): Promise<ExitCode> {
  if (options.batch !== undefined) return resolveTogether(context, options, options.batch, userText);
  if (userText === undefined || fieldName === undefined)
    throw new MusterdError('usage', 'Missing user and field: give both, or --batch', {
      hint: 'Run "musterd held" to list the held fields.',
    });
  const field = readField(fieldName);
  const take = readTake(field, options.take);
  const named = readSeen(field, options);
  const { actor, why = `musterd resolve --take ${options.take}`.slice(0, longestReason) } = confirmationOf(
    context,
    options,
  );
  return withMirror(context, async (setup) => {
    // A typed value is unambiguous. A side means another value after it changes, so the person has to see its value.
    const seen =
      named ??
      (typeof take === 'object' ? undefined : await look(context, setup, ask, [userText, take, field]));
    if (seen === 'no') {
      printLine(context.err, 'Nothing is decided.');
      return exitCode.ok;
    }
    const resolution = { field, take, seen, why, actor };
    const done = await resolve(setup, userText, resolution);
    const values = { mirror: done.mirror, base: done.base };
    const { id, waits, decision } = done;
    if (context.json)
      printJson(context, { decision_id: decision, user_id: id, field: columnOf(field), ...values, waits });
    else printLine(context.out, `${inWords(done)}${numbered(decision)}`);
    return waits ? exitCode.waiting : exitCode.ok;
  });
}

/** Decides all fields of a batch. Its hash identifies the values that the person has seen. */
async function resolveTogether(
  context: Context,
  options: ResolveOptions,
  batch: string,
  userText: string | undefined,
): Promise<ExitCode> {
  const { take, edit, if: value, ifService } = options;
  if (take !== 'mirror' && take !== 'service')
    throw new MusterdError('usage', '--batch needs --take mirror or --take service');
  if ([userText, edit, value, ifService].some((given) => given !== undefined))
    throw new MusterdError(
      'usage',
      '--batch decides the whole batch: leave out user, --edit, --if and --if-service',
    );
  const { actor, why = `musterd resolve --batch --take ${take}` } = confirmationOf(context, options);
  return withMirror(context, async (setup) => {
    const resolution: BatchResolution = { batch: batch.toLowerCase(), take, why, actor };
    const { resolved, decision } = await resolveBatch(setup, resolution);
    if (context.json)
      printJson(context, {
        decision_id: decision,
        batch: resolution.batch,
        resolved: resolved.map(({ id, field, mirror, base }) => ({
          user_id: id,
          field: columnOf(field),
          mirror,
          base,
        })),
      });
    else
      for (const row of resolved) printLine(context.out, printable(`${inWords(row)}${numbered(decision)}`));
    return exitCode.ok;
  });
}

const questions = {
  mirror: 'Replace the value of the service with the value of the mirror?',
  service: 'Replace the value of the mirror with the value of the service, and end this edit?',
} as const;

/** Shows the held field and asks the person. @throws MusterdError `usage` without a terminal */
async function look(
  context: Context,
  setup: Setup,
  ask: AskPerson | undefined,
  [userText, take, field]: readonly [string, Exclude<WinningValue, object>, HeldNow['field']],
): Promise<SeenField | 'no'> {
  const now = await readHeldNow(setup, userText, field);
  if (ask === undefined) throw unseen(now, take, await loginAdds(setup.mirror.db, context.env));
  show(context, now);
  return (await ask(questions[take])) ? { kind: 'shown', digest: now.digest } : 'no';
}

function unseen({ id, ...now }: HeldNow, take: string, as: string): MusterdError {
  const column = columnOf(now.field);
  return new MusterdError(
    'usage',
    `The ${column} of user ${id} is ${sayValue(now.mirror)} in the mirror and ${sayValue(now.service)} on the service. To decide about these values, give --edit or --if with the edit or the mirror's value, and --if-service with the service's value`,
    { hint: `Nothing was decided. To decide about these values: ${sayResolve(id, now, take)}${as}` },
  );
}

function show(context: Context, { id, name, field, detail, edited, edit, ...values }: HeldNow): void {
  printLine(context.out, printable(`The ${columnOf(field)} of ${id} ${name} is held: ${detail}`));
  printTable(
    context,
    ['base', 'mirror', 'service, as last seen', 'edited', 'by', 'edit'],
    [
      [
        showValue(values.base),
        showValue(values.mirror),
        showValue(values.service),
        showTime(edited?.editedAt),
        edited?.editedBy ?? (edit === undefined ? '' : 'nobody knows'),
        edit,
      ],
    ],
  );
}

function inWords({ id, field, name, mirror, base, waits, fourEyes }: ResolvedField): string {
  const what = `${columnOf(field)} of ${id} ${name}`;
  if (waits) {
    const whose = fourEyes ? 'another person approves it (push.fourEyes)' : 'a person approves it';
    return `${what}: ${showValue(mirror)} is not sent until ${whose}; run "musterd plan" to see its batch`;
  }
  const isSame = field === 'name' ? samePair(mirror as NamePair, base as NamePair) : mirror === base;
  return isSame
    ? `${what}: both sides have agreed on ${showValue(mirror)}`
    : `${what}: the next run sends ${showValue(mirror)} in place of ${showValue(base)}`;
}
