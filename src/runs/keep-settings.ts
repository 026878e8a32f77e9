/** Passes on the settings by which the database judges what people do in SQL. */
import type { Config } from '../config/config.ts';
import type { Database, Transaction } from '../mirror/db/database.ts';
import { readKept, writeKept } from '../mirror/team/pinned-teams.ts';
import { isSameKept, type KeptSettings, stricterOf } from '../model/kept-settings.ts';

export type Settings = Pick<Config, 'team' | 'push' | 'write'>;

const keptOf = ({ push, write }: Settings): KeptSettings => ({ fourEyes: push.fourEyes, writes: write });

/**
 * A command may allow less than before, and no more.
 * @returns what counts from now on, or `null` as long as no run has seen the team
 */
export async function tightenSettings(tx: Transaction, settings: Settings): Promise<KeptSettings | null> {
  const kept = await readKept(tx, settings.team);
  if (kept === null) return null;
  const stricter = stricterOf(kept, keptOf(settings));
  if (!isSameKept(kept, stricter)) await writeKept(tx, settings.team, stricter);
  return stricter;
}

/** Only `reconcile` and `daemon` allow more than before. */
export async function keepSettings(
  db: Database,
  { config, command }: { readonly config: Settings; readonly command: string },
  known: KeptSettings,
): Promise<void> {
  const wanted = keptOf(config);
  const kept = command === 'reconcile' || command === 'daemon' ? wanted : stricterOf(known, wanted);
  if (!isSameKept(known, kept)) await db.transaction((tx) => writeKept(tx, config.team, kept));
}
