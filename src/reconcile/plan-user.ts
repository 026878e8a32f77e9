/** What one run makes of one user: values in, a plan out. */
import type { FieldValue, Hold, Move, UserPlan, UserState, UserWrite } from '../model/change.ts';
import { joinName, type NamePair, samePair, splitName } from '../model/name.ts';
import type { TeamMember } from '../model/team.ts';
import {
  type BaseUser,
  type Field,
  fields,
  type MirrorUser,
  type ServiceUser,
  sameBytes,
  type UserPatch,
} from '../model/user.ts';
import { mergeField } from './merge.ts';
import { planField } from './plan-field.ts';
import type { Policy } from './policy.ts';
import { decidePresence } from './presence.ts';
import { adoptValues, emptyValues, observe, takeValue } from './take-service.ts';

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
      nextMirror = { ...nextMirror, split: kept ? (kind === 'settle' ? 'known' : mirror.split) : 'guessed' };
      nextBase = { ...nextBase, joined: service.name ?? '' };
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
  const plans = fields.map((field) => planField(field, state, mirror, service, policy));
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
    held: fields.filter((_, index) => plans[index]?.held === true),
    patch,
    write: changes ? write : null,
  };
}

function holdOfGone(field: Field, mirror: MirrorUser, value: FieldValue): Hold {
  const detail = 'the user had left the team and came back; the edit from before waits';
  const service = field === 'name' ? joinName(value as NamePair) : (value as Exclude<FieldValue, NamePair>);
  return { field, reason: 'gone', base: value, mirror: mirror[field], service, detail };
}

/** Back again: base is the service's anew; an edit that was pending is kept, and held. */
function planReturn(
  state: UserState,
  mirror: MirrorUser,
  service: ServiceUser,
  role: string | null,
): UserPlan {
  const edited = fields.filter((field) => {
    const verdict = mergeField(field, state.base, mirror, service);
    return verdict === 'push' || verdict === 'conflict';
  });
  const adopted = adoptValues(service, mirror);
  const kept = Object.fromEntries(edited.map((field) => [field, mirror[field]]));
  const split = edited.includes('name') ? mirror.split : adopted.mirror.split;
  const holds = edited.map((field) => holdOfGone(field, mirror, adopted.base[field]));
  const after = { ...adopted.mirror, ...kept, split };
  const observed = observe(service, role, adopted.base.joined);
  return {
    ...nothing,
    id: state.id,
    presence: 'return',
    holds,
    releases: state.held.map(({ field }) => field).filter((field) => !edited.includes(field)),
    write: { id: state.id, expected: mirror, mirror: after, base: adopted.base, observed },
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
  const { mirror, base } = state;
  if (mirror === undefined) {
    const values = { ...emptyValues, name: splitName(joined) };
    const observed = { name: joined, role: member.role, resolved: false, details: null };
    const write = {
      expected: null,
      mirror: { ...values, split: 'guessed' as const },
      base: { ...values, joined },
      observed,
    };
    return { ...nothing, id: state.id, presence: 'adopt', write: { id: state.id, ...write } };
  }
  const agreed = base ?? { ...mirror, joined: mirror.joined };
  const neverResolved = agreed.email === null && agreed.phone === null && agreed.roleId === null;
  const follow = neverResolved && member.name !== null && samePair(agreed.name, mirror.name);
  const renamed = follow && agreed.joined !== joined;
  const name = renamed ? splitName(joined) : mirror.name;
  const role = member.role ?? mirror.role;
  const same = !mirror.resolved && !mirror.gone && base !== undefined && !renamed && role === mirror.role;
  const holds = !mirror.gone
    ? []
    : editedFields(mirror, agreed).map((field): Hold => holdOfGone(field, mirror, agreed[field]));
  const write: UserWrite = {
    id: state.id,
    expected: mirror,
    mirror: { ...mirror, name, split: renamed ? 'guessed' : mirror.split },
    base: renamed ? { ...agreed, name, joined } : agreed,
    observed: { name: follow ? joined : mirror.joined, role, resolved: false, details: null },
  };
  return { ...nothing, id: state.id, presence: 'unresolved', holds, write: same ? null : write };
}

export function planUser(state: UserState, member: TeamMember | undefined, policy: Policy): UserPlan {
  const { base, mirror, service } = state;
  if (state.hasOpenIntent) return { ...nothing, id: state.id, presence: 'waiting' };
  const presence = decidePresence({
    base: base !== undefined,
    mirror: mirror !== undefined,
    service: service !== undefined,
    listed: member !== undefined,
    gone: mirror?.gone === true,
  });
  const role = member?.role ?? mirror?.role ?? null;
  if (service !== undefined && mirror === undefined) {
    const adopted = adoptValues(service, undefined);
    const observed = observe(service, role, adopted.base.joined);
    return {
      ...nothing,
      id: state.id,
      presence,
      write: { id: state.id, expected: null, ...adopted, observed },
    };
  }
  if (service !== undefined && mirror !== undefined) {
    return presence === 'return'
      ? planReturn(state, mirror, service, role)
      : planMerge(state, mirror, service, role, policy);
  }
  if (member !== undefined) return planUnresolved(state, member);
  return { ...nothing, id: state.id, presence };
}
