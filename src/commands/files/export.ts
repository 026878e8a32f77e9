import { MusterdError } from '../../errors.ts';
import { type Format, readFormatToWrite } from '../../files/format.ts';
import { writeWholeFile } from '../../files/write-file.ts';
import { createRowWriter, type RowWriter } from '../../files/write-rows.ts';
import { plural } from '../../model/in-words.ts';
import { momentMs } from '../../model/moment.ts';
import { exportable, exportRows, isBeforeRecord, isKnownAsOf } from '../../runs/files/export-rows.ts';
import type { Setup } from '../../runs/open.ts';
import { readWord } from '../add-commands.ts';
import { type Context, type ExitCode, exitCode } from '../context.ts';
import { createBulkWriter } from '../stream-write.ts';
import { printLine } from '../output.ts';
import { withMirror } from '../setup.ts';

type Write = (text: string) => Promise<void>;

export interface ExportOptions {
  readonly format?: string;
  readonly output?: string;
  readonly asOf?: string;
}

/** Returns the time as text, because Postgres reads microseconds, which a JavaScript date would lose. */
function readAsOf(text: string | undefined, what: string): string | undefined {
  if (text === undefined) return undefined;
  if (!isKnownAsOf(what))
    throw new MusterdError('usage', `--as-of cannot be used with ${what}`, {
      hint: `Past values are known only of ${exportable.filter(isKnownAsOf).join(' and ')}.`,
    });
  if (Number.isNaN(momentMs(text)))
    throw new MusterdError('usage', `"${text}" is not a time`, {
      hint: 'Write it like 2026-03-01 or 2026-03-01T08:00:00Z; without a zone, it is UTC.',
    });
  return /[Zz]|[+-]\d\d:?\d\d$/.test(text.slice(10)) ? text : `${text}Z`;
}

/** @returns how many rows were written */
async function writeRows(
  setup: Setup,
  what: string,
  how: { readonly format: Format; readonly signal: AbortSignal; readonly asOf: string | undefined },
  write: Write,
): Promise<number> {
  let writer: RowWriter | undefined;
  const begin = async (columns: readonly string[]) => {
    writer = createRowWriter(how.format, columns);
    await write(writer.begin);
  };
  const count = await exportRows(
    setup,
    what,
    { begin, take: (page) => write(writer?.rows(page) ?? '') },
    how.signal,
    how.asOf,
  );
  await write(writer?.end() ?? '');
  return count;
}

/** Writes rows of the mirror into a file. */
export async function exportCommand(
  context: Context,
  options: ExportOptions,
  what: string,
): Promise<ExitCode> {
  const { out, err, signal } = context;
  const { output: file } = options;
  const exported = readWord('export', what, exportable);
  const format = readFormatToWrite(options.format, file);
  const asOf = readAsOf(options.asOf, exported);
  return withMirror(context, async (setup) => {
    const writeTo = (write: Write) => writeRows(setup, exported, { format, signal, asOf }, write);
    if (file === undefined || file === '-') {
      const { write, flush } = createBulkWriter(out, signal);
      await writeTo(async (text) => void (await write(text)));
      await flush();
    } else {
      const count = await writeWholeFile(file, writeTo);
      printLine(err, `${plural(count, 'row')} written to ${file}`);
    }
    if (asOf !== undefined && exported === 'users' && (await isBeforeRecord(setup.mirror.db, asOf)))
      printLine(
        err,
        'The roster was not recorded at that time: only users who have not changed since then are exported.',
      );
    return exitCode.ok;
  });
}
