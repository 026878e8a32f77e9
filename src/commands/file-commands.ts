/** The commands that write files and read them. Each module is loaded only when it is called. */
import type { Adding, WithOptions } from './add-commands.ts';

export function addFileCommands<C extends WithOptions<C>>({ add }: Adding<C>): void {
  add(
    'export [what]',
    'users (the default), tags, contact-fields, contact-counts or changes, as a file',
    async (context, options, [what = 'users']) =>
      (await import('./export.ts')).exportCommand(context, options, what),
  )
    .option('--format <format>', 'csv, json, ndjson or yaml; else by the name of the file, else csv')
    .option('-o, --output <file>', 'write it there, whole or not at all; without it: stdout');
}
