/** Further addresses to look the members of a team up by. */
import { addLookups, type LookupAddress } from '../mirror/users/addresses.ts';
import { readTeamId } from '../mirror/team/pinned-teams.ts';
import type { Id } from '../model/id.ts';
import { prepareSchema, type Setup } from './open.ts';
import { withReading } from './with-run.ts';

/** The team's id from the mirror, or, before the first run, from the service. */
async function findTeamId({ config, log, mirror }: Setup, signal: AbortSignal): Promise<Id> {
  const recordedId = await readTeamId(mirror.db.kysely, config.team);
  if (recordedId !== null) return recordedId;
  return await withReading(mirror.db, config, { log, signal }, (_, team) => Promise.resolve(team.id));
}

/** @returns how many of them were not known before */
export async function addTeamLookups(
  setup: Setup,
  lookups: readonly LookupAddress[],
  signal: AbortSignal,
): Promise<number> {
  await prepareSchema(setup.mirror.db, setup.config);
  return await addLookups(setup.mirror.db, await findTeamId(setup, signal), lookups);
}
