/** Makes a daemon look at the edits of a team again. */
import { sql } from 'kysely';
import type { Transaction } from '../db/database.ts';

/**
 * After a person's decision waiting edits may be pushed although nothing new was edited. Sent on
 * commit. It also removes the mark of the last push, because edits that it saw are to be tried again.
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
