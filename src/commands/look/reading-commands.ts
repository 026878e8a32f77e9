/** The commands that show details of the mirror. Each module is loaded only when its command is called. */

import type { Adding, WithOptions } from '../add-commands.ts';
import type { ChangesOptions } from './changes.ts';

export function addReadingCommands<C extends WithOptions<C>>({ add, group }: Adding<C>): void {
  group('Look');
  add(
    'why <user>',
    'explain the state of a user (id, email, phone or name)',
    async (context, _, [who = '']) => (await import('./why.ts')).whyCommand(context, who),
  );
  add('changes', 'show the ledger: what moved, in which direction, newest last', async (context, options) =>
    (await import('./changes.ts')).changesCommand(context, options as ChangesOptions),
  )
    .option('--user <user>', 'of this user: id, email, phone or name')
    .option('--run <n>', 'of this run')
    .option('--field <field>', 'name, email, phone, role_id, tag, message or conversation_read')
    .option(
      '--kind <kind>',
      'adopt, return, pull, push, settle, hold, discard, tombstone, forget, approve, reject, resolve, undo, place or call',
    )
    .option(
      '--outcome <outcome>',
      'confirmed, ineffective, changed, missing, refused, unsent, unanswered, unknown or answered; of a hold: conflict, unsupported, returned, limit or review',
    )
    .option('--since <time>', 'only since then: 2026-03-01T09:00Z, 2h, 3d')
    .option('--limit <n>', 'maximum number of rows (100)');
  add('page', 'serve a web page of the mirror: teams, runs, people, what waits', async (context, options) =>
    (await import('./show-page.ts')).pageCommand(context, options),
  ).option('--port <n>', 'port (9465); 0: any free one');
  add('verify', 'compare service and mirror, independently of the runs; reads only', async (context) =>
    (await import('./verify.ts')).verifyCommand(context),
  );
}
