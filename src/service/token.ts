import { SignJWT } from 'jose';
import type { Clock } from '../clock.ts';
import { MusterdError } from '../errors.ts';
import type { Secret } from '../secret.ts';

/** An API Secret: "It has a Secret ID and a Secret Key" (interface.md, API Secret JWT, 1). */
export interface ApiSecret {
  readonly secretId: string | Secret;
  readonly secretKey: Secret;
}

/** One API Secret; two during a rotation ("Up to two API Secrets exist at once"); or the legacy team API key. */
export type Credentials =
  | (ApiSecret & { readonly next?: ApiSecret | undefined })
  | { readonly apiKey: Secret };

/** The configured credentials: the current secret, the next secret, or the legacy key. */
export type CredentialName = 'current' | 'next' | 'api-key';

export interface Authorization {
  /** The value of the `Authorization` header. Never to be logged. */
  readonly header: string;
  readonly credential: CredentialName;
  /** Increases with each new token. It shows whether a refusal is about an older token. */
  readonly serial: number;
}

/** The next step after a 401. */
export type Remedy = 'again' | 'fresh-token' | 'other-secret' | 'none';

export interface Tokens {
  /** The header to send now. A token is reused for up to 4 minutes. */
  authorization(credential?: CredentialName): Promise<Authorization>;
  /**
   * Chooses the next step after a 401: first a fresh token of the same secret, then the other secret, then `none`.
   *
   * @param tried the steps that this call has already tried
   */
  refused(authorization: Authorization, tried: ReadonlySet<Remedy>): Remedy;
  /** Records that a call with this token was accepted. */
  accepted(authorization: Authorization): void;
  prefer(credential: CredentialName): void;
  readonly names: readonly CredentialName[];
  inUse(): CredentialName;
  /** The time of the last successful call with each credential, in ms since 1970; `null` if none since the start. */
  lastNeeded(): ReadonlyMap<CredentialName, number | null>;
}

/** "A token expires 5 minutes after `iat`" (interface.md, API Secret JWT, 7). The fifth minute is a margin. */
const reuseMs = 240_000;
const headerSafe = /^[\x21-\x7e]+$/;

function reveal(value: string | Secret): string {
  return typeof value === 'string' ? value : value.reveal();
}

/** "the Secret ID, then the two characters `||`, then the Secret Key" (interface.md, API Secret JWT, 4). */
function signingKey(secret: ApiSecret, setting: string): { id: string; key: Uint8Array } {
  const id = reveal(secret.secretId);
  const key = reveal(secret.secretKey);
  if (id.trim() === '' || key.trim() === '') {
    throw new MusterdError('configuration', `${setting} needs a secret id and a secret key`, {
      hint: 'The id and the key are shown once, when the secret is made (web app: Settings > Integrations > API).',
    });
  }
  return { id, key: new TextEncoder().encode(`${id}||${key}`) };
}

/** @throws MusterdError `configuration` for an empty credential. */
function makers(
  credentials: Credentials,
  iatSeconds: () => number,
): Map<CredentialName, () => Promise<string>> {
  if ('apiKey' in credentials) {
    const key = credentials.apiKey.reveal();
    if (!headerSafe.test(key)) {
      throw new MusterdError('configuration', 'The API key is empty or is not valid in a header');
    }
    return new Map([['api-key', () => Promise.resolve(key)]]);
  }
  const sign = (secret: ApiSecret, setting: string) => {
    const { id, key } = signingKey(secret, setting);
    return () =>
      new SignJWT({ iss: id, iat: iatSeconds() }).setProtectedHeader({ alg: 'HS256', typ: 'JWT' }).sign(key);
  };
  const all = new Map<CredentialName, () => Promise<string>>([
    ['current', sign(credentials, 'the API secret')],
  ]);
  if (credentials.next !== undefined) all.set('next', sign(credentials.next, 'the next API secret'));
  return all;
}

interface CachedToken {
  readonly token: Promise<string>;
  readonly serial: number;
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/**
 * Makes and caches tokens (interface.md, API Secret JWT). Their age is measured by the monotonic clock. A token is also
 * dropped if the wall clock jumps.
 *
 * @param correctionMs ms to add to our clock to get the service's time, within the allowed bound
 * @throws MusterdError `configuration` for an empty credential
 */
export function createTokens(credentials: Credentials, clock: Clock, correctionMs: () => number): Tokens {
  const make = makers(credentials, () => Math.floor((clock.now() + correctionMs()) / 1000));
  const names = [...make.keys()];
  const made = new Map<CredentialName, CachedToken>();
  const accepted = new Map<CredentialName, number | null>(names.map((name) => [name, null]));
  let inUse: CredentialName = names[0] ?? 'current';
  let serial = 0;

  const usable = (old: CachedToken | undefined): old is CachedToken =>
    old !== undefined &&
    clock.monotonicMs() - old.monotonicMs < reuseMs &&
    Math.abs(clock.now() - old.wallMs) < reuseMs;

  return {
    names,
    inUse: () => inUse,
    lastNeeded: () => accepted,
    prefer: (credential) => {
      inUse = credential;
    },
    authorization: async (credential = inUse) => {
      const maker = make.get(credential);
      if (maker === undefined) throw new RangeError(`no credential is called ${credential}`);
      let current = made.get(credential);
      if (!usable(current)) {
        serial += 1;
        current = { token: maker(), serial, monotonicMs: clock.monotonicMs(), wallMs: clock.now() };
        made.set(credential, current);
      }
      const { token, serial: mine } = current;
      try {
        return { header: `Bearer ${await token}`, credential, serial: mine };
      } catch (error) {
        // The token could not be made. The next call tries again.
        if (made.get(credential)?.serial === mine) made.delete(credential);
        throw error;
      }
    },
    accepted: (authorization) => {
      accepted.set(authorization.credential, clock.now());
    },
    refused: (authorization, tried) => {
      const { credential } = authorization;
      const newest = made.get(credential);
      if (newest?.serial === authorization.serial) made.delete(credential);
      if (tried.size === 0 && credential !== inUse) return 'again';
      if (!tried.has('fresh-token') && credential !== 'api-key') return 'fresh-token';
      const other = names.find((name) => name !== credential);
      if (other === undefined || tried.has('other-secret')) return 'none';
      inUse = other;
      return 'other-secret';
    },
  };
}
