import { addressOf } from '../../src/mirror/db/address.ts';
import type { Database } from '../../src/mirror/db/database.ts';
import { readConnectionUrl } from '../../src/mirror/db/database-url.ts';
import { adoptPlace } from '../../src/runs/set-up/adopt-place.ts';

/** Lets a mirror be reached by a proxy as well, which answers under a port of its own. */
export async function alsoAt(db: Database, url: string): Promise<void> {
  const other = { ...db, address: addressOf(readConnectionUrl(url).parts) };
  const adoption = { as: 'also', why: 'a proxy', actor: undefined } as const;
  await adoptPlace(other, { ttlMs: 20_000, waitMs: 20_000 }, adoption);
}
