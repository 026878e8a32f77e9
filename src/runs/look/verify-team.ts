/** Compares service and mirror with separate code: only the client and `withReading` are shared with runs. */
import { readKnownAddresses, readSnapshot } from '../../mirror/users/verify-read.ts';
import { type Comparison, compare } from '../../verify/compare.ts';
import { readService } from '../../verify/service-side.ts';
import type { Setup } from '../open.ts';
import { withReading } from '../sync/with-run.ts';

export async function verifyTeam(
  { config, log, mirror: { db } }: Setup,
  signal: AbortSignal,
): Promise<Comparison> {
  return withReading(db, config, { log, signal }, async ({ service }, team) => {
    const addresses = await readKnownAddresses(db.kysely, team.id);
    const theirs = await readService(service, team, addresses, config.pages);
    return compare(await readSnapshot(db, config.team, team.id), theirs);
  });
}
