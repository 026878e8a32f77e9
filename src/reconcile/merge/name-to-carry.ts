/** Which name can go along with an update of other fields, where an update without the name would clear it. */
import { canonicalName, countWords, joinName, type NamePair, samePair, splitName } from '../../model/name.ts';
import { type BaseUser, type MirrorUser, readable, type ServiceUser } from '../../model/user.ts';

/**
 * The service's name in halves. Both who holds a field because no name can go along and who keeps such a hold ask this.
 *
 * | the name on the service                       | what goes along                  |
 * |-----------------------------------------------|----------------------------------|
 * | empty                                         | `undefined`: none can be lost    |
 * | one or two words, or its split is known       | its halves                       |
 * | more words, and its split is a guess          | `null`: nobody knows the halves  |
 */
export function nameToCarry(
  base: BaseUser,
  mirror: MirrorUser,
  service: ServiceUser | undefined,
): NamePair | null | undefined {
  const said = readable(service?.name);
  const shown = said === undefined ? base.joined : (said ?? '');
  const words = countWords(shown);
  if (words === 0) return undefined;
  const isAgreed = joinName(base.name) === canonicalName(shown);
  const isKnown = samePair(mirror.name, base.name) && mirror.split === 'known';
  if (isAgreed && (isKnown || words <= 2)) return base.name;
  return words <= 2 ? splitName(shown) : null;
}
