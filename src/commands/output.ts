/** Output of data: words, coloured on a terminal, or JSON on request. */
import { styleText } from 'node:util';
import { printable } from '../model/in-words.ts';
import { toJson } from '../model/json.ts';
import { escapeUnprintable } from '../service/printable.ts';
import type { Context, Stream } from './context.ts';
import { type ErrorCode, MusterdError } from '../errors.ts';

/**
 * Other people's text in Markdown: as code, in which no link, image or mention works. A bar would end the cell of a
 * table, and after a backslash an escaped bar would, too.
 */
export function inMarkdown(text: string): string {
  const safe = printable(text).replaceAll('|', '¦').trim();
  if (safe === '') return '';
  const longest = Math.max(0, ...[...safe.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return longest === 0 ? `${fence}${safe}${fence}` : `${fence} ${safe} ${fence}`;
}

type Style = 'bold' | 'dim' | 'green' | 'yellow' | 'red' | 'cyan';

/** Text on a terminal is coloured or bold, unless NO_COLOR (https://no-color.org) is set. Elsewhere it is plain. */
export function paint({ out, env }: Pick<Context, 'out' | 'env'>, style: Style, text: string): string {
  if (out.isTTY !== true || (env['NO_COLOR'] ?? '') !== '') return text;
  return styleText(style, text, { validateStream: false });
}

export function printJson({ out }: Pick<Context, 'out'>, value: unknown): void {
  // It is made printable line by line, because line breaks are the only control characters that mean something to JSON.
  const lines = toJson(value, 2).split('\n');
  out.write(`${lines.map(escapeUnprintable).join('\n')}\n`);
}

export function printLine(stream: Stream, text: string): void {
  stream.write(`${text}\n`);
}

/** A line of a sheet: what it is, and its value. */
export function printField({ out }: Pick<Context, 'out'>, what: string, value: string): void {
  printLine(out, `${what.padEnd(18)}${printable(value)}`);
}

/** A progress bar only asks whether the stream is a terminal, and writes to it. */
export const asTerminal = (stream: Stream): NodeJS.WritableStream => stream as NodeJS.WriteStream;

/** An error as scripts read it under `--json`. */
interface ErrorInJson {
  /** `unexpected` is an error that nobody foresaw. */
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
