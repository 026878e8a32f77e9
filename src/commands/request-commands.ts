/** The commands that list what nobody edits. Each module is loaded only when it is called. */
import type { Adding, WithOptions } from './add-commands.ts';

export function addRequestCommands<C extends WithOptions<C>>({
  add,
  json,
  group,
}: Pick<Adding<C>, 'add' | 'json' | 'group'>): void {
  group('Look');
  json(
    add('inboxes', 'list the inboxes of the mirror', async (context) =>
      (await import('./listed.ts')).listedCommand(context, 'inboxes', ['id', 'name', 'phones', 'members']),
    ),
  );
  json(
    add('surveys', 'list the surveys of the mirror', async (context) =>
      (await import('./listed.ts')).listedCommand(context, 'surveys', ['id', 'name', 'type', 'question']),
    ),
  );
}
