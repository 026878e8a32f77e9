/**
 * The name that an update of other fields carries, on a deployment that clears the name if an
 * update leaves it out.
 *
 * | the name on the service                       | what the update carries                |
 * |-----------------------------------------------|----------------------------------------|
 * | empty                                         | no name: there is nothing to lose      |
 * | one or two words, or its split is known       | its two halves                         |
 * | more words, and its split is a guess          | nothing is sent, the fields are held   |
 *
 * If only one user's name was harmed, perhaps by somebody else, this applies to that user alone.
 */
import { holdField, mapPushes, pushOf, type UserPlan } from '../../model/user-plan.ts';
import type { NameSafety } from '../../model/intent.ts';
import type { UserState } from '../../model/user-state.ts';
import type { Id } from '../../model/id.ts';
import { canonicalName, countWords, joinName, type NamePair, samePair, splitName } from '../../model/name.ts';
import { type BaseUser, readable, type ServiceUser, saidOf, says, type UserPatch } from '../../model/user.ts';
import type { RunNote } from '../run-notes.ts';
import { unreadOf } from '../merge/merge-field.ts';
import { patchedFields } from './outcome.ts';

export const isNameless = (patch: UserPatch): boolean =>
  patch.name === undefined && patchedFields(patch).length > 0;

/** Whether updates without a name are suspected, but not known, to harm this user's name. */
export const isSuspect = (safety: NameSafety, id: Id): boolean =>
  typeof safety === 'object' && safety.suspect === id;

/** Whether the next update without a name serves as a probe. */
export const isOpen = (safety: NameSafety): boolean => safety === 'unknown' || typeof safety === 'object';

/**
 * The halves of the service's name; `undefined` if it is empty, `null` if they are unknown.
 * @param known whether the halves in base were set as halves
 */
function halvesOf(shown: string, base: BaseUser, known: boolean): NamePair | null | undefined {
  const words = countWords(shown);
  if (words === 0) return undefined;
  const agreed = joinName(base.name) === canonicalName(shown);
  if (agreed && (known || words <= 2)) return base.name;
  return words <= 2 ? splitName(shown) : null;
}

/** Whether the service's name differs from the name to carry, or is unreadable. */
export function isOtherName(along: NamePair | undefined, user: ServiceUser): boolean {
  const said = saidOf('name', user);
  return along !== undefined && said !== 'left out' && !says(said, joinName(along));
}

/** What to do with an update without a name, if that is known to clear the name. */
type Carried =
  /** The name to carry; `undefined`: there is none to lose. */
  | { readonly along: NamePair | undefined }
  /** An unreadable name must not be cleared or overwritten. */
  | 'unread'
  | { readonly held: string };

function carryName(plan: UserPlan, state: UserState): Carried {
  const base = plan.write?.base ?? state.base;
  const mirror = plan.write?.mirror ?? state.mirror;
  if (base === undefined || mirror === undefined) return { along: undefined };
  const untouched = samePair(mirror.name, base.name);
  if (state.service !== undefined && unreadOf('name', base, state.service) !== undefined) return 'unread';
  const said = readable(state.service?.name);
  const shown = said === undefined ? base.joined : (said ?? '');
  const along = halvesOf(shown, base, untouched && mirror.split === 'known');
  if (along !== null) return { along };
  const accept = untouched ? ", or name_split = 'known'" : '';
  return {
    held: `an update without the name clears it on this service, and the split of "${shown}" is a guess: set first_name and last_name${accept}`,
  };
}

/** The plans of one batch, with the names that they carry. */
export interface NamedPlans {
  readonly plans: readonly UserPlan[];
  readonly along: ReadonlyMap<Id, NamePair>;
  readonly said: readonly RunNote[];
}

/**
 * Adds the name to the plans without one, or holds them, if the name would be cleared. If that is unknown,
 * only probes go without a name.
 * @param mayLack whether this plan may serve as a probe: it was scheduled as one, and its name
 * is not edited
 */
export function nameAlong(
  plans: readonly UserPlan[],
  states: ReadonlyMap<Id, UserState>,
  mayLack: (id: Id) => boolean,
  safety: NameSafety,
): NamedPlans {
  const along = new Map<Id, NamePair>();
  let waiting = 0;
  let unseen = 0;
  const named = plans.map((plan): UserPlan => {
    const state = states.get(plan.id);
    if (state === undefined || !isNameless(pushOf(plan)) || safety === 'kept') return plan;
    const isCleared = safety === 'touched' || isSuspect(safety, plan.id);
    if (!isCleared && mayLack(plan.id)) return plan;
    const carried = carryName(plan, state);
    if (carried !== 'unread' && 'along' in carried) {
      if (carried.along !== undefined) along.set(plan.id, carried.along);
      return plan;
    }
    if (isCleared && carried !== 'unread')
      return mapPushes(plan, (field, { values }) => holdField(field, 'unsupported', carried.held, values));
    if (isCleared) unseen += 1;
    else waiting += 1;
    return mapPushes(plan, () => ({ kind: 'wait' }));
  });
  const said = [
    {
      users: waiting,
      text: `${waiting} users wait for the next run: it is not known yet what an update without a name does to the name`,
    },
    {
      users: unseen,
      text: `${unseen} users wait: an update without the name may clear it, and the service does not show it now`,
    },
  ].flatMap(({ users, text }) => (users === 0 ? [] : [{ kind: 'partial', text } as const]));
  return { plans: named, along, said };
}
