/** Stores two settings in the database, because editing by SQL needs them: four eyes, and the calling code of phones. */
import type { Config } from '../config/config.ts';
import type { Database, Transaction } from '../mirror/db/database.ts';
import type { KnownTeam } from '../mirror/team/known-team.ts';
import { readFourEyes, writeSettings } from '../mirror/team/pinned-teams.ts';

export type Settings = Pick<Config, 'team' | 'push'>;

/**
 * Turns four eyes on if the settings of this command require them. It never turns them off.
 * @returns true if four eyes are required from now on; `null` if no run has seen the team yet
 */
export async function tightenSettings(tx: Transaction, { team, push }: Settings): Promise<boolean | null> {
  const known = await readFourEyes(tx, team);
  if (known === false && push.fourEyes) await writeSettings(tx, team, { four_eyes: true });
  return known === null ? null : known || push.fourEyes;
}

/** Stores both settings. Only `reconcile` and `daemon` can turn four eyes off, or change the calling code. */
export async function keepSettings(
  db: Database,
  { config, command }: { readonly config: Settings & Pick<Config, 'phones'>; readonly command: string },
  known: Pick<KnownTeam, 'fourEyes' | 'phoneCountry'>,
): Promise<void> {
  const isFollowed = command === 'reconcile' || command === 'daemon';
  const fourEyes = config.push.fourEyes || (!isFollowed && known.fourEyes);
  const country = isFollowed ? (config.phones.country?.toString() ?? null) : known.phoneCountry;
  // Writes only what differs: another process may have turned four eyes on since `known` was read.
  if (known.fourEyes === fourEyes && known.phoneCountry === country) return;
  await db.transaction(async (tx) => {
    if (known.fourEyes !== fourEyes) await writeSettings(tx, config.team, { four_eyes: fourEyes });
    if (known.phoneCountry !== country) await writeSettings(tx, config.team, { phone_country: country });
  });
}
