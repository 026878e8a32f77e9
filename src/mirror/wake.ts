/** Has a daemon look at the edits of a team again. */
import { sql } from 'kysely';
import type { Transaction } from './database.ts';

/**
 * A person has decided something: what waited may go now, though nobody has edited anything. Heard when it is
 * committed. The mark of the last push is forgotten, since what it saw is to be tried again.
 */
export async function wakeForEdits(tx: Transaction, team: string): Promise<void> {
  await tx
    .updateTable('sync.due')
    .set({ mark: null })
    .where((eb) => eb.and({ team, run_group: 'edits' }))
    .execute();
  await sql`select pg_notify('musterd_edits', edit_key::text) from sync.teams where team = ${team}`.execute(
    tx,
  );
}
