/**
 * The client of the service, which runs and commands use: every endpoint of interface.md as a typed function. The client
 * that other programs import is in `library`.
 */
import type { Clock } from '../clock.ts';
import { MusterdError } from '../errors.ts';
import { checkBaseUrl } from './base-url.ts';
import { createCall, type MakeCall } from './call.ts';
import type { Connections } from './connections.ts';
import { createClockSkew } from './clock-skew.ts';
import { type CredentialCheck, createCredentialCheck } from './credential-check.ts';
import type { OnEvent } from './event.ts';
import { createHttp, defaultHttpSettings, type HttpSettings, type LongestAnswer } from './http.ts';
import { createListingEndpoints, type ListingEndpoints, type PagesSettings } from './listing-endpoints.ts';
import { createMessageEndpoints, type MessageEndpoints } from './messages/message-endpoints.ts';
import { createRate, defaultRateSettings, type RateSettings } from './rate-limiter.ts';
import { createRawRequest, type RawRequest } from './raw-request.ts';
import { defaultRetrySettings, type RetrySettings } from './retry.ts';
import { createRosterEndpoints, type RosterEndpoints } from './roster-endpoints.ts';
import { type Credentials, createTokens, type Tokens } from './token.ts';

export interface ServiceClientOptions {
  /** For example `https://host`; plain http only for loopback addresses. */
  readonly baseUrl: string;
  readonly credentials: Credentials;
  /** `read-only` refuses every write before anything is sent. */
  readonly mode: 'read-only' | 'read-write';
  readonly http?: Partial<HttpSettings>;
  /** Connections that other clients use, too. */
  readonly connections?: Connections | undefined;
  readonly rate?: Partial<RateSettings>;
  readonly retry?: Partial<RetrySettings>;
  /** The most pages that are read of one listing. */
  readonly maxPages?: number;
  readonly clock: Clock;
  /** If this is aborted, waits end, no further request is sent, and requests in flight can finish for `graceMs`. */
  readonly signal?: AbortSignal | undefined;
  /** How long requests in flight may continue after the abort, in ms. */
  readonly graceMs?: number;
  readonly onEvent?: OnEvent | undefined;
  /** Returns a random number from 0 to 1, for jitter. */
  readonly random?: () => number;
}

/**
 * All methods throw `ServiceError` if the service gave no usable answer, and `MusterdError`
 * `stopped` if asked to stop. A `ServiceError` with status 401 means that no credential is accepted.
 */
export interface ServiceClient
  extends RosterEndpoints,
    ListingEndpoints,
    MessageEndpoints,
    RawRequest,
    CredentialCheck,
    ChannelState {}

/** The state of the channel after the calls so far. */
interface ChannelState {
  /** The longest answer so far, counting only answers that grow with the team; `null` before the first such answer. */
  longestAnswer(): LongestAnswer | null;
  /** The service's clock minus ours in ms, as last measured; `null` before the first answer. */
  clockOffsetMs(): number | null;
  /** Waits for requests in flight and closes the channel's own connections. Shared connections stay open. */
  close(): Promise<void>;
}

/** The channel through which all endpoints call. */
interface Channel extends ChannelState {
  readonly call: MakeCall;
  readonly pages: PagesSettings;
  readonly tokens: Tokens;
  /** The time by the service's clock or, before it is known, by our clock. */
  serviceNowMs(): number;
}

const defaultMaxPages = 100_000;
/** So short that an orderly end takes less than 20 s, including the time to record the outcomes. */
const defaultGraceMs = 15_000;

/** Checks the bounds of the settings, because a caller can pass any values. */
function checkSettings(http: HttpSettings, rate: RateSettings): void {
  for (const [name, value] of Object.entries({ ...http, burst: rate.burst })) {
    if (typeof value === 'number' && !(Number.isSafeInteger(value) && value > 0)) {
      throw new MusterdError('configuration', `${name} must be a whole number above 0`);
    }
  }
  if (!(rate.perMinute > 0 && Number.isFinite(rate.perMinute))) {
    throw new MusterdError('configuration', 'rate.perMinute must be a number above 0');
  }
  if (!(rate.share > 0 && rate.share <= 1)) {
    throw new MusterdError('configuration', 'rate.share must be above 0 and at most 1');
  }
}

/** @throws MusterdError `configuration` for a base URL that is not https, empty credentials or settings out of bounds */
export function openChannel(options: ServiceClientOptions): Channel {
  const { clock, signal, onEvent = () => undefined, random = Math.random } = options;
  const httpSettings = { ...defaultHttpSettings, ...options.http };
  const rateSettings = { ...defaultRateSettings, ...options.rate };
  checkSettings(httpSettings, rateSettings);
  const skew = createClockSkew(clock);
  const tokens = createTokens(options.credentials, clock, () => skew.correctionMs());
  const rate = createRate(rateSettings, clock, { signal, random });
  const http = createHttp(checkBaseUrl(options.baseUrl), options.mode, httpSettings, options.connections);
  const { concurrency } = httpSettings;
  const graceMs = options.graceMs ?? defaultGraceMs;
  let grace: NodeJS.Timeout | undefined;
  const onStop = () => {
    grace = setTimeout(() => http.cut(), graceMs).unref();
  };
  signal?.addEventListener('abort', onStop, { once: true });
  const retry = { ...defaultRetrySettings, ...options.retry };
  const call = createCall({ http, tokens, rate, skew, clock, concurrency, retry, random, signal, onEvent });
  const pages = { maxPages: options.maxPages ?? defaultMaxPages };
  if ('apiKey' in options.credentials) {
    const message = 'the legacy team API key is planned for deprecation; use an API secret instead';
    onEvent({ kind: 'warning', code: 'legacy-api-key', message });
  }
  return {
    call,
    pages,
    tokens,
    serviceNowMs: () => clock.now() + (skew.offsetMs() ?? 0),
    longestAnswer: () => http.longestAnswer(),
    clockOffsetMs: () => skew.offsetMs(),
    close: async () => {
      await http.close();
      signal?.removeEventListener('abort', onStop);
      clearTimeout(grace);
    },
  };
}

/** @throws MusterdError `configuration`, as {@link openChannel} does */
export function createServiceClient(options: ServiceClientOptions): ServiceClient {
  const { call, pages, tokens, ...channel } = openChannel(options);
  return {
    ...createRosterEndpoints(call),
    ...createListingEndpoints(call, pages),
    ...createMessageEndpoints(call, () => channel.serviceNowMs()),
    ...createRawRequest(call, pages),
    ...createCredentialCheck(call, tokens),
    ...channel,
  };
}
