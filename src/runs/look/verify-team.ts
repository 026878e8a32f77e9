/** Compares service and mirror with separate code: only the client and `withReading` are shared with runs. */
import type { Config } from '../../config/config.ts';
import type { Database } from '../../mirror/db/database.ts';
import { readKnownAddresses, readSnapshot } from '../../mirror/users/verify-read.ts';
import { type Comparison, compare } from '../../verify/compare.ts';
import { readService } from '../../verify/service-side.ts';
import { type Watch, withReading } from '../sync/with-run.ts';

export async function verifyTeam(db: Database, config: Config, watch: Watch): Promise<Comparison> {
  return withReading(db, config, watch, async ({ service }, team) => {
    const addresses = await readKnownAddresses(db.kysely, team.id);
    const theirs = await readService(service, team, addresses, config.pages);
    return compare(await readSnapshot(db, config.team, team.id), theirs);
  });
}
