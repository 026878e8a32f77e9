/** Passes on to the database whether people may approve their own edits in SQL, and how they write phones. */
import type { Config } from '../config/config.ts';
import type { Database, Transaction } from '../mirror/db/database.ts';
import type { KnownTeam } from '../mirror/team/known-team.ts';
import { readFourEyes, writeFourEyes, writePhoneCountry } from '../mirror/team/pinned-teams.ts';

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

/** Only `reconcile` and `daemon` allow more than before, and change the calling code. */
export async function keepSettings(
  db: Database,
  { config, command }: { readonly config: Settings & Pick<Config, 'phones'>; readonly command: string },
  known: Pick<KnownTeam, 'fourEyes' | 'phoneCountry'>,
): Promise<void> {
  const isFollowed = command === 'reconcile' || command === 'daemon';
  const wanted = config.push.fourEyes;
  const kept = isFollowed ? wanted : known.fourEyes || wanted;
  if (known.fourEyes !== kept) await db.transaction((tx) => writeFourEyes(tx, config.team, kept));
  const country = config.phones.country?.toString() ?? null;
  if (isFollowed && known.phoneCountry !== country)
    await db.transaction((tx) => writePhoneCountry(tx, config.team, country));
}
