import { createHash, timingSafeEqual } from 'node:crypto';

const digest = (text: string) => createHash('sha256').update(text).digest();

/**
 * Finds the teams of a token of `POST /hooks/<token>`, usually one or none. Every token is compared by its digest and
 * in constant time, so that the duration tells nothing about any of them.
 * @param tokens `hooks.token` by team
 */
export function createHookTokens(
  tokens: ReadonlyMap<string, string>,
): (candidate: string) => readonly string[] {
  const digests = [...tokens].map(([team, token]) => ({ team, digest: digest(token) }));
  return (candidate) => {
    const wanted = digest(candidate);
    const isSame = digests.map(({ digest }) => timingSafeEqual(digest, wanted));
    return digests.flatMap(({ team }, i) => (isSame[i] === true ? [team] : []));
  };
}
