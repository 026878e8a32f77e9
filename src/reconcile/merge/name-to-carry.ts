/** Finds the name that can go along with an update of other fields, if an update without it would clear the name. */
import { canonicalName, countWords, joinName, type NamePair, samePair, splitName } from '../../model/name.ts';
import type { Policy } from './merge-field.ts';
import { type BaseUser, type MirrorUser, readable, type ServiceUser } from '../../model/user.ts';

/**
 * The halves of the service's name. Decides if a field is held because no name can go along, and if such a hold stays.
 *
 * | the name on the service                                        | `approvesSplits` | what goes along                 |
 * |----------------------------------------------------------------|------------------|---------------------------------|
 * | empty                                                          | ·                | `undefined`: none can be lost   |
 * | one or two words                                               | ·                | its halves                      |
 * | more words, both sides agree on halves that are not as guessed | ·                | these: they have been sent      |
 * | more words, and an editor says that the guess is right         | no               | its halves                      |
 * | more words, and an editor says that the guess is right         | yes              | `null`: nobody has approved it  |
 * | more words, and its split is a guess                           | ·                | `null`: nobody knows the halves |
 */
export function nameToCarry(
  base: BaseUser,
  mirror: MirrorUser,
  service: ServiceUser | undefined,
  { approvesSplits = false }: Pick<Policy, 'approvesSplits'>,
): NamePair | null | undefined {
  const serviceName = readable(service?.name);
  const joined = serviceName === undefined ? base.joined : (serviceName ?? '');
  const words = countWords(joined);
  if (words === 0) return undefined;
  const isAgreed = joinName(base.name) === canonicalName(joined);
  const isSaid = samePair(mirror.name, base.name) && mirror.split === 'known';
  const isKnown = isSaid && (!approvesSplits || !samePair(base.name, splitName(joined)));
  if (isAgreed && (isKnown || words <= 2)) return base.name;
  return words <= 2 ? splitName(joined) : null;
}
