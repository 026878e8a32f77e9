/** The commands that read and write files. Each module is loaded only when its command is called. */
import { exportNameOf } from '../../model/listed-resource.ts';
import { listedResources } from '../../model/listed-resources.ts';
import type { Adding, WithOptions } from '../add-commands.ts';

/** Collects the values of an option that is given several times. */
type Collect = (value: string, all?: readonly string[]) => readonly string[];

/** The options for reading a file of users. */
const withFileOptions = <C extends WithOptions<C>>(command: C, collect: Collect): C =>
  command
    .option('--format <format>', 'csv, json, ndjson or yaml; by default from the file name, or csv')
    .option('--map <column=field>', 'meaning of a column, such as "Work email=email"; repeatable', collect)
    .option('--only <field,…>', 'change only these fields; others are only used to find the user')
    .option('--empty <clear>', 'clear: an empty cell clears a phone; by default it changes nothing')
    .option('--country <code>', 'calling code of phones that are written without one, such as 49')
    .option('--trust-ids', "take rows of which the email, phone or name is another user's")
    .option('--skip-errors', 'skip the rows that cannot be used')
    .option('--unusable <file>', 'write the rows that cannot be used to this file, with the reason');

export function addFileCommands<C extends WithOptions<C>>({ add, group }: Adding<C>, collect: Collect): void {
  group('Look');
  add(
    'export [what]',
    `write users (the default), ${listedResources.map(exportNameOf).join(', ')}, contact-counts or changes to a file`,
    async (context, options, [what = 'users']) =>
      (await import('./export.ts')).exportCommand(context, options, what),
  )
    .option('--format <format>', 'csv, json, ndjson or yaml; by default from the file name, or csv')
    .option('-o, --output <file>', 'write to this file, whole or not at all; default: stdout')
    .option('--as-of <time>', 'users or contact-counts as they were then');
  add(
    'sql [query]',
    'run SQL on the mirror: a query, a file, or what is piped',
    async (context, options, [query]) => (await import('./sql.ts')).sqlCommand(context, options, query),
  )
    .option('-f, --file <file>', 'read the SQL from this file; - for stdin')
    .option('--format <format>', 'table (the default), csv, json or ndjson')
    .option('--write', 'allow writing; the default is read-only')
    .option(
      '--wait [seconds]',
      'with --write: show what became of the edits on the service, for 10 s at most',
    );
  group('Decide');
  const importing = add(
    'import <file>',
    'correct users from a file; - for stdin',
    async (context, options, [file = '']) =>
      (await import('./import.ts')).importCommand(context, options, file),
  );
  withFileOptions(importing, collect)
    .option('--dry-run', 'show the changes and write nothing')
    .option('--markdown', 'with --dry-run: print Markdown, one section per user')
    .option('--exit-code', 'with --dry-run: exit 2 if there are changes')
    .option('--yes', 'apply without asking')
    .option('--expect <hash>', 'apply only if the import still has this hash, as shown before')
    .option('--reason <text>', 'reason for the record; lets these rows pass the limits on a whole run once')
    .option('--as <person>', 'for whom (or MUSTERD_ACTOR)')
    .option('--wait [seconds]', 'show what became of the edits on the service, for 10 s at most');
}
