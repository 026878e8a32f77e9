/** Makes the plan of one run for one user. Pure: values in, a plan out. */
import type { TeamMember } from '../../model/team-member.ts';
import { emptyValues, type Field, singleNames } from '../../model/fields.ts';
import { canonicalName, joinName, samePair } from '../../model/name.ts';
import {
  type BaseUser,
  hasUnreadable,
  type MirrorUser,
  readable,
  type ServiceUser,
  type ServiceValue,
  sameBytes,
} from '../../model/user.ts';
import {
  type Decision,
  type Decisions,
  decideEach,
  type Hold,
  holdField,
  type ObservedUser,
  type UserPlan,
  type UserWrite,
} from '../../model/user-plan.ts';
import type { UserState } from '../../model/user-state.ts';
import { isSameEdit, holdOn } from './held-field.ts';
import { mergeField, type Policy } from './merge-field.ts';
import {
  emptiedDetail,
  holdStands,
  isAsked,
  isEmptied,
  planField,
  type UserOnBothSides,
  stillHeld,
  versionsOf,
} from './plan-field.ts';
import { observe, takeValues, unlessSame, writeOf } from './service-values.ts';
import { caseOf } from './user-case.ts';

const allWait = decideEach(() => ({ kind: 'wait' }));

function decideMerge(state: UserOnBothSides, policy: Policy): Decisions {
  const name = planField('name', state, policy);
  // If the name settles now, both sides agree on the halves that an editor set, so they can be sent with other fields.
  const hasName = name.kind === 'push' || (name.kind === 'settle' && state.mirror.split === 'known');
  return decideEach((field) => (field === 'name' ? name : planField(field, state, policy, hasName)));
}

/** The hold of an edit that was made before the user left. The edit waits for a person; a rejected edit stays rejected. */
function holdOfGone(
  field: Field,
  mirror: MirrorUser,
  agreed: BaseUser | MirrorUser,
  { held, edits }: Pick<UserState, 'held' | 'edits'>,
): Hold {
  const service = (field === 'name' ? joinName(agreed.name) : agreed[field]) as ServiceValue;
  const detail = 'the user left the team and came back; the earlier edit waits';
  const values = { base: agreed[field], mirror: mirror[field], service };
  const { hold } = holdField(field, 'returned', detail, values);
  const before = holdOn(field, { held });
  const isRejected =
    before?.reason === 'rejected' &&
    isSameEdit(before, { edits }) &&
    holdStands(before, mirror, { id: 0n, raw: {} });
  return isRejected ? { ...hold, reason: before.reason, detail: before.detail } : hold;
}

/**
 * Decides one field of a user who is taken from the service as a whole. Base gets the service's value. An edit that the
 * service does not have stays in the mirror and is held. Base never gets the edited value, even if the service does not
 * show the field. An empty name never replaces a name that is not empty.
 */
export function takeField(field: Field, state: UserOnBothSides, stays: (hold: Hold) => boolean): Decision {
  const { base, mirror, service } = state;
  const before = holdOn(field, state);
  if (before !== undefined && stays(before)) return stillHeld(field, service);
  const isLost =
    field === 'name' && base !== undefined && isEmptied(service, base) && isEmptied(service, mirror);
  const from = base ?? mirror;
  const agreed = isLost ? from : { ...from, [field]: takeValues(service, from)[field] };
  const verdict = mergeField(field, base, mirror, service);
  const mayBeEdited = verdict === 'push' || verdict === 'conflict' || verdict === 'unread';
  if (mayBeEdited && !sameBytes(field, mirror, agreed)) {
    const hold = holdOfGone(field, mirror, agreed, state);
    return isLost ? { kind: 'hold', hold } : { kind: 'hold', hold, agrees: true };
  }
  if (!isLost) return { kind: 'adopt', ends: before !== undefined };
  return holdField(field, 'conflict', emptiedDetail, versionsOf(field, state));
}

/** Decides about a user who is new, or whose row is missing in the mirror and is restored from base. */
function decideAdopt(state: UserState, service: ServiceUser): Decisions {
  const row = state.base ?? takeValues(service, emptyValues);
  const seen: UserOnBothSides = { ...state, service, mirror: { ...row, split: 'guessed' } };
  return decideEach((field) => takeField(field, seen, isAsked));
}

/** True if the user is known only from the team listing. */
const neverResolved = (base: BaseUser) => singleNames.every((field) => base[field] === null);

/** True if the team listing gives the name: no lookup ever found the user, and no edit or requested hold keeps it. */
function isListedName(state: UserState, { name }: TeamMember): boolean {
  const { base, mirror } = state;
  if (base === undefined) return mirror === undefined;
  const isEdited = mirror !== undefined && !samePair(base.name, mirror.name);
  if (name === null || isEdited || isAsked(holdOn('name', state))) return false;
  return neverResolved(base) && !isEmptied({ name }, base);
}

/** Decides a field of a member whom no lookup finds. @param listed the values that the team listing gives */
function planListed(field: Field, state: UserState, listed: ServiceUser): Decision {
  const { base, mirror } = state;
  if (mirror === undefined) return { kind: 'adopt', ends: false };
  if (base === undefined) return { kind: 'wait' };
  const joined = readable(listed.name);
  if (field === 'name' && typeof joined === 'string' && joined !== base.joined) {
    if (joinName(mirror.name) === canonicalName(joined)) return { kind: 'adopt', ends: false };
    return { kind: 'pull', values: versionsOf(field, { ...state, mirror, service: listed }), ends: false };
  }
  const isKept = mirror.gone && !sameBytes(field, mirror, base) && !isAsked(holdOn(field, state));
  return isKept ? { kind: 'hold', hold: holdOfGone(field, mirror, base, state) } : { kind: 'wait' };
}

/** Plans a listed user whom no lookup finds. Nothing is pushed. Role, and perhaps name, are taken from the team listing. */
function planUnresolved(state: UserState, member: TeamMember): Pick<UserPlan, 'fields' | 'write'> {
  const { id, base, mirror } = state;
  const follows = isListedName(state, member);
  const listed: ServiceUser = follows ? { id, name: member.name ?? '', raw: {} } : { id, raw: {} };
  const fields = decideEach((field) => planListed(field, state, listed));
  // There is no base, and the team listing contains too little to create a base.
  if (base === undefined && mirror !== undefined) return { fields, write: null };
  const observed = (joined: string): ObservedUser => ({
    name: follows || mirror === undefined ? joined : mirror.joined,
    role: member.role ?? mirror?.role ?? null,
    resolved: false,
    details: null,
  });
  return { fields, write: unlessSame(state, writeOf(state, listed, fields, observed)) };
}

/** The user exists only in the mirror. The interface cannot create users, so all fields wait. */
function decideStranger({ mirror, held }: UserState): Decisions {
  const detail = 'the interface gives no way to create users';
  const values = { base: undefined, mirror: mirror?.name, service: undefined };
  return held.length > 0 ? allWait : { ...allWait, name: holdField('name', 'unsupported', detail, values) };
}

/** @param decide decides about a user that both sides have */
export function planUser(
  state: UserState,
  member: TeamMember | undefined,
  policy: Policy,
  decide: (state: UserOnBothSides, policy: Policy) => Decisions = decideMerge,
): UserPlan {
  const { id, base, mirror, service } = state;
  const userCase = caseOf(state, member);
  const plan = (fields: Decisions, write: UserWrite | null = null) => ({ id, case: userCase, fields, write });
  if (userCase === 'waiting') return plan(allWait);
  if (service === undefined) {
    if (member !== undefined) return { ...plan(allWait), ...planUnresolved(state, member) };
    return plan(userCase === 'stranger' ? decideStranger(state) : allWait);
  }
  // Without a base, an unreadable field stops the merge: a partial base is never created.
  if (mirror !== undefined && base === undefined && hasUnreadable(service))
    return plan(decideEach((field) => (holdOn(field, state) ? stillHeld(field, service) : { kind: 'wait' })));
  const decideSeen = (seen: UserOnBothSides) =>
    userCase === 'return' ? decideEach((field) => takeField(field, seen, isAsked)) : decide(seen, policy);
  const fields =
    mirror === undefined ? decideAdopt(state, service) : decideSeen({ ...state, mirror, service });
  const role = member?.role ?? mirror?.role ?? null;
  const write = writeOf(state, service, fields, (joined) => observe(service, role, joined));
  return plan(fields, unlessSame(state, write));
}
