/** The steps of all direct commands: show what will be sent, ask for confirmation, send it once, show the outcome. */
import { MusterdError } from '../../errors.ts';
import { printable } from '../../model/in-words.ts';
import { toJson } from '../../model/json.ts';
import { explainRefusal } from '../../runs/call/call-service.ts';
import {
  type DirectCall,
  type DirectCaller,
  type DirectResult,
  sendOnce,
  withDirectCaller,
} from '../../runs/call/send-once.ts';
import { isObject, type JsonObject } from '../../service/json-object.ts';
import { askAtTerminal, confirmationOf } from '../confirmation.ts';
import { type Context, type ExitCode, exitCode } from '../context.ts';
import { printJson, printLine } from '../output.ts';
import { readSettings } from '../setup.ts';

export interface SendingOptions {
  readonly as?: string;
  readonly yes?: boolean;
}

/** Opens the service, and the mirror too if one is configured. */
export async function withCaller(
  context: Context,
  options: SendingOptions,
  work: (caller: DirectCaller) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { actor } = confirmationOf(context, options);
  return withDirectCaller({ ...readSettings(context), signal: context.signal, actor }, work);
}

/** The lines of each field of a body, by the field's name: a list has one line for each entry. */
export function linesOfFields(body: JsonObject, prefix = ''): ReadonlyMap<string, readonly string[]> {
  const lineOf = (value: unknown) => (typeof value === 'string' ? value : toJson(value));
  return new Map(
    Object.entries(body).flatMap(([key, value]) => {
      const name = `${prefix}${key}`;
      if (value === undefined || value === null || value === '') return [];
      if (isObject(value)) return [...linesOfFields(value, `${name}.`)];
      return [[name, Array.isArray(value) ? value.map(lineOf) : lineOf(value).split(/\r?\n/)]];
    }),
  );
}

/** Replaces each character that a terminal would hide with its code point, written as `\u{…}`. */
const visible = (line: string) =>
  line.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]| +$/gu, (hidden) =>
    Array.from(hidden, (one) => `\\u{${one.codePointAt(0)?.toString(16)}}`).join(''),
  );

/** @param notes explanations of ids and times, by the name of the field */
export function printFields(
  stream: Context['err'],
  fields: ReadonlyMap<string, readonly string[]>,
  notes: Readonly<Record<string, string>> = {},
): void {
  for (const [name, lines] of fields) {
    const note = notes[name] ? ` (${notes[name]})` : '';
    for (const [at, line] of lines.entries())
      printLine(stream, visible(`${(at === 0 ? name : '').padEnd(21)} ${line}${note}`));
  }
}

interface Preview {
  /** For example `POST /v1/schedule`. */
  readonly operation: string;
  readonly body: JsonObject;
  readonly notes?: Readonly<Record<string, string>>;
}

/**
 * Shows all that will be sent, and asks for confirmation unless --yes is given.
 * @returns false if the person declines
 * @throws MusterdError `usage` if --yes is required, because the command has no terminal to ask on
 */
export async function confirmSend(
  context: Context,
  { yes = false }: SendingOptions,
  { operation, body, notes }: Preview,
): Promise<boolean> {
  printLine(context.err, operation);
  printFields(context.err, linesOfFields(body), notes);
  if (yes) return true;
  const ask = askAtTerminal(context);
  if (ask === undefined) {
    const why = context.json ? 'with --json, musterd cannot ask first' : 'stdin or stderr is not a terminal';
    throw new MusterdError('usage', `Nothing was sent: ${why}`, {
      hint: 'To send it, add --yes. It is sent at once, without an approval.',
    });
  }
  const isAgreed = await ask('Send it now, without an approval?');
  if (!isAgreed) printLine(context.err, 'Nothing was sent.');
  return isAgreed;
}

interface SentWords {
  readonly sent: object;
  readonly id?: bigint | undefined;
  readonly localId?: string | undefined;
  /** The action that was carried out, such as `Scheduled`. It is printed before the ids. */
  readonly words: string;
}

/** Shows the outcome of a call. @throws the error of a call that had no effect */
export function showOutcome(
  context: Context,
  { outcome, requestId, error, unrecorded }: Omit<DirectResult<unknown>, 'answer'>,
  { sent, id, localId, words }: SentWords,
): ExitCode {
  if (unrecorded !== null)
    printLine(
      context.err,
      printable(`Warning: the ledger has "unknown"; the outcome could not be recorded: ${unrecorded}`),
    );
  if (outcome === 'refused' || outcome === 'unsent') {
    printLine(
      context.err,
      outcome === 'refused' ? 'refused: the service did nothing' : 'unsent: nothing left this machine',
    );
    throw explainRefusal(error);
  }
  const isUnknown = outcome === 'unknown';
  const local = localId === undefined ? {} : { local_id: localId };
  if (context.json) printJson(context, { outcome, id: id ?? null, ...local, request_id: requestId, sent });
  const ids = [
    ...(id === undefined ? [] : [`id ${id}`]),
    ...(localId === undefined ? [] : [`local_id ${localId}`]),
    requestId === null ? 'no X-Request-Id' : `X-Request-Id ${requestId}`,
  ].join(', ');
  if (isUnknown) {
    printLine(context.err, 'unknown: check in the app before you send it again');
    if (error instanceof Error) printLine(context.err, printable(`  ${error.message}`));
    printLine(context.err, printable(`  ${ids}`));
  } else if (!context.json) printLine(context.out, printable(`${words}: ${ids}`));
  return isUnknown ? exitCode.unknown : exitCode.ok;
}

interface ConfirmedCall<R>
  extends Preview,
    Pick<DirectCall<R>, 'subject' | 'before' | 'send'>,
    Omit<SentWords, 'sent'> {
  /** Reads the message again after the person has confirmed, and throws if it has changed meanwhile. */
  readonly recheck?: () => Promise<void>;
}

/** Shows what will be sent, asks for confirmation, sends it once, and shows the outcome. */
export async function sendConfirmed<R extends { readonly requestId: string | null; readonly id?: bigint }>(
  context: Context,
  options: SendingOptions,
  caller: DirectCaller,
  { subject, before, send, recheck, ...call }: ConfirmedCall<R>,
): Promise<ExitCode> {
  if (!(await confirmSend(context, options, call))) return exitCode.ok;
  await recheck?.();
  const { body, id } = call;
  const sent = id === undefined ? body : { id, ...body };
  const result = await sendOnce(caller, { subject, sent, before, send });
  return showOutcome(context, result, { ...call, sent: body, id: id ?? result.answer?.id });
}
