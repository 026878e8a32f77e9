import { once } from 'node:events';
import { Writable } from 'node:stream';
import { MusterdError } from '../errors.ts';
import { type Format, readFormat } from '../files/format.ts';
import { writeWholeFile } from '../files/write-file.ts';
import { createRowWriter, type RowWriter } from '../files/write-rows.ts';
import { plural, printableLines } from '../model/in-words.ts';
import { exportable, type Exported, exportRows } from '../runs/export-rows.ts';
import type { Setup } from '../runs/open.ts';
import { type Context, type ExitCode, exitCode, type Stream } from './context.ts';
import { printLine } from './output.ts';
import { withMirror } from './setup.ts';

export interface ExportOptions {
  readonly format?: string;
  readonly output?: string;
}

function readWhat(text: string): Exported {
  const what = exportable.find((one) => one === text);
  if (what !== undefined) return what;
  throw new MusterdError('usage', `"${text}" cannot be exported`, {
    hint: `Give one of ${exportable.join(', ')}.`,
  });
}

type Write = (text: string) => Promise<void>;

/** @returns how many rows were written */
async function writeRows(
  setup: Setup,
  what: Exported,
  { format, signal }: { readonly format: Format; readonly signal: AbortSignal },
  write: Write,
): Promise<number> {
  let writer: RowWriter | undefined;
  const begin = async (columns: readonly string[]) => {
    writer = createRowWriter(format, columns);
    await write(writer.begin);
  };
  const count = await exportRows(
    setup,
    what,
    { begin, take: (page) => write(writer?.rows(page) ?? '') },
    signal,
  );
  await write(writer?.end() ?? '');
  return count;
}

/** Waits for who reads, so that nothing piles up here. Whoever has gone away reads no more. */
function createStreamWrite(out: Stream, signal: AbortSignal): Write {
  // Names are written by others, and a terminal obeys what some of them hold.
  const show = out.isTTY === true ? printableLines : (text: string) => text;
  return async (text) => {
    if (out.write(show(text)) !== false || !(out instanceof Writable)) return;
    if (!out.destroyed)
      await once(out, 'drain', { signal }).catch((error: unknown) => {
        signal.throwIfAborted();
        if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error;
      });
  };
}

/** What the mirror holds, as a file. */
export async function exportCommand(
  context: Context,
  options: ExportOptions,
  what: string,
): Promise<ExitCode> {
  const { out, err, signal } = context;
  const { output: file } = options;
  const exported = readWhat(what);
  const format = readFormat(options.format, file);
  return withMirror(context, async (setup) => {
    const writeTo = (write: Write) => writeRows(setup, exported, { format, signal }, write);
    if (file === undefined || file === '-') await writeTo(createStreamWrite(out, signal));
    else {
      const count = await writeWholeFile(file, writeTo);
      printLine(err, `${plural(count, 'row')} written to ${file}`);
    }
    return exitCode.ok;
  });
}
