import { stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { MusterdError } from '../errors.ts';
import { writeWholeFile } from '../files/write-file.ts';
import { plural } from '../model/in-words.ts';
import { dumpMirror } from '../runs/dump-mirror.ts';
import { type Context, type ExitCode, exitCode } from './context.ts';
import { printJson, printLine } from './output.ts';
import { createLateProgress } from './progress.ts';
import { withMirrorOf } from './setup.ts';

/** Writes the whole mirror into a file, as of one moment. */
export async function dumpCommand(
  context: Context,
  { output: file }: { readonly output?: string },
): Promise<ExitCode> {
  if (file === undefined)
    throw new MusterdError('usage', 'No file to write to', {
      hint: 'Give one: musterd dump -o musterd.sql.gz',
    });
  return withMirrorOf(context, async ({ mirror }) => {
    const { signal, version } = context;
    const progress = createLateProgress(context, 'rows written');
    let rows = 0;
    const onRows = (count: number) => {
      rows = count;
      progress.show(count);
    };
    const parts = Readable.from(await dumpMirror(mirror, version, onRows), { objectMode: false });
    const write = (take: (chunk: Buffer) => Promise<void>) =>
      pipeline(
        parts,
        createGzip(),
        async (chunks: AsyncIterable<Buffer>) => {
          for await (const chunk of chunks) await take(chunk);
        },
        { signal },
      );
    try {
      await writeWholeFile(file, write, { mode: 0o600, isNew: false });
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      progress.close();
    }
    const { size } = await stat(file);
    if (context.json) printJson(context, { file, rows, bytes: size });
    else printLine(context.out, `${plural(rows, 'row')} written to ${file}, ${size} bytes`);
    return exitCode.ok;
  });
}
