import { createReadStream } from 'node:fs';
import { access, constants } from 'node:fs/promises';
import { createGunzip } from 'node:zlib';
import { MusterdError } from '../errors.ts';
import { plural, printable } from '../model/in-words.ts';
import { adviceOn, placeInWords, sendBlockOf } from '../model/place.ts';
import { restoreMirror } from '../runs/dump-mirror.ts';
import { placeInJson } from './adopt.ts';
import { type Context, type ExitCode, exitCode } from './context.ts';
import { printJson, printLine } from './output.ts';
import { createLateProgress } from './progress.ts';
import { withMirrorOf } from './setup.ts';

/** Unpacks a packed file, and passes on the bytes of any other. */
async function* open(file: string, signal: AbortSignal): AsyncGenerator<Buffer> {
  const bytes = createReadStream(file, { signal });
  const gunzip = createGunzip();
  bytes.on('error', (error) => gunzip.destroy(error));
  yield* bytes.pipe(gunzip) as AsyncIterable<Buffer>;
}

/** Loads a dump into an empty database. */
export async function restoreCommand(context: Context, file: string): Promise<ExitCode> {
  await access(file, constants.R_OK).catch((error: NodeJS.ErrnoException) => {
    throw new MusterdError('usage', `${file} cannot be read (${error.code})`);
  });
  return withMirrorOf(context, async ({ mirror }) => {
    const { signal } = context;
    const progress = createLateProgress(context, 'rows restored');
    try {
      const { restored, placing } = await restoreMirror(mirror.db, {
        open: () => open(file, signal),
        onRows: progress.show,
      });
      if (context.json) printJson(context, { file, ...restored, place: placeInJson(placing) });
      else {
        const what = `${plural(restored.rows, 'row')} of ${plural(restored.tables, 'table')}`;
        printLine(context.out, `${what} restored from ${file}`);
        if (sendBlockOf(placing) !== undefined)
          printLine(context.out, printable(`${placeInWords(placing)}. ${adviceOn(placing)}`));
      }
      return exitCode.ok;
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      progress.close();
    }
  });
}
