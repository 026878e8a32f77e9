/** When each credential was last needed, so that an old one can be revoked. */
import { sql } from 'kysely';
import type { Database } from './database.ts';

export interface CredentialUse {
  /** Not the id itself: the interface keeps Secret IDs out of client code and logs. */
  readonly fingerprint: string;
  /** When the service last accepted it, in ms since 1970. */
  readonly acceptedAtMs: number;
}

export async function writeCredentials<T>(
  db: Database<T>,
  team: string,
  uses: readonly CredentialUse[],
): Promise<void> {
  if (uses.length === 0) return;
  const write = sql`
    insert into sync.credentials as c (team, fingerprint, last_accepted_at)
    select ${team}, s.fingerprint, to_timestamp(s."acceptedAtMs" / 1000.0)
    from jsonb_to_recordset(${JSON.stringify(uses)}::jsonb) as s (fingerprint text, "acceptedAtMs" float8)
    on conflict (team, fingerprint) do update
      set last_accepted_at = greatest(c.last_accepted_at, excluded.last_accepted_at)`;
  await db.transaction((tx) => write.execute(tx));
}

/** When each was last accepted, by fingerprint. */
export async function readCredentials<T>(
  { kysely }: Database<T>,
  team: string,
): Promise<ReadonlyMap<string, Date>> {
  const { rows } = await sql<{ fingerprint: string; last_accepted_at: Date }>`
    select fingerprint, last_accepted_at from sync.credentials where team = ${team}`.execute(kysely);
  return new Map(rows.map(({ fingerprint, last_accepted_at }) => [fingerprint, last_accepted_at]));
}
