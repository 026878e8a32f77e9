import { type Context, type ExitCode, exitCode } from './context.ts';
import { migrateMirror } from '../runs/migrate-mirror.ts';
import { printJson, printLine } from './output.ts';
import { withMirrorOf } from './setup.ts';

/** Brings the schema up to date. */
export async function migrateCommand(context: Context): Promise<ExitCode> {
  return withMirrorOf(context, async ({ mirror }) => {
    const { applied, missing } = await migrateMirror(mirror.db);
    if (context.json) printJson(context, { applied });
    else if (applied.length === 0) printLine(context.out, 'The schema is up to date.');
    else for (const name of applied) printLine(context.out, `applied ${name}`);
    for (const line of missing) printLine(context.err, line);
    return exitCode.ok;
  });
}
