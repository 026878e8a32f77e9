import { writeWholeFile } from '../../files/write-file.ts';
import { plural } from '../../model/in-words.ts';
import { toJson } from '../../model/json.ts';
import { migrateMirror } from '../../runs/set-up/migrate-mirror.ts';
import { type Context, type ExitCode, exitCode } from '../context.ts';
import { printJson, printLine } from '../output.ts';
import { withMirrorOf } from '../setup.ts';

/** Brings the schema up to date. With `dropRequests`, first moves open requests of version 0.1.0 to the file it names. */
export async function migrateCommand(
  context: Context,
  { dropRequests: file }: { readonly dropRequests?: string },
): Promise<ExitCode> {
  let dropped = 0;
  const keepIn = (path: string) => async (requests: readonly object[]) => {
    const lines = requests.map((request) => `${toJson(request)}\n`).join('');
    if (requests.length > 0) await writeWholeFile(path, (write) => write(lines), true);
    dropped = requests.length;
  };
  return withMirrorOf(context, async ({ mirror }) => {
    const { applied, missing } = await migrateMirror(
      mirror.db,
      file === undefined ? undefined : keepIn(file),
    );
    if (context.json)
      printJson(context, file === undefined ? { applied } : { applied, dropped_requests: dropped });
    else if (applied.length === 0) printLine(context.out, 'The schema is up to date.');
    else for (const name of applied) printLine(context.out, `applied ${name}`);
    if (file !== undefined)
      printLine(
        context.err,
        dropped === 0
          ? `No request was open: ${file} was not written.`
          : `${plural(dropped, 'request')} written to ${file}, and dropped.`,
      );
    for (const line of missing) printLine(context.err, line);
    return exitCode.ok;
  });
}
