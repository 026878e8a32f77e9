/**
 * Decides which name an update of other fields carries, on a deployment that clears the name if an update leaves it
 * out. If the halves of the name are unknown, nothing is sent, and the fields are held.
 */
import { holdField, mapPushes, pushOf, type UserPlan } from '../../model/user-plan.ts';
import type { NameSafety } from '../../model/intent.ts';
import type { UserState } from '../../model/user-state.ts';
import type { Id } from '../../model/id.ts';
import { canonicalName, joinName, type NamePair, samePair, splitName } from '../../model/name.ts';
import { readable, type UserPatch } from '../../model/user.ts';
import { type Policy, unreadOf } from '../merge/merge-field.ts';
import { nameToCarry } from '../merge/name-to-carry.ts';
import { patchedFields } from './outcome.ts';

export const isNameless = (patch: UserPatch): boolean =>
  patch.name === undefined && patchedFields(patch).length > 0;

/** True if the name is held. The next run does not restore a held name that an update of other fields has cleared. */
export const isNameHeld = ({ fields }: Pick<UserPlan, 'fields'>): boolean =>
  fields.name.kind === 'hold' || fields.name.kind === 'held';

/** The decision about an update without a name, on a service that then clears the name. */
type CarriedName =
  /** The name to add to the update; `undefined` for a user without a name. */
  | { readonly along: NamePair | undefined }
  /** The name cannot be read, so the update is not sent: it would clear or overwrite the name. */
  | 'unread'
  | { readonly held: string };

function carryName(plan: UserPlan, state: UserState, policy: Policy): CarriedName {
  const base = plan.write?.base ?? state.base;
  const mirror = plan.write?.mirror ?? state.mirror;
  if (base === undefined || mirror === undefined) return { along: undefined };
  if (state.service !== undefined && unreadOf('name', base, state.service) !== undefined) return 'unread';
  const along = nameToCarry(base, mirror, state.service, policy);
  if (along !== null) return { along };
  const serviceName = readable(state.service?.name) ?? base.joined;
  const why = 'an update without the name clears it on this service, and';
  if (policy.approvesSplits === true) {
    const split = joinName(base.name) === canonicalName(serviceName) ? base.name : splitName(serviceName);
    const held = `${why} nobody has approved that "${serviceName}" is "${split.first}" and "${split.last}": "musterd resolve" with --take mirror sends these along, or edit the name`;
    return isAgreedTo(held, plan, state) ? { along: split } : { held };
  }
  const accept = samePair(mirror.name, base.name) ? ", or name_split = 'known'" : '';
  return {
    held: `${why} the split of "${serviceName}" is a guess: set first_name and last_name${accept}`,
  };
}

/** True if a person let a field pass that was held with exactly this message, which names the halves to be sent. */
const isAgreedTo = (held: string, { fields }: UserPlan, state: UserState): boolean =>
  state.held.some(
    ({ field, reason, detail, decision }) =>
      fields[field].kind === 'push' && reason === 'unsupported' && detail === held && decision !== undefined,
  );

/** The plans of one batch, and the names that are sent with them. */
interface NamedPlans {
  readonly plans: readonly UserPlan[];
  readonly along: ReadonlyMap<Id, NamePair>;
  /** The number of users who wait, because the service does not show their name. */
  readonly waiting: number;
}

/**
 * Adds the name to updates that would clear it otherwise. If the halves of the name are unknown, holds the fields.
 * @param policy decides whether a split of a name needs an approval
 */
export function nameAlong(
  plans: readonly UserPlan[],
  states: ReadonlyMap<Id, UserState>,
  policy: Policy,
  safety: NameSafety,
): NamedPlans {
  const along = new Map<Id, NamePair>();
  let waiting = 0;
  const named = plans.map((plan): UserPlan => {
    const state = states.get(plan.id);
    if (state === undefined || !isNameless(pushOf(plan)) || safety !== 'clears') return plan;
    const carried = carryName(plan, state, policy);
    if (carried === 'unread') {
      waiting += 1;
      return mapPushes(plan, () => ({ kind: 'wait' }));
    }
    if ('held' in carried)
      return mapPushes(plan, (field, { values }) => holdField(field, 'unsupported', carried.held, values));
    if (carried.along !== undefined) along.set(plan.id, carried.along);
    return plan;
  });
  return { plans: named, along, waiting };
}
