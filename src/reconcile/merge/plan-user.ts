/** What one run makes of one user: values in, a plan out. */
import type { FieldValue, Hold, Move, UserPlan, UserState, UserWrite } from '../../model/change.ts';
import { canonicalName, joinName, type NamePair, samePair, splitName } from '../../model/name.ts';
import type { TeamMember } from '../../model/team.ts';
import {
  type BaseUser,
  type Field,
  fields,
  hasUnreadable,
  type MirrorUser,
  readable,
  type ServiceUser,
  sameBytes,
  type UserPatch,
  type UserValues,
} from '../../model/user.ts';
import { askedFields, heldFields, neverResolved } from './held-fields.ts';
import { mergeField } from './merge-field.ts';
import { hasMoved, isOvertaken } from './overtaken.ts';
import { emptiedDetail, holdStands, isEmptied, planField, shownAnew } from './plan-field.ts';
import type { Policy } from './policy.ts';
import { decideUserCase } from './user-case.ts';
import { adoptValues, emptyValues, observe, takeValue } from './service-values.ts';

/** Mirror and base after the pulls and settles among the moves; pushes move nothing yet. */
function afterMoves(state: UserState, mirror: MirrorUser, service: ServiceUser, moves: readonly Move[]) {
  const base = state.base ?? adoptValues(service, mirror).base;
  let nextMirror = mirror;
  let nextBase = base;
  for (const { kind, field } of moves) {
    if (kind === 'push') continue;
    const value = takeValue(field, service, mirror);
    nextMirror = { ...nextMirror, [field]: value };
    nextBase = { ...nextBase, [field]: value };
    if (field === 'name') {
      const kept = samePair(nextMirror.name, mirror.name);
      nextMirror = { ...nextMirror, split: kept ? mirror.split : 'guessed' };
      nextBase = { ...nextBase, joined: readable(service.name) ?? '' };
    }
  }
  return { mirror: nextMirror, base: nextBase };
}

const nothing = { moves: [], holds: [], releases: [], held: [], patch: {}, write: null };

function planMerge(
  state: UserState,
  mirror: MirrorUser,
  service: ServiceUser,
  role: string | null,
  policy: Policy,
): UserPlan {
  const { versions } = state;
  const isLate = versions !== undefined && isOvertaken(versions, hasMoved(state, service));
  const plans = fields.map((field) => planField(field, state, mirror, service, policy, isLate));
  const held = fields.filter((_, index) => plans[index]?.held === true);
  const moves = plans.flatMap(({ move }) => (move === undefined ? [] : [move]));
  const holds = plans.flatMap(({ hold }) => (hold === undefined ? [] : [hold]));
  const after = afterMoves(state, mirror, service, moves);
  const patch: UserPatch = Object.fromEntries(
    moves.filter(({ kind }) => kind === 'push').map(({ field }) => [field, mirror[field]]),
  );
  const changes =
    moves.some(({ kind }) => kind !== 'push') || state.observedDiffers || state.base === undefined;
  const write: UserWrite = {
    id: state.id,
    expected: mirror,
    observed: observe(service, role, after.base.joined),
    ...after,
  };
  return {
    id: state.id,
    presence: 'merge',
    moves,
    holds,
    releases: fields.filter((_, index) => plans[index]?.release === true),
    held,
    ...shownAnew(state, service, held),
    patch,
    write: changes ? write : null,
  };
}

/** What was rejected before stays rejected: the hold that was there says so. */
function holdOfGone(field: Field, mirror: MirrorUser, value: FieldValue, held: readonly Hold[]): Hold {
  const detail = 'the user had left the team and came back; the edit from before waits';
  const service = field === 'name' ? joinName(value as NamePair) : (value as Exclude<FieldValue, NamePair>);
  const gone: Hold = { field, reason: 'gone', base: value, mirror: mirror[field], service, detail };
  const before = held.find((hold) => hold.field === field);
  const isRejected = before?.reason === 'rejected' && holdStands(before, mirror, { id: 0n, raw: {} });
  return isRejected ? { ...gone, reason: before.reason, detail: before.detail } : gone;
}

function pick(values: UserValues, of: readonly Field[]): Partial<UserValues> {
  return Object.fromEntries(of.map((field) => [field, values[field]]));
}

/** Base as the service has it again; what the service leaves out stays as it was last agreed on. */
function agreeAnew(service: ServiceUser, base: BaseUser): BaseUser {
  const { base: again } = adoptValues(service, { ...base, split: 'guessed' });
  return readable(service.name) === undefined ? { ...again, joined: base.joined } : again;
}

/**
 * What the service says of a user where an empty name would take the place of the one last agreed on: all but the
 * name, which stays as it was and is held.
 */
function hear(service: ServiceUser, known: BaseUser | undefined, asked: readonly Field[]) {
  if (known === undefined || !isEmptied(service, known)) return { heard: service, emptied: [] };
  const { name, ...heard } = service;
  const hold: Hold = {
    field: 'name',
    reason: 'conflict',
    base: known.name,
    mirror: known.name,
    service: readable(name),
    detail: emptiedDetail,
  };
  return { heard, emptied: asked.includes('name') ? [] : [hold] };
}

/**
 * Back again: base is the service's again; an edit that was pending is kept, and held. Base never takes the
 * edit itself, not even where it cannot be seen in what the service says. A field that a person asked to
 * hold stays on both sides as it was.
 */
function planReturn(
  state: UserState,
  mirror: MirrorUser,
  service: ServiceUser,
  role: string | null,
): UserPlan {
  const asked = askedFields(state);
  const { heard, emptied } = hear(service, isEmptied(service, mirror) ? state.base : undefined, asked);
  const adopted = adoptValues(heard, mirror);
  const agreed = state.base === undefined ? adopted.base : agreeAnew(heard, state.base);
  const edited = fields.filter((field) => {
    const verdict = mergeField(field, state.base, mirror, heard);
    return (
      (verdict === 'push' || verdict === 'conflict' || verdict === 'unread') &&
      !sameBytes(field, mirror, agreed) &&
      !asked.includes(field)
    );
  });
  const kept = [...edited, ...asked];
  const before = state.base ?? adopted.base;
  const joined = asked.includes('name') ? before.joined : agreed.joined;
  const base = { ...adopted.base, ...pick(agreed, edited), ...pick(before, asked), joined };
  const split = kept.includes('name') ? mirror.split : adopted.mirror.split;
  const holds = [
    ...edited.map((field) => holdOfGone(field, mirror, base[field], state.held)),
    ...emptied.filter(({ field }) => !edited.includes(field)),
  ];
  const held = holds.map(({ field }) => field);
  const after = { ...adopted.mirror, ...pick(mirror, kept), split };
  const observed = observe(service, role, base.joined);
  return {
    ...nothing,
    id: state.id,
    presence: 'return',
    holds,
    releases: heldFields(state).filter((field) => !held.includes(field) && !asked.includes(field)),
    held: asked,
    ...shownAnew(state, service, asked),
    write: { id: state.id, expected: mirror, mirror: after, base, observed },
  };
}

/**
 * First sight, or the row was lost here: then what was last agreed on fills in what the service leaves out,
 * and what a person asked to hold.
 */
function planAdopt(state: UserState, service: ServiceUser, role: string | null): UserPlan {
  const known = state.base;
  const asked = askedFields(state);
  const { heard, emptied } = hear(service, known, asked);
  const adopted = adoptValues(heard, known === undefined ? undefined : { ...known, split: 'guessed' });
  const agreed = known === undefined ? adopted.base : agreeAnew(heard, known);
  const kept = pick(known ?? agreed, asked);
  const joined = asked.includes('name') ? (known ?? agreed).joined : agreed.joined;
  const base = { ...agreed, ...kept, joined };
  const observed = observe(service, role, base.joined);
  return {
    ...nothing,
    id: state.id,
    presence: 'adopt',
    holds: emptied,
    releases: heldFields(state).filter(
      (field) => !asked.includes(field) && emptied.every((hold) => hold.field !== field),
    ),
    held: asked,
    write: { id: state.id, expected: null, mirror: { ...adopted.mirror, ...kept }, base, observed },
  };
}

/** The fields whose edit in the mirror has not reached the service. */
function editedFields(mirror: MirrorUser, base: BaseUser): readonly Field[] {
  return fields.filter((field) => !sameBytes(field, mirror, base));
}

/**
 * A member whom only the team listing knows: neither pulled nor pushed. The name and the role follow the
 * listing for as long as nothing else is known of the member.
 */
function planUnresolved(state: UserState, member: TeamMember): UserPlan {
  const joined = member.name ?? '';
  const { mirror } = state;
  if (mirror === undefined) {
    const listed: BaseUser = { ...emptyValues, name: splitName(joined), joined };
    const known = state.base;
    const follows = known === undefined || (neverResolved(known) && !isEmptied({ name: joined }, known));
    const base = follows ? listed : known;
    const observed = { name: base.joined, role: member.role, resolved: false, details: null };
    const write = { expected: null, mirror: { ...base, split: 'guessed' as const }, base, observed };
    return { ...nothing, id: state.id, presence: 'adopt', write: { id: state.id, ...write } };
  }
  // Without a base nothing was ever agreed on, and the listing says too little to start one.
  const agreed = state.base;
  if (agreed === undefined) return { ...nothing, id: state.id, presence: 'unresolved' };
  const asked = askedFields(state);
  const follow =
    neverResolved(agreed) &&
    member.name !== null &&
    !isEmptied({ name: member.name }, agreed) &&
    samePair(agreed.name, mirror.name) &&
    !asked.includes('name');
  const renamed = follow && agreed.joined !== joined;
  const cut = renamed && joinName(mirror.name) !== canonicalName(joined);
  const name = cut ? splitName(joined) : mirror.name;
  const role = member.role ?? mirror.role;
  const same = !mirror.resolved && !mirror.gone && !renamed && role === mirror.role;
  const holds = !mirror.gone
    ? []
    : editedFields(mirror, agreed)
        .filter((field) => !asked.includes(field))
        .map((field): Hold => holdOfGone(field, mirror, agreed[field], state.held));
  const write: UserWrite = {
    id: state.id,
    expected: mirror,
    mirror: { ...mirror, name, split: cut ? 'guessed' : mirror.split },
    base: renamed ? { ...agreed, name, joined } : agreed,
    observed: { name: follow ? joined : mirror.joined, role, resolved: false, details: null },
  };
  const values = { field: 'name', base: agreed.name, mirror: mirror.name, service: joined } as const;
  return {
    ...nothing,
    id: state.id,
    presence: 'unresolved',
    moves: cut ? [{ kind: 'pull', ...values }] : [],
    holds,
    ...(role === mirror.role ? {} : { role: { old: mirror.role, new: role } }),
    write: same ? null : write,
  };
}

/** Only ever in the mirror: it cannot be created on the service, so the whole of it waits. */
function planStranger(state: UserState, mirror: MirrorUser): UserPlan {
  const detail = 'the interface gives no way to create users';
  const values = { base: undefined, mirror: mirror.name, service: undefined };
  const hold: Hold = { field: 'name', reason: 'unsupported', ...values, detail };
  return { ...nothing, id: state.id, presence: 'stranger', holds: state.held.length > 0 ? [] : [hold] };
}

export function planUser(state: UserState, member: TeamMember | undefined, policy: Policy): UserPlan {
  const { base, mirror, service } = state;
  if (state.hasOpenIntent || state.stale === true) return { ...nothing, id: state.id, presence: 'waiting' };
  const presence = decideUserCase({
    base: base !== undefined,
    mirror: mirror !== undefined,
    service: service !== undefined,
    listed: member !== undefined,
    gone: mirror?.gone === true,
  });
  const role = member?.role ?? mirror?.role ?? null;
  if (service !== undefined && mirror === undefined) return planAdopt(state, service, role);
  if (service !== undefined && mirror !== undefined) {
    // Nothing was agreed on before, and there is something that nobody can read: no half of a base is begun.
    const isBlind = base === undefined && hasUnreadable(service);
    if (isBlind) return { ...nothing, id: state.id, presence, held: heldFields(state) };
    return presence === 'return'
      ? planReturn(state, mirror, service, role)
      : planMerge(state, mirror, service, role, policy);
  }
  if (member !== undefined) return planUnresolved(state, member);
  if (presence === 'stranger' && mirror !== undefined) return planStranger(state, mirror);
  return { ...nothing, id: state.id, presence };
}
