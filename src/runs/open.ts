/** Opens the mirror with what the settings say. */
import type { Config } from '../config/config.ts';
import { MusterdError } from '../errors.ts';
import type { Log } from '../log.ts';
import { checkServer, createDatabase, type Database, type DatabaseOptions } from '../mirror/database.ts';
import { reachOf } from '../mirror/database-url.ts';
import { migrate, pendingMigrations } from '../mirror/migrations.ts';
import { plural } from '../model/in-words.ts';
import { createSecret, type Secret } from '../secret.ts';

/** How others get at the mirror. */
export interface Reach {
  /** Without the password. */
  readonly url: string;
  /** What a person types; that of the embedded server takes the password from a file that they may read. */
  readonly psql: string;
  /** Whether the server is there when we are gone. */
  readonly stays: boolean;
}

export interface Mirror {
  readonly db: Database;
  /** postgres://…, with the password. */
  readonly url: string;
  /** For people and their tools. */
  readonly reach: Reach;
  close(): Promise<void>;
}

/** What is done for one team begins with these. */
export interface Setup {
  readonly config: Config;
  readonly log: Log;
  readonly mirror: Mirror;
}

export interface MirrorOptions extends Pick<DatabaseOptions, 'onQuery'> {
  /** Told of what is in order and yet to be known. */
  readonly onWarning?: (words: string) => void;
  /** Nothing is written: a server that takes no writes will do. */
  readonly isReading?: boolean;
  /** What the connections call themselves where the embedded server is not to be kept up for them. */
  readonly guest?: string | undefined;
}

/** A run uses at most so many connections at once: a transaction, and a renewal or a place in the shared pace. */
const connectionsOfRun = 2;
/** What uses one besides: the schedule, the status, a person's command. */
const otherConnections = 4;

/** Connects to the mirror, or starts the embedded one. Nothing is migrated. */
export async function openMirror(
  { database, daemon }: Pick<Config, 'database' | 'daemon'>,
  onProgress: (step: string) => void,
  { onQuery, onWarning, isReading, guest }: MirrorOptions = {},
): Promise<Mirror> {
  const embedded =
    database.url === undefined
      ? await (await import('../embedded/embedded.ts')).openEmbedded({
          dataDir: database.dataDir,
          port: database.port,
          onProgress,
          onWarning,
          isGuest: guest !== undefined,
        })
      : undefined;
  const url = embedded?.url ?? database.url ?? '';
  const db = createDatabase({
    url,
    applicationName: guest ?? 'musterd',
    maxConnections: connectionsOfRun * daemon.concurrency + otherConnections,
    onQuery,
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
      ? { ...reachOf(url), stays: true }
      : { url: embedded.shownUrl, psql: embedded.psqlCommand, stays: embedded.attached };
  return { db, url, reach, close };
}

/** Brings the schema up to date, or, where that is switched off, insists that it is. */
export async function prepareSchema(db: Database, config: Config): Promise<readonly string[]> {
  if (config.database.migrate) return (await migrate(db)).applied;
  await requireSchema(db);
  return [];
}

/** @throws MusterdError `mirror` if migrations are missing */
export async function requireSchema(db: Database): Promise<void> {
  const pending = await pendingMigrations(db);
  if (pending.length === 0) return;
  const [first = '', ...others] = pending;
  const names = others.length === 0 ? first : `${first} to ${others.at(-1)}`;
  throw new MusterdError('mirror', `The database lacks ${plural(pending.length, 'migration')}: ${names}`, {
    hint: 'Run "musterd migrate" first.',
  });
}

/** What may stand in no log. */
export function secretsOf({ service, hooks, ping, notify, database, status }: Config): readonly Secret[] {
  const values = [
    service.secretKey,
    service.nextSecretKey,
    service.apiKey,
    hooks.token,
    ping.url,
    notify.url,
    notify.secret,
    database.url,
    status.token,
    status.password,
  ];
  return values.flatMap((value) => (value === undefined ? [] : [createSecret(value)]));
}
