/** Prints data: as text, which is colored on a terminal, or as JSON on request. */
import { styleText } from 'node:util';
import { printable } from '../model/in-words.ts';
import { toJson } from '../model/json.ts';
import { escapeUnprintable } from '../service/printable.ts';
import type { Context, Stream } from './context.ts';
import { type ErrorCode, MusterdError } from '../errors.ts';

/**
 * Formats other people's text as Markdown code, in which no link, image or mention works. It replaces each `|`, which
 * would end the cell of a table. Escaping the `|` would not be safe, because the text can have a backslash before it.
 */
export function inMarkdown(text: string): string {
  const safe = printable(text).replaceAll('|', '¦').trim();
  if (safe === '') return '';
  const longest = Math.max(0, ...[...safe.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return longest === 0 ? `${fence}${safe}${fence}` : `${fence} ${safe} ${fence}`;
}

type Style = 'bold' | 'dim' | 'green' | 'yellow' | 'red' | 'cyan';

/** Text on a terminal is colored or bold, unless NO_COLOR (https://no-color.org) is set. Elsewhere it is plain. */
export function paint({ out, env }: Pick<Context, 'out' | 'env'>, style: Style, text: string): string {
  if (out.isTTY !== true || (env['NO_COLOR'] ?? '') !== '') return text;
  return styleText(style, text, { validateStream: false });
}

export function printJson({ out }: Pick<Context, 'out'>, value: unknown): void {
  // Escapes line by line, because the line breaks of the formatted JSON must stay as they are.
  out.write(`${toJson(value, 2).split('\n').map(escapeUnprintable).join('\n')}\n`);
}

export function printLine(stream: Stream, text: string): void {
  stream.write(`${text}\n`);
}

/** Prints one line: a label and its value. */
export function printField({ out }: Pick<Context, 'out'>, what: string, value: string): void {
  printLine(out, `${what.padEnd(18)}${printable(value)}`);
}

/** The cast is safe: a progress bar only checks whether the stream is a terminal, and writes to it. */
export const asTerminal = (stream: Stream): NodeJS.WritableStream => stream as NodeJS.WriteStream;

/** An error as it is printed with `--json`. */
interface ErrorInJson {
  /** `unexpected` if the error is not a `MusterdError`. */
  readonly code: ErrorCode | 'unexpected';
  readonly message: string;
  /** The next step, if there is one to name. */
  readonly hint: string | null;
}

export function errorInJson(error: unknown): ErrorInJson {
  if (error instanceof MusterdError)
    return { code: error.code, message: error.message, hint: error.hint ?? null };
  return {
    code: 'unexpected',
    message: error instanceof Error ? error.message : String(error),
    hint: null,
  };
}
