/**
 * Decides who may see the page: anybody on this machine, and from elsewhere, or if tokens are set, those who know one.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { createAttemptLimit } from '../../http/attempt-limit.ts';

export interface PageKeys {
  /** The password for any name, or a bearer's token. */
  readonly token?: string | undefined;
  /** People with a token of their own, by name. If there are any, nobody else decides. */
  readonly people?: Readonly<
    Record<string, { readonly token?: string | undefined; readonly may: 'look' | 'decide' }>
  >;
}

/** Who asks for a page. */
export interface Asker {
  readonly actor: string | null;
  readonly isKnown: boolean;
  /** Whether they may decide, where the page takes decisions. */
  readonly mayDecide: boolean;
}

export type Admission =
  /** `actor` has proven to know a token. `isKnown` says that it belongs to that name, which else was just typed. */
  | ({ readonly may: true } & Asker)
  | { readonly may: false; readonly status: 401 | 403 | 429; readonly waitMs: number };

export interface PageAccess {
  admit(authorization: string | undefined, address: string): Admission;
}

/** The number of wrong keys from one address within a minute after which only the token for any name is accepted from it. */
const wrongKeys = 10;
const longestHeader = 4_096;

const digest = (text: string) => createHash('sha256').update(text).digest();
const isSame = (given: string, wanted: string) => timingSafeEqual(digest(given), digest(wanted));

interface GivenKey {
  readonly name: string;
  readonly secret: string;
}

function readKey(authorization: string): GivenKey | undefined {
  const [, scheme = '', rest = ''] = /^(\w+) +(\S+)$/.exec(authorization.slice(0, longestHeader)) ?? [];
  if (/^bearer$/i.test(scheme)) return { name: '', secret: rest };
  if (!/^basic$/i.test(scheme)) return undefined;
  const text = Buffer.from(rest, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return colon < 0 || text.includes('\0')
    ? undefined
    : { name: text.slice(0, colon), secret: text.slice(colon + 1) };
}

/** All tokens are always compared, so that the time it takes tells nothing. A bearer gives no name. */
function judge({ name, secret }: GivenKey, { token, people = {} }: PageKeys): Asker | undefined {
  const all = Object.entries(people);
  const [whose] = all.filter(
    (person) => isSame(secret, person[1].token ?? '') && person[1].token !== undefined,
  );
  const hasToken = token !== undefined && isSame(secret, token);
  if (whose !== undefined && (name === '' || name === whose[0]))
    return { actor: whose[0], isKnown: true, mayDecide: whose[1].may === 'decide' };
  const isTaken = Object.hasOwn(people, name);
  return hasToken && !isTaken
    ? { actor: name || null, isKnown: false, mayDecide: all.length === 0 }
    : undefined;
}

/** @param onLoopback whether nobody else can connect, so that everybody is let in if there is no key */
export function createPageAccess(keys: PageKeys, onLoopback: boolean, monotonicMs: () => number): PageAccess {
  const limit = createAttemptLimit(wrongKeys, monotonicMs);
  return {
    admit: (authorization, address) => {
      if (keys.token === undefined && Object.keys(keys.people ?? {}).length === 0)
        return onLoopback
          ? { may: true, actor: null, isKnown: false, mayDecide: false }
          : { may: false, status: 403, waitMs: 0 };
      if (authorization === undefined) return { may: false, status: 401, waitMs: 0 };
      const given = readKey(authorization);
      const asker = given === undefined ? undefined : judge(given, keys);
      const waitMs = limit.blockedMs(address);
      // Behind a proxy all have one address. A token is too long to be guessed, but one that belongs to a name may be a
      // password that somebody chose.
      if (waitMs > 0 && asker?.isKnown !== false) return { may: false, status: 429, waitMs };
      if (asker !== undefined) return { may: true, ...asker };
      limit.failed(address);
      return { may: false, status: 401, waitMs: 0 };
    },
  };
}
