/** Records when each credential was last used, so that people can see when an old credential may be revoked. */
import { sql } from 'kysely';
import type { Database, Row } from '../db/database.ts';
import { type Learned, writeLearned } from './learned.ts';

const prefix = 'credential ';

export interface CredentialUse {
  /** A fingerprint, not the id itself: the interface requires that Secret IDs stay out of client code and logs. */
  readonly fingerprint: string;
  /** When the service last accepted the credential, in ms since 1970. */
  readonly acceptedAtMs: number;
}

export function learnedOfCredentials(uses: readonly CredentialUse[]): readonly Learned[] {
  return uses.map(({ fingerprint, acceptedAtMs }) => ({
    topic: prefix + fingerprint,
    value: true,
    atMs: acceptedAtMs,
  }));
}

export async function writeCredentials(
  db: Database,
  team: string,
  uses: readonly CredentialUse[],
): Promise<void> {
  const learned = learnedOfCredentials(uses);
  if (learned.length > 0) await db.transaction((tx) => writeLearned(tx, team, learned));
}

/** When each credential was last accepted, by fingerprint. */
export async function readCredentials(
  { kysely }: Database,
  team: string,
): Promise<ReadonlyMap<string, Date>> {
  const { rows } = await sql<Row<'sync.learned', 'learned_at'> & { fingerprint: string }>`
    select substr(topic, length(${prefix}) + 1) as fingerprint, learned_at from sync.learned
    where team = ${team} and starts_with(topic, ${prefix})`.execute(kysely);
  return new Map(rows.map(({ fingerprint, learned_at }) => [fingerprint, learned_at]));
}
