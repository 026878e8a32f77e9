/** Finds the name to send with an update of other fields, on a service where an update without a name clears it. */
import { canonicalName, countWords, joinName, type NamePair, samePair, splitName } from '../../model/name.ts';
import type { Policy } from './merge-field.ts';
import { type BaseUser, type MirrorUser, readable, type ServiceUser } from '../../model/user.ts';

/**
 * The halves of the service's name to send with the update. If they are `null`, the updated fields are held:
 *
 * | the name on the service                                        | `approvesSplits` | result                           |
 * |----------------------------------------------------------------|------------------|----------------------------------|
 * | empty                                                          | ·                | `undefined`: no name can be lost |
 * | one or two words                                               | ·                | its halves                       |
 * | more words, both sides agree on halves that are not as guessed | ·                | these halves, sent before        |
 * | more words, and an editor marked the guessed split as known    | no               | the guessed halves               |
 * | more words, and an editor marked the guessed split as known    | yes              | `null`: split not approved       |
 * | more words, and the split is only a guess                      | ·                | `null`: halves not known         |
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
