/** How data is shown: words, coloured on a terminal, or JSON on request. */
import { styleText } from 'node:util';
import { printable } from '../model/in-words.ts';
import { toJson } from '../model/json.ts';
import { escapeUnprintable } from '../service/printable.ts';
import type { Context, Stream } from './context.ts';
import { type ErrorCode, MusterdError } from '../errors.ts';

/**
 * Text of others in Markdown: as code, in which no link, image or mention comes to life. A bar would end the cell
 * of a table, and behind a backslash also one that is escaped.
 */
export function inMarkdown(text: string): string {
  const shown = printable(text).replaceAll('|', '¦').trim();
  if (shown === '') return '';
  const longest = Math.max(0, ...[...shown.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return longest === 0 ? `${fence}${shown}${fence}` : `${fence} ${shown} ${fence}`;
}

type Style = 'bold' | 'dim' | 'green' | 'yellow' | 'red' | 'cyan';

/** Text is coloured or bold on a terminal, unless NO_COLOR (https://no-color.org) is set. Elsewhere it is plain. */
export function paint({ out, env }: Pick<Context, 'out' | 'env'>, style: Style, text: string): string {
  if (out.isTTY !== true || (env['NO_COLOR'] ?? '') !== '') return text;
  return styleText(style, text, { validateStream: false });
}

export function printJson({ out }: Pick<Context, 'out'>, value: unknown): void {
  // Line by line: only what parts the lines is a control character that means something to JSON.
  const lines = toJson(value, 2).split('\n');
  out.write(`${lines.map(escapeUnprintable).join('\n')}\n`);
}

export function printLine(stream: Stream, text: string): void {
  stream.write(`${text}\n`);
}

/** For a bar, which only asks whether it is a terminal, and writes. */
export const asTerminal = (stream: Stream): NodeJS.WritableStream => stream as NodeJS.WriteStream;

/** What a script reads of an error, under `--json`. */
interface ErrorInJson {
  /** `unexpected`: an error that nobody foresaw. */
  readonly code: ErrorCode | 'unexpected';
  readonly message: string;
  /** The next step, where there is one to name. */
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
