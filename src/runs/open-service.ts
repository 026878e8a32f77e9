/** Opens the service according to the settings. */
import { createHash } from 'node:crypto';
import { systemClock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { MusterdError } from '../errors.ts';
import type { Log } from '../log.ts';
import { logServiceEvent } from './log-events.ts';
import type { CredentialUse } from '../mirror/team/credentials.ts';
import type { Database } from '../mirror/db/database.ts';
import { createSharedPlaces } from '../mirror/team/rate-limits.ts';
import { createSecret } from '../secret.ts';
import { type ServiceClient, createServiceClient } from '../service/client.ts';
import type { Connections } from '../service/connections.ts';
import type { ServiceEvent } from '../service/event.ts';
import { proxyFor } from '../service/proxy.ts';
import type { RateSettings } from '../service/rate-limiter.ts';
import type { CredentialName } from '../service/token.ts';

/** @throws MusterdError `configuration` for an id without its key, or a key without its id */
function requireWhole(
  idName: string,
  id: string | undefined,
  keyName: string,
  key: string | undefined,
): void {
  if ((id === undefined) === (key === undefined)) return;
  const [set, missing] = id === undefined ? [keyName, idName] : [idName, keyName];
  throw new MusterdError('configuration', `${set} is set, and ${missing} is not`, {
    hint: 'An API Secret needs both.',
  });
}

function credentialsOf({ service }: Config) {
  const { secretId, secretKey, nextSecretId, nextSecretKey, apiKey } = service;
  requireWhole(
    'service.secretId (MUSTERD_SECRET_ID)',
    secretId,
    'service.secretKey (MUSTERD_SECRET_KEY)',
    secretKey,
  );
  requireWhole(
    'service.nextSecretId (MUSTERD_NEXT_SECRET_ID)',
    nextSecretId,
    'service.nextSecretKey (MUSTERD_NEXT_SECRET_KEY)',
    nextSecretKey,
  );
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
    'No credentials: service.secretId and service.secretKey (MUSTERD_SECRET_ID, MUSTERD_SECRET_KEY) are not set',
    {
      hint: 'An API Secret is made in the web app under Settings > Integrations > API.',
    },
  );
}

/** A fingerprint of a credential: it identifies the credential, but does not reveal it. */
export function fingerprint(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

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

/** The credentials that a client has used so far, each with the time of the last call that needed it. */
export function credentialUses(config: Config, service: ServiceClient): readonly CredentialUse[] {
  const prints = fingerprintsOf(config);
  return service.credentials().flatMap(({ credential, lastNeededMs }) => {
    const print = prints.get(credential);
    return print === undefined || lastNeededMs === null
      ? []
      : [{ fingerprint: print, acceptedAtMs: lastNeededMs }];
  });
}

type SharedPace = Pick<RateSettings, 'places'>;

export interface ServiceOptions {
  /** The log that gets the events of the service. */
  readonly log: Log;
  /** Aborted when the process is asked to stop. */
  readonly signal?: AbortSignal | undefined;
  /** Called for each request, retry and pause. */
  readonly onServiceEvent?: ((event: ServiceEvent) => void) | undefined;
  /** Connections to the service that other clients use as well. */
  readonly connections?: Connections | undefined;
  /** The pace shared with other processes on this database, or `null` if there is no database. */
  readonly pace: SharedPace | null;
}

/** @throws MusterdError `configuration` */
export function createService(
  config: Config,
  mode: 'read-only' | 'read-write',
  options: ServiceOptions,
): ServiceClient {
  const { signal, pace, connections } = options;
  const { baseUrl, caFile } = config.service;
  if (baseUrl === undefined) {
    throw new MusterdError('configuration', 'No service: service.baseUrl (MUSTERD_BASE_URL) is not set', {
      hint: 'Set it to the address of the service, or try "musterd demo" first.',
    });
  }
  const onEvent = (event: ServiceEvent) => {
    options.onServiceEvent?.(event);
    logServiceEvent(options.log, event);
  };
  return createServiceClient({
    baseUrl,
    credentials: credentialsOf(config),
    mode,
    http: {
      ...config.http,
      headersTimeoutMs: config.http.totalDeadlineMs / 2,
      caFile,
      proxy: proxyFor(baseUrl)?.href,
    },
    rate: { ...config.rate, ...pace },
    clock: systemClock,
    signal,
    onEvent,
    connections,
  });
}

/** Checks that the settings have an address and credentials of the service. @throws MusterdError `configuration` */
export async function requireService(config: Config, log: Log, connections?: Connections): Promise<void> {
  await createService(config, 'read-only', { log, pace: null, connections }).close();
}

/** The team's pace. All processes that call the service share it through the database, even if they only read. */
export const sharePace = (db: Database, config: Config): SharedPace => ({
  places: createSharedPlaces(db, config.team),
});
