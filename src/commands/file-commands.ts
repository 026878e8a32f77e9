/** The commands that write files and read them. Each module is loaded only when it is called. */
import { MusterdError } from '../errors.ts';
import { type Adding, waitOption, type WithOptions } from './add-commands.ts';
import type { FileOptions } from './import.ts';

/** Gathers an option that is given several times. */
type Collect = (value: string, all?: readonly string[]) => readonly string[];

/** How a file of people is read. */
export const withFileOptions = <C extends WithOptions<C>>(command: C, collect: Collect): C =>
  command
    .option('--format <format>', 'csv, json, ndjson or yaml; else by the name of the file, else csv')
    .option('--map <column=field>', 'what a column means, such as "Work email=email"; repeatable', collect)
    .option('--only <field,…>', 'change these fields alone; the others only find the user')
    .option('--empty <clear>', 'clear: an empty cell clears a phone; else it leaves it alone')
    .option('--skip-errors', 'leave out the rows that cannot be used');

interface PlanOptions extends FileOptions {
  readonly exitCode?: boolean;
  readonly markdown?: boolean;
  readonly out?: string;
  readonly from?: string;
}

const fileOptions = ['format', 'map', 'only', 'empty', 'skipErrors'] as const;

/** A plan is of a run or of a file. @throws MusterdError `usage` for options that are of the other one */
export function readPlanOptions(options: PlanOptions): PlanOptions {
  const { from, out } = options;
  if (from !== undefined && out !== undefined)
    throw new MusterdError('usage', '--out is for the plan of a run, and --from for that of an import', {
      hint: 'To do what --from shows: musterd import <file> --expect <hash>',
    });
  const stray = fileOptions.find((one) => options[one] !== undefined);
  if (from === undefined && stray !== undefined)
    throw new MusterdError('usage', 'These options say how a file is read, and there is none', {
      hint: 'Name it: --from roster.yaml',
    });
  return options;
}

export function addFileCommands<C extends WithOptions<C>>(
  { add, json, group }: Adding<C>,
  collect: Collect,
): void {
  group('Look');
  add(
    'export [what]',
    'users (the default), tags, contact-fields, contact-counts or changes, as a file',
    async (context, options, [what = 'users']) =>
      (await import('./export.ts')).exportCommand(context, options, what),
  )
    .option('--format <format>', 'csv, json, ndjson or yaml; else by the name of the file, else csv')
    .option('-o, --output <file>', 'write it there, whole or not at all; without it: stdout')
    .option('--as-of <time>', 'users or contact-counts as they were then');
  json(
    add('sql [query]', 'SQL on the mirror; a prompt where there is none', async (context, options, [query]) =>
      (await import('./sql.ts')).sqlCommand(context, options, query),
    ),
  )
    .option('-f, --file <file>', 'the SQL is in this file; - for stdin')
    .option('--format <format>', 'table (the default), csv, json or ndjson')
    .option('--write', 'let it write; without it nothing is');
  group('Run');
  json(
    add('dump', 'the whole mirror as a file that psql can load, too', async (context, options) =>
      (await import('./dump.ts')).dumpCommand(context, options),
    ),
  ).option('-o, --output <file>', 'write it there, whole or not at all');
  group('Go back');
  json(
    add('restore <file>', 'put a dump into an empty database', async (context, _, [file = '']) =>
      (await import('./restore.ts')).restoreCommand(context, file),
    ),
  );
  group('Decide');
  const importing = add(
    'import <file>',
    'correct users from a file; - for stdin',
    async (context, options, [file = '']) =>
      (await import('./import.ts')).importCommand(context, options, file),
  );
  withFileOptions(json(importing), collect)
    .option('--dry-run', 'show it, and write nothing')
    .option('--yes', 'do it without asking')
    .option('--expect <hash>', 'do it only if it is the import that was shown under this hash')
    .option('--reason <text>', 'why; with it these rows pass the limits once')
    .option('--as <person>', 'for whom (or MUSTERD_ACTOR)')
    .option(...waitOption);
}
