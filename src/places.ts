/** Opens the two places with what the settings say. */
import { systemClock } from './clock.ts';
import type { Config } from './config.ts';
import { MusterdError } from './errors.ts';
import type { Log } from './log.ts';
import { logServiceEvent } from './log-events.ts';
import { checkServer, createDatabase, type Database } from './mirror/database.ts';
import { openEmbedded } from './mirror/embedded.ts';
import { migrate, pendingMigrations } from './mirror/migrate.ts';
import { createSecret, type Secret } from './secret.ts';
import { type Client, createClient } from './service/client.ts';
import type { ServiceEvent } from './service/event.ts';

export interface Mirror {
  readonly db: Database<unknown>;
  /** Of the embedded server; `null` where DATABASE_URL names one. */
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
  return { db, psqlCommand: embedded?.psqlCommand ?? null, close };
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

function credentialsOf({ service }: Config) {
  const { secretId, secretKey, nextSecretId, nextSecretKey, apiKey } = service;
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

/** @throws MusterdError `configuration` */
export function createService(
  config: Config,
  mode: 'read-only' | 'read-write',
  { log, signal }: { readonly log: Log; readonly signal?: AbortSignal | undefined },
  onRequest: () => void = () => {},
): Client {
  const { baseUrl, caFile } = config.service;
  if (baseUrl === undefined) {
    throw new MusterdError('configuration', 'No service: MUSTERD_BASE_URL is not set', {
      hint: 'Set it to the address of the service, or try "musterd demo" first.',
    });
  }
  const onEvent = (event: ServiceEvent) => {
    if (event.kind === 'request') onRequest();
    logServiceEvent(log, event);
  };
  return createClient({
    baseUrl,
    credentials: credentialsOf(config),
    mode,
    http: { ...config.http, caFile },
    rate: config.rate,
    maxPages: config.pages.max,
    clock: systemClock,
    signal,
    onEvent,
  });
}
