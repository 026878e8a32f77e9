/** Passes on to the database whether people may approve their own edits in SQL. */
import type { Config } from '../config/config.ts';
import type { Database, Transaction } from '../mirror/db/database.ts';
import { readFourEyes, writeFourEyes } from '../mirror/team/pinned-teams.ts';

export type Settings = Pick<Config, 'team' | 'push'>;

/**
 * A command may allow less than before, and no more.
 * @returns whether four eyes are required from now on, or `null` as long as no run has seen the team
 */
export async function tightenSettings(tx: Transaction, { team, push }: Settings): Promise<boolean | null> {
  const known = await readFourEyes(tx, team);
  if (known === false && push.fourEyes) await writeFourEyes(tx, team, true);
  return known === null ? null : known || push.fourEyes;
}

/** Only `reconcile` and `daemon` allow more than before. */
export async function keepSettings(
  db: Database,
  { config, command }: { readonly config: Settings; readonly command: string },
  known: boolean,
): Promise<void> {
  const wanted = config.push.fourEyes;
  const kept = command === 'reconcile' || command === 'daemon' ? wanted : known || wanted;
  if (known !== kept) await db.transaction((tx) => writeFourEyes(tx, config.team, kept));
}
