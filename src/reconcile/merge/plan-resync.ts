/** Plans a resync: a person has decided that all values of one user are taken from the service. */
import type { TeamMember } from '../../model/team-member.ts';
import type { Field } from '../../model/fields.ts';
import { joinName } from '../../model/name.ts';
import { type ServiceValue, sameBytes } from '../../model/user.ts';
import { type Decision, decideEach, type Hold, holdField, type UserPlan } from '../../model/user-plan.ts';
import type { UserState } from '../../model/user-state.ts';
import { isSameEdit, holdOn } from './held-field.ts';
import { mergeField, type Policy } from './merge-field.ts';
import { holdStands, isAsked, type UserOnBothSides, versionsOf } from './plan-field.ts';
import { planUser, takeField } from './plan-user.ts';
import { takeValues } from './service-values.ts';

const detail = 'resync: this edit had not reached the service';

/** Decides as for a user who came back, but records each taken value as a change, and each edit waits for a person. */
function resyncField(field: Field, state: UserOnBothSides): Decision {
  const { base, mirror, service } = state;
  // An earlier approval no longer counts, because it was given before the resync was asked for.
  const stays = (hold: Hold) =>
    hold.reason === 'asked'
      ? isAsked(hold)
      : hold.decision === undefined && isSameEdit(hold, state) && holdStands(hold, mirror, service);
  const decision = takeField(field, state, stays);
  const values = versionsOf(field, state);
  const reason = mergeField(field, base, mirror, service) === 'conflict' ? 'conflict' : 'review';
  // The hold of a name that the service no longer shows keeps its own message.
  if (decision.kind === 'hold' && decision.hold.reason !== 'conflict') {
    // A later approval applies to the base that is written together with this hold.
    const over = reason === 'conflict' ? values.base : decision.hold.base;
    return { ...decision, hold: { ...decision.hold, reason, base: over, detail } };
  }
  if (decision.kind !== 'adopt') return decision;
  const taken = { ...mirror, [field]: takeValues(service, mirror)[field] };
  if (!sameBytes(field, mirror, taken)) return { kind: 'pull', values, ends: decision.ends };
  const isAgreed = base !== undefined && sameBytes(field, base, taken);
  return isAgreed ? decision : { kind: 'settle', values, ends: decision.ends };
}

/**
 * Base and mirror get the service's values. An edit that has not reached the service stays in the mirror
 * and waits for a person. A field that was held before, also on request, stays unchanged.
 */
export function planResyncOf(read: UserState, member: TeamMember | undefined, policy: Policy): UserPlan {
  // A person asked to take the service's values, so even an older version of the user is taken.
  const state: UserState = { ...read, stale: false };
  const plan = planUser(state, member, policy, (seen) => decideEach((field) => resyncField(field, seen)));
  const { mirror, base } = state;
  if (plan.case === 'merge' || mirror === undefined || base === undefined || mirror.gone) return plan;
  // The user cannot be merged now, so no value of the service is taken. But each edit must wait for a person.
  const fields = decideEach((field) => {
    if (sameBytes(field, mirror, base) || holdOn(field, state) !== undefined) return plan.fields[field];
    const service = (field === 'name' ? joinName(base.name) : base[field]) as ServiceValue;
    const values = { base: base[field], mirror: mirror[field], service };
    return holdField(field, 'review', detail, values);
  });
  return { ...plan, fields };
}
