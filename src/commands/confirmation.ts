/** Asks a person to confirm what a command is about to do, and reads the reason and the name that they give. */
import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import type { Config } from '../config/config.ts';
import { MusterdError } from '../errors.ts';
import type { Confirmation } from '../model/waiting.ts';
import type { Context } from './context.ts';
import { printLine } from './output.ts';

/** Asks a person a question that is answered by yes or no. @returns true for yes */
export type AskPerson = (question: string) => Promise<boolean>;

/** Asks on a terminal. @throws MusterdError `stopped` if the process is asked to stop meanwhile */
async function isConfirmed(
  { err, signal, sign }: Pick<Context, 'err' | 'signal' | 'sign'>,
  question: string,
): Promise<boolean> {
  sign?.close();
  const asking = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answering = asking.question(`${question} [y/N] `, { signal });
    const answer = await Promise.race([answering, once(asking, 'close', { signal }).then(() => '')]);
    return /^y(es)?$/i.test(answer.trim());
  } catch (error) {
    signal.throwIfAborted();
    // While readline asks, Ctrl-C arrives as a key and not as a signal.
    if (error instanceof Error && error.name === 'AbortError')
      throw new MusterdError('stopped', 'Stopped on request', { cause: error });
    throw error;
  } finally {
    asking.close();
    printLine(err, '');
  }
}

/** @returns a function that asks on the terminal; `undefined` with --json, or if stdin or stderr is not a terminal */
export const askAtTerminal = (
  context: Pick<Context, 'err' | 'json' | 'signal' | 'sign'>,
): AskPerson | undefined =>
  !context.json && context.err.isTTY === true && process.stdin.isTTY === true
    ? (question) => isConfirmed(context, question)
    : undefined;

/** The most characters of a reason that the mirror stores. */
export const longestReason = 1_000;

/** @throws MusterdError `usage` if the reason is too long to be stored */
export function reasonOf(reason: string | undefined): string | undefined {
  const why = reason?.trim() || undefined;
  if (why === undefined || why.length <= longestReason) return why;
  throw new MusterdError(
    'usage',
    `--reason has ${why.length} characters; at most ${longestReason} are stored`,
    {
      hint: 'Shorten it, or refer to a longer text elsewhere.',
    },
  );
}

export const confirmationOf = (
  { env }: Pick<Context, 'env'>,
  options: { readonly as?: string; readonly reason?: string },
): Confirmation => ({
  actor: (options.as ?? env['MUSTERD_ACTOR'])?.trim() || undefined,
  why: reasonOf(options.reason),
});

/** With push.fourEyes, prints that a reason is not an approval, because another person must approve the edits. */
export function noteFourEyes(
  { err }: Pick<Context, 'err'>,
  { push }: Pick<Config, 'push'>,
  { why }: Confirmation,
): void {
  if (push.fourEyes && why !== undefined)
    printLine(
      err,
      'The reason approves nothing: another person must approve what the limits hold (push.fourEyes)',
    );
}
