/** Opens the mirror according to the settings. */
import type { Config } from '../config/config.ts';
import { MusterdError } from '../errors.ts';
import type { Log } from '../log.ts';
import { checkServer } from '../mirror/db/check-server.ts';
import { folderAddress } from '../mirror/db/address.ts';
import { createDatabase, type Database, type DatabaseOptions } from '../mirror/db/database.ts';
import { sqlState } from '../mirror/db/database-errors.ts';
import { connectionHelp } from '../mirror/db/database-url.ts';
import { migrate, pendingMigrations } from '../mirror/migrations.ts';
import { plural } from '../model/in-words.ts';
import { createSecret, type Secret } from '../secret.ts';

/** How other programs connect to the mirror. */
export interface ShownConnection {
  /** Without the password. */
  readonly url: string;
  /** A command to type. For the embedded server it reads the password from a file. */
  readonly psql: string;
  /** True if the server keeps running when this process ends. */
  readonly stays: boolean;
}

export interface Mirror {
  readonly db: Database;
  /** The URL (postgres://…), with the password. */
  readonly url: string;
  /** The URL for SQL that only reads. For the embedded server, it has a login that is not a superuser. */
  readingUrl(): Promise<string>;
  /** How people and their tools connect. */
  readonly reach: ShownConnection;
  close(): Promise<void>;
}

/** Everything that work on one team needs. */
export interface Setup {
  readonly config: Config;
  readonly log: Log;
  readonly mirror: Mirror;
}

export interface MirrorOptions extends Pick<DatabaseOptions, 'onQuery' | 'signal'> {
  /** Called with notes that are not errors. */
  readonly onWarning?: (words: string) => void;
  /** True if nothing will be written, so that a read-only server is sufficient. */
  readonly isReading?: boolean;
  /** Shown in pg_stat_activity. */
  readonly applicationName?: string | undefined;
}

/** A run uses at most this many connections: a transaction, and a lease renewal or a place in the shared pace. */
const connectionsOfRun = 2;
/** Further connections: for the schedule, the status, a person's command. */
const otherConnections = 4;

/** Connects to the mirror, or starts the embedded server. Does not migrate. */
export async function openMirror(
  { database, daemon }: Pick<Config, 'database' | 'daemon'>,
  onProgress: (step: string) => void,
  { onQuery, signal, onWarning, isReading, applicationName = 'musterd' }: MirrorOptions = {},
): Promise<Mirror> {
  const embedded =
    database.url === undefined
      ? await (await import('../embedded/embedded.ts')).openEmbedded({
          dataDir: database.dataDir,
          onProgress,
          onWarning,
        })
      : undefined;
  const url = embedded?.url ?? database.url ?? '';
  const db = createDatabase({
    url,
    address: embedded === undefined ? undefined : folderAddress(embedded.dataDir),
    applicationName,
    maxConnections: connectionsOfRun * daemon.concurrency + otherConnections,
    onQuery,
    signal,
  });
  const close = async () => {
    await db.close();
    await embedded?.close();
  };
  try {
    await checkServer(db, isReading);
  } catch (error) {
    await close();
    throw error;
  }
  const reach =
    embedded === undefined
      ? { ...connectionHelp(url), stays: true }
      : { url: connectionHelp(url).url, psql: embedded.psqlCommand, stays: embedded.attached };
  const readingUrl = async () =>
    embedded === undefined ? url : (await import('../embedded/reading-login.ts')).readingUrl(url);
  return { db, url, readingUrl, reach, close };
}

/** Migrates the schema; with `database.migrate: false`, requires that it is up to date. */
export async function prepareSchema(db: Database, config: Config): Promise<readonly string[]> {
  if (config.database.migrate) return (await migrate(db)).applied;
  await requireSchema(db);
  return [];
}

/** @throws MusterdError `mirror` if migrations are missing */
export async function requireSchema(db: Database): Promise<void> {
  const pending = await pendingMigrations(db);
  if (pending.length === 0) return;
  throw new MusterdError('mirror', `The database lacks ${inShort(pending)}`, {
    hint: 'Run "musterd migrate" first.',
  });
}

/** Like `requireSchema`, but it requires nothing if the role is not allowed to see the applied migrations. */
export async function requireSeenSchema(db: Database): Promise<void> {
  await requireSchema(db).catch((error: unknown) => {
    if (sqlState(error) !== '42501') throw error;
  });
}

/** The number of migrations, with the first and the last of them. */
export function inShort([first = '', ...others]: readonly string[]): string {
  const names = others.length === 0 ? first : `${first} to ${others.at(-1)}`;
  return `${plural(others.length + 1, 'migration')}: ${names}`;
}

/** The secrets to redact from the log. */
export function secretsOf({ service, ping, notify, database, status }: Config): readonly Secret[] {
  const values = [
    service.secretKey,
    service.nextSecretKey,
    service.apiKey,
    ping.url,
    notify.url,
    notify.secret,
    database.url,
    ...Object.values(status.people).map(({ token }) => token),
  ];
  return values.flatMap((value) => (value === undefined ? [] : [createSecret(value)]));
}
