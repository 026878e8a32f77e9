/** What a person's word makes of one user: everything is taken from the service, or one held field is decided. */
import { joinName } from '../../model/name.ts';
import type { TeamMember } from '../../model/team.ts';
import {
  type BaseUser,
  type Field,
  type MirrorRow,
  type ServiceUser,
  type ServiceValue,
  sameBytes,
} from '../../model/user.ts';
import {
  type DecidedUser,
  type Decision,
  decideEach,
  type Hold,
  holdField,
  type UserPlan,
  type UserWrite,
} from '../../model/user-plan.ts';
import type { UserState } from '../../model/user-state.ts';
import type { Policy } from './merge-field.ts';
import { holdOn, holdStands, isAsked, type Seen, versionsOf } from './plan-field.ts';
import { planUser, takeField } from './plan-user.ts';
import { takeValues, writeOf } from './service-values.ts';

const detail = 'resync: this edit had not reached the service';

/** As of a user who comes back, but that each value taken is a change of its own, and each edit a conflict. */
function resyncField(field: Field, state: Seen): Decision {
  const { base, mirror, service } = state;
  // What a person let pass before is not sent after all: it was decided about another state of things.
  const stays = (hold: Hold) =>
    hold.reason === 'asked'
      ? isAsked(hold)
      : hold.decision === undefined && holdStands(hold, mirror, service);
  const decision = takeField(field, state, stays);
  const values = versionsOf(field, state);
  // A name that the service no longer shows is no edit of ours, and says so itself.
  if (decision.kind === 'hold' && decision.hold.reason !== 'conflict')
    return { ...decision, hold: { ...decision.hold, reason: 'conflict', base: values.base, detail } };
  if (decision.kind !== 'adopt') return decision;
  const taken = { ...mirror, [field]: takeValues(service, mirror)[field] };
  if (!sameBytes(field, mirror, taken)) return { kind: 'pull', values, ends: decision.ends };
  const isAgreed = base !== undefined && sameBytes(field, base, taken);
  return isAgreed ? decision : { kind: 'settle', values, ends: decision.ends };
}

/**
 * Base and mirror become what the service says; an edit that has not reached the service stays in the
 * mirror, and waits for a person. What was held before, or is held on request, stays as it is.
 */
export function planResyncOf(read: UserState, member: TeamMember | undefined, policy: Policy): UserPlan {
  // A person asked to believe the service, so an older version is as good as a newer one.
  const state: UserState = { ...read, stale: false };
  const plan = planUser(state, member, policy, (seen) => decideEach((field) => resyncField(field, seen)));
  const { mirror, base } = state;
  if (plan.case === 'merge' || mirror === undefined || base === undefined || mirror.gone) return plan;
  // Nothing can be taken now, and nothing old is sent by itself either.
  const fields = decideEach((field) => {
    if (sameBytes(field, mirror, base) || holdOn(field, state) !== undefined) return plan.fields[field];
    const service = (field === 'name' ? joinName(base.name) : base[field]) as ServiceValue;
    const values = { base: base[field], mirror: mirror[field], service };
    return holdField(field, 'conflict', detail, values);
  });
  return { ...plan, fields };
}

/** A held field of which a person decided which side's value is to stand; the mirror's goes on to the service. */
export function planResolved(
  state: UserState & { readonly mirror: MirrorRow; readonly base: BaseUser },
  hold: Hold,
  take: 'mirror' | 'service',
): DecidedUser & { readonly write: UserWrite } {
  const { id, mirror } = state;
  const { field, reason, shown: service = hold.service } = hold;
  // Only a conflict has seen the service say "nothing"; otherwise nothing was said, and the base still holds.
  const isSaid = service !== null || reason === 'conflict';
  const said: ServiceUser = { id, raw: {}, ...(isSaid ? { [field]: service ?? null } : {}) };
  const values = { ...versionsOf(field, { ...state, service: said }), service: hold.service };
  const decision: Decision =
    take === 'service'
      ? { kind: 'pull', values, ends: true }
      : { kind: 'push', values, ends: true, agrees: true };
  const fields = { ...decideEach(() => ({ kind: 'wait' })), [field]: decision };
  const { role, resolved } = mirror;
  const isRenamed = field === 'name' && take === 'service';
  const write = writeOf(state, said, fields, (joined) => ({
    name: isRenamed ? joined : mirror.joined,
    role,
    resolved,
    details: null,
  }));
  return { id, fields, write };
}
