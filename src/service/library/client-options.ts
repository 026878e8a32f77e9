import { systemClock } from '../../clock.ts';
import { MusterdError } from '../../errors.ts';
import type { PaceSettings } from '../../model/pace.ts';
import { createSecret } from '../../secret.ts';
import type { ServiceClientOptions } from '../client.ts';
import type { OnEvent } from '../event.ts';
import type { HttpSettings } from '../http.ts';
import type { RetrySettings } from '../retry.ts';
import type { Credentials } from '../token.ts';

/** An API Secret, as the web app shows it under Settings \> Integrations \> API. */
export interface SecretPair {
  readonly secretId: string;
  readonly secretKey: string;
}

/** The address of the service, and the credentials. All other options have a default: docs/client.md. */
export interface ClientOptions extends Partial<HttpSettings> {
  /** For example `https://host`. Plain http is accepted for loopback addresses only. */
  readonly baseUrl: string;
  /** The id of the API Secret, which needs its key, too. */
  readonly secretId?: string | undefined;
  readonly secretKey?: string | undefined;
  /** The second secret during a rotation. It is used as soon as the first secret is refused. */
  readonly next?: SecretPair | undefined;
  /** The legacy team API key, instead of a secret. The service plans to deprecate it. */
  readonly apiKey?: string | undefined;
  /** Refuses every call that writes, before anything is sent. */
  readonly readOnly?: boolean | undefined;
  /** The pace of calls. The default of 500 calls a minute is the service's limit for all programs of a team together. */
  readonly rate?: Partial<PaceSettings> | undefined;
  /** The limits on repeating a call. */
  readonly retry?: Partial<RetrySettings> | undefined;
  /** Called for each request, retry, pause and warning. It must not throw. */
  readonly onEvent?: OnEvent | undefined;
}

function credentialsOf({ secretId, secretKey, next, apiKey }: ClientOptions): Credentials {
  if (secretId !== undefined && secretKey !== undefined) {
    const current = { secretId, secretKey: createSecret(secretKey) };
    return next === undefined
      ? current
      : { ...current, next: { secretId: next.secretId, secretKey: createSecret(next.secretKey) } };
  }
  if (apiKey !== undefined) return { apiKey: createSecret(apiKey) };
  throw new MusterdError('configuration', 'Missing credentials: give both secretId and secretKey');
}

/** The options without keys whose value is `undefined`, because such a key would replace a default. */
const withoutUndefined = <T extends object>(some: T = {} as T): Partial<T> =>
  Object.fromEntries(Object.entries(some).filter(([, value]) => value !== undefined)) as Partial<T>;

/** @throws MusterdError `configuration` for missing credentials */
export function settingsOf(options: ClientOptions, signal: AbortSignal): ServiceClientOptions {
  const {
    baseUrl,
    secretId: _id,
    secretKey: _key,
    next: _next,
    apiKey: _apiKey,
    readOnly,
    rate,
    retry,
    onEvent,
    ...http
  } = options;
  return {
    baseUrl,
    credentials: credentialsOf(options),
    mode: readOnly === true ? 'read-only' : 'read-write',
    http: withoutUndefined(http),
    rate: withoutUndefined(rate),
    retry: withoutUndefined(retry),
    clock: systemClock,
    signal,
    onEvent,
  };
}
