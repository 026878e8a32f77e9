/** Opens the two places with what the settings say. */
import { createHash } from 'node:crypto';
import { systemClock } from './clock.ts';
import type { Config } from './config.ts';
import { MusterdError } from './errors.ts';
import type { Log } from './log.ts';
import { logServiceEvent } from './log-events.ts';
import type { CredentialUse } from './mirror/credentials.ts';
import { checkServer, createDatabase, type Database } from './mirror/database.ts';
import { openEmbedded } from './mirror/embedded.ts';
import { migrate, pendingMigrations } from './mirror/migrate.ts';
import { createSharedPace, readLesson } from './mirror/rate-limits.ts';
import { createSecret, type Secret } from './secret.ts';
import { type Client, createClient } from './service/client.ts';
import type { ServiceEvent } from './service/event.ts';
import type { RateSettings } from './service/rate.ts';
import type { CredentialName } from './service/token.ts';

export interface Mirror {
  readonly db: Database<unknown>;
  /** Of an embedded server that stays up without us; `null` otherwise. */
  readonly psqlCommand: string | null;
  close(): Promise<void>;
}

/** Connects to the mirror, or starts the embedded one. Nothing is migrated. */
export async function openMirror({ database }: Config, onProgress: (step: string) => void): Promise<Mirror> {
  const embedded =
    database.url === undefined ? await openEmbedded({ dataDir: database.dataDir, onProgress }) : undefined;
  const db = createDatabase<unknown>({
    url: embedded?.url ?? database.url ?? '',
    applicationName: 'musterd',
  });
  const close = async () => {
    await db.close();
    await embedded?.close();
  };
  try {
    await checkServer(db);
  } catch (error) {
    await close();
    throw error;
  }
  return { db, psqlCommand: embedded?.attached === true ? embedded.psqlCommand : null, close };
}

/** Brings the schema up to date, or, where that is switched off, insists that it is. */
export async function prepareSchema(db: Database<unknown>, config: Config): Promise<readonly string[]> {
  if (config.database.migrate) return (await migrate(db)).applied;
  await requireSchema(db);
  return [];
}

/** @throws MusterdError `mirror` if migrations are missing */
export async function requireSchema(db: Database<unknown>): Promise<void> {
  const pending = await pendingMigrations(db);
  if (pending.length === 0) return;
  throw new MusterdError('mirror', `The database lacks ${pending.length} migrations: ${pending.join(', ')}`, {
    hint: 'Run "musterd migrate" first.',
  });
}

export function secretsOf({ service }: Config): readonly Secret[] {
  return [service.secretKey, service.nextSecretKey, service.apiKey].flatMap((value) =>
    value === undefined ? [] : [createSecret(value)],
  );
}

/** An id without its key, or a key without its id, is a mistake that must not go unnoticed. */
function requireWhole(
  idName: string,
  id: string | undefined,
  keyName: string,
  key: string | undefined,
): void {
  if ((id === undefined) === (key === undefined)) return;
  const [set, missing] = id === undefined ? [keyName, idName] : [idName, keyName];
  throw new MusterdError('configuration', `${set} is set, and ${missing} is not`, {
    hint: 'An API Secret is the two together.',
  });
}

function credentialsOf({ service }: Config) {
  const { secretId, secretKey, nextSecretId, nextSecretKey, apiKey } = service;
  requireWhole('MUSTERD_SECRET_ID', secretId, 'MUSTERD_SECRET_KEY', secretKey);
  requireWhole('MUSTERD_NEXT_SECRET_ID', nextSecretId, 'MUSTERD_NEXT_SECRET_KEY', nextSecretKey);
  if (secretId !== undefined && secretKey !== undefined) {
    const next =
      nextSecretId !== undefined && nextSecretKey !== undefined
        ? { next: { secretId: nextSecretId, secretKey: createSecret(nextSecretKey) } }
        : {};
    return { secretId, secretKey: createSecret(secretKey), ...next };
  }
  if (apiKey !== undefined) return { apiKey: createSecret(apiKey) };
  throw new MusterdError(
    'configuration',
    'No credentials: MUSTERD_SECRET_ID and MUSTERD_SECRET_KEY are not set',
    {
      hint: 'An API Secret is made in the web app under Settings > Integrations > API.',
    },
  );
}

/** A name for a credential under which it can be told from others, and not be guessed. */
export function fingerprint(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** The fingerprint of each configured credential. */
export function fingerprintsOf({ service }: Config): ReadonlyMap<CredentialName, string> {
  const { secretId, nextSecretId, apiKey } = service;
  const named = [
    ['current', secretId],
    ['next', nextSecretId],
    ['api-key', secretId === undefined ? apiKey : undefined],
  ] as const;
  return new Map(
    named.flatMap(([name, value]) => (value === undefined ? [] : [[name, fingerprint(value)] as const])),
  );
}

/** Which credentials a client has needed so far. */
export function credentialUses(config: Config, service: Client): readonly CredentialUse[] {
  const prints = fingerprintsOf(config);
  return service.credentials().flatMap(({ credential, lastNeededMs }) => {
    const print = prints.get(credential);
    return print === undefined || lastNeededMs === null
      ? []
      : [{ fingerprint: print, acceptedAtMs: lastNeededMs }];
  });
}

export interface ServiceOptions {
  /** Asked for at each event: it may get to know more of the run. */
  readonly log: Log;
  /** A request to stop. */
  readonly signal?: AbortSignal | undefined;
  /** Told of each request that came to an end. */
  readonly onRequest?: () => void;
  /** What other processes on this database have to say about the pace. */
  readonly pace?: Pick<RateSettings, 'reserve' | 'announcePause' | 'learned'>;
}

/** @throws MusterdError `configuration` */
export function createService(
  config: Config,
  mode: 'read-only' | 'read-write',
  options: ServiceOptions,
): Client {
  const { signal, onRequest, pace = {} } = options;
  const { baseUrl, caFile } = config.service;
  if (baseUrl === undefined) {
    throw new MusterdError('configuration', 'No service: MUSTERD_BASE_URL is not set', {
      hint: 'Set it to the address of the service, or try "musterd demo" first.',
    });
  }
  const onEvent = (event: ServiceEvent) => {
    if (event.kind === 'request') onRequest?.();
    logServiceEvent(options.log, event);
  };
  return createClient({
    baseUrl,
    credentials: credentialsOf(config),
    mode,
    http: { ...config.http, caFile },
    rate: { ...config.rate, ...pace },
    clockSkew: config.clock,
    maxPages: config.pages.max,
    clock: systemClock,
    signal,
    onEvent,
  });
}

/** The part of the limit that all processes on a database use together; the rest is margin for the network. */
const sharedMargin = 0.99;
/** A burst counts against what refills: a larger one would leave less of the limit for the long run. */
const largestSharedBurst = 12;

/** The team's pace, shared through the database by every process that is allowed to write there. */
export async function sharePace(
  db: Database<unknown>,
  { team, rate }: Config,
): Promise<Pick<RateSettings, 'reserve' | 'announcePause' | 'learned'>> {
  const pace = createSharedPace(db, team, {
    perMinute: rate.perMinute * rate.share * sharedMargin,
    burst: Math.min(rate.burst, largestSharedBurst),
  });
  return { ...pace, learned: await readLesson(db, team) };
}
