/** Decides who can see the page: people in the settings, by their tokens. Without people, every user of this machine. */
import { createHash, timingSafeEqual } from 'node:crypto';
import { minuteMs } from '../../model/zone-time.ts';

/** The people who can see the page, by name. Each token is accepted as Basic (the password) and as Bearer. */
export type PageKeys = Readonly<
  Record<string, { readonly token?: string | undefined; readonly may: 'look' | 'decide' }>
>;

export interface Asker {
  /** The person's name; `null` if the settings have no people. */
  readonly actor: string | null;
  /** True if the person can decide, provided that the page takes decisions. */
  readonly mayDecide: boolean;
}

export type Admission =
  | ({ readonly may: true } & Asker)
  | { readonly may: false; readonly status: 401 | 403 | 429; readonly waitMs: number };

export interface PageAccess {
  admit(authorization: string | undefined): Admission;
}

/** The number of wrong keys per minute that are answered at once. Answers to further wrong keys are delayed. */
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

/** All tokens are always compared, so that the time taken reveals nothing. With Bearer, `name` is empty. */
function judge({ name, secret }: GivenKey, people: PageKeys): Asker | undefined {
  const [whose] = Object.entries(people).filter(
    ([, { token }]) => isSame(secret, token ?? '') && token !== undefined,
  );
  return whose !== undefined && (name === '' || name === whose[0])
    ? { actor: whose[0], mayDecide: whose[1].may === 'decide' }
    : undefined;
}

/** @param onLoopback true if only this machine can connect: then, without people in the settings, all are admitted */
export function createPageAccess(
  people: PageKeys,
  onLoopback: boolean,
  monotonicMs: () => number,
): PageAccess {
  let [wrong, startedMs] = [0, monotonicMs()];
  return {
    admit: (authorization) => {
      if (Object.keys(people).length === 0)
        return onLoopback
          ? { may: true, actor: null, mayDecide: false }
          : { may: false, status: 403, waitMs: 0 };
      if (authorization === undefined) return { may: false, status: 401, waitMs: 0 };
      const given = readKey(authorization);
      const asker = given === undefined ? undefined : judge(given, people);
      // Wrong keys are counted for all addresses together. This locks no person out: a correct key is never delayed.
      if (asker !== undefined) return { may: true, ...asker };
      if (monotonicMs() - startedMs >= minuteMs) [wrong, startedMs] = [0, monotonicMs()];
      wrong += 1;
      if (wrong <= wrongKeys) return { may: false, status: 401, waitMs: 0 };
      return { may: false, status: 429, waitMs: startedMs + minuteMs - monotonicMs() };
    },
  };
}
