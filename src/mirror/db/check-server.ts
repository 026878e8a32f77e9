import { sql } from 'kysely';
import { MusterdError } from '../../errors.ts';
import type { Database } from './database.ts';

/**
 * Refuses servers that the mirror cannot use: older than Postgres 15, an encoding other than
 * UTF8, dates in a format that pg cannot read, or a read-only server (unless `isReading`).
 */
export async function checkServer(db: Database, isReading = false): Promise<void> {
  const { rows } = await sql<{ version: number; encoding: string; style: string; standby: boolean }>`
    select current_setting('server_version_num')::int as version,
           current_setting('server_encoding') as encoding,
           current_setting('DateStyle') as style,
           pg_is_in_recovery() or current_setting('transaction_read_only')::boolean as standby`.execute(
    db.kysely,
  );
  const [server] = rows;
  if (server === undefined)
    throw new MusterdError('mirror', 'Postgres did not return its version and settings.');
  if (server.version < 150_000) {
    const major = Math.floor(server.version / 10_000);
    throw refused(`Postgres ${major} is too old.`, 'musterd needs Postgres 15 or newer.');
  }
  if (server.encoding !== 'UTF8') {
    throw refused(
      `The database's encoding is ${server.encoding}.`,
      "musterd needs UTF8: create database … encoding 'UTF8' template template0.",
    );
  }
  if (!server.style.startsWith('ISO')) {
    throw refused(
      `Dates are written in the style "${server.style}".`,
      'Set DateStyle to ISO for this role or database: alter role … set datestyle = ISO.',
    );
  }
  if (server.standby && !isReading) {
    throw refused(
      'This Postgres is read-only.',
      'Point DATABASE_URL at the primary, not at a standby, or name all its hosts, with target_session_attrs=read-write.',
    );
  }
}

function refused(message: string, hint: string): MusterdError {
  return new MusterdError('mirror', message, { hint });
}
