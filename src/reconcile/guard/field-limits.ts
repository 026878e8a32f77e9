/**
 * Limits on single fields. A push beyond such a limit is held, even if its batch was approved. Other fields are sent.
 *
 * | what                                                  | which fields are held                  |
 * |-------------------------------------------------------|----------------------------------------|
 * | more than `maxRoleChanges` role changes               | all of those roles                     |
 * | an email or phone that another user has or would get  | that email or phone (†)                |
 * | a demotion would leave no administrator               | the demoted administrators' roles (†)  |
 *
 * † Some of these fields wait for a later run instead: see `sharedAddresses` and `lastAdministrators`. With each field
 * the guard treats those fields of the user in the same way that the same transaction edited (`withCompanions`).
 *
 * A field that such a limit held is sent once a person lets it pass. Its value still counts in the checks of other
 * users. The value of an open push counts, too, because it may have arrived.
 *
 * Each look at all users checks these limits again (`offerLimited`). A held field is sent as soon as no limit would hold
 * it any more, for example because another user got another address or role, or other changes were taken back. A batch,
 * in contrast, always waits for a person.
 */

import type { TeamMember } from '../../model/team-member.ts';
import { columnOf, type Field, fields } from '../../model/fields.ts';
import type { Id } from '../../model/id.ts';
import { inTurns } from '../../model/in-turns.ts';
import type { Intent } from '../../model/intent.ts';
import type { PresentUser } from '../../model/plan.ts';
import { canonicalShown, readable, type ServiceUser, serviceValue } from '../../model/user.ts';
import {
  type Decision,
  decideEach,
  type Hold,
  holdField,
  pushOf,
  type UserPlan,
  type Values,
} from '../../model/user-plan.ts';
import type { UserState } from '../../model/user-state.ts';
import { holdOn, isAsSeen } from '../merge/held-field.ts';
import { isUnread } from '../unread.ts';
import { pushedValues } from './planned-push.ts';

export interface Population {
  /** The users that were read. All other users count as unchanged on the service since both sides last agreed. */
  readonly users: ReadonlyMap<Id, ServiceUser>;
  /** The users that differ from base; `present` has the values of all other users. */
  readonly differing: readonly Id[];
  /** True if all users were read. */
  readonly isWhole: boolean;
  /** All users that the team lists. */
  readonly members: ReadonlyMap<Id, TeamMember>;
  /** The members by address (`indexAddresses`). It may be empty if no address is pushed. */
  readonly listed: Readonly<Record<'email' | 'phone', UsersByAddress>>;
  /** All users of the mirror that the limits concern (`concernOf`), without users marked as gone. */
  readonly present: readonly PresentUser[];
  /** Pushes with an unknown outcome. */
  readonly open: readonly Pick<Intent, 'userId' | 'sent'>[];
}

/** A plan with pushes, and people's decisions: fields that no field limit holds (`resolved`), and chosen values. */
export interface ReviewedFields extends Pick<UserState, 'edits'> {
  readonly plan: UserPlan;
  readonly resolved: readonly Field[];
  readonly chosen: readonly Field[];
}

/** A pushed field that is held, or that this run neither sends nor holds. */
export interface FieldLimit {
  readonly id: Id;
  readonly field: Field;
  readonly decision: Extract<Decision, { kind: 'hold' }> | Wait;
}
type Wait = Required<Extract<Decision, { kind: 'wait' }>>;
export type FieldLimits = readonly FieldLimit[];

export type LimitsOfUsers = ReadonlyMap<Id, Readonly<Partial<Record<Field, FieldLimit['decision']>>>>;

/** If several limits concern the same field, the first hold counts, or else the first wait. */
export function joinLimits(limits: FieldLimits): LimitsOfUsers {
  const joined = new Map<Id, Partial<Record<Field, FieldLimit['decision']>>>();
  const isWait = ({ decision }: FieldLimit) => Number(decision.kind === 'wait');
  for (const { id, field, decision } of limits.toSorted((a, b) => isWait(a) - isWait(b)))
    joined.set(id, { [field]: decision, ...joined.get(id) });
  return joined;
}

/** Each field limit and its message. */
export const limitWords = {
  email: (other: Id) => `user ${other} has or will get the same email`,
  phone: (other: Id) => `user ${other} has or will get the same phone`,
  roles: (changes: number, max: number) => `${changes} roles would change in one run, more than ${max}`,
  administrators: () => 'no administrator would be left',
} as const;

/** @param why a sentence about the limit that holds the field, or the run that it waits for */
function limitField({ plan, resolved }: ReviewedFields, field: Field, why: string | Wait): FieldLimits {
  const push = plan.fields[field];
  // A person's decision lets a push pass a limit, but not overtake another push of this run.
  const isOrder = typeof why === 'object' && why.until === 'next';
  if (push.kind !== 'push' || (resolved.includes(field) && !isOrder)) return [];
  if (typeof why === 'object') return [{ id: plan.id, field, decision: why }];
  const { hold } = holdField(field, 'limit', why, pushedValues(plan, field, push.values));
  return [{ id: plan.id, field, decision: { kind: 'hold', hold: { ...hold, isAlone: true } } }];
}

const together = 'edited together with';

/** True if a limit on another field of the user holds the field. */
export const isCompanion = ({ detail }: Hold): boolean => detail.startsWith(together);

/** Returns these limits, for all that one transaction edited of a user and nobody chose: that goes together. */
export function withCompanions(pushes: readonly ReviewedFields[], limits: FieldLimits): FieldLimits {
  const pushOfUser = new Map(pushes.map((push) => [push.plan.id, push]));
  const companions = limits.flatMap(({ id, field, decision }) => {
    const push = pushOfUser.get(id);
    const transaction = push?.edits[field]?.transaction ?? undefined;
    if (push === undefined || transaction === undefined) return [];
    const isFirst = decision.kind === 'hold' && !isCompanion(decision.hold);
    const wait = decision.kind === 'wait' ? decision : ({ kind: 'wait', until: 'next' } as const);
    const why = isFirst ? `${together} ${columnOf(field)}: ${decision.hold.detail}` : wait;
    return fields
      .filter((other) => push.edits[other]?.transaction === transaction && !push.chosen.includes(other))
      .flatMap((other) => limitField(push, other, why));
  });
  return [...limits, ...companions];
}

type UsersByAddress = ReadonlyMap<string, readonly Id[]>;

const addressed = new WeakMap<Population['members'], Population['listed']>();

/** Users by their addresses in the team list. Computed once per list: a list is long, and many runs of edits use it. */
export async function indexAddresses(members: Population['members']): Promise<Population['listed']> {
  const index = addressed.get(members);
  if (index !== undefined) return index;
  const found = { email: new Map<string, Id[]>(), phone: new Map<string, Id[]>() };
  await inTurns(members.values(), (member) => {
    for (const field of ['email', 'phone'] as const) {
      const address = canonicalShown(field, member[field]);
      const ids = found[field].get(address);
      if (ids !== undefined) ids.push(member.id);
      else if (address !== '') found[field].set(address, [member.id]);
    }
  });
  addressed.set(members, found);
  return found;
}

type Owners = ReadonlyMap<string, ReadonlySet<Id>>;

/** For each pushed address, the users who have it on the service or in base, and the users who get it by a push. */
function ownersOf(
  field: 'email' | 'phone',
  pushes: readonly ReviewedFields[],
  { users, differing, listed, present, open, isWhole }: Population,
): Owners {
  const pushed = pushes.map(({ plan }) => canonicalShown(field, pushOf(plan)[field] ?? null));
  const owners = new Map(pushed.filter((value) => value !== '').map((value) => [value, new Set<Id>()]));
  if (owners.size === 0) return owners;
  const ownValue = (id: Id, value: string | null | undefined) => {
    if (value !== undefined) owners.get(canonicalShown(field, value))?.add(id);
  };
  const shownOf = (id: Id) => readable(users.get(id)?.[field]);
  for (const id of differing) ownValue(id, shownOf(id));
  for (const [address, ids] of owners)
    for (const id of listed[field].get(address) ?? []) if (isWhole || shownOf(id) === undefined) ids.add(id);
  for (const { id, [field]: agreed } of present) {
    const shown = shownOf(id);
    ownValue(id, shown === undefined ? agreed : shown);
  }
  for (const { userId, sent } of open) ownValue(userId, sent[field]);
  for (const { plan } of pushes) ownValue(plan.id, pushOf(plan)[field]);
  return owners;
}

/** True if this run sends another value of the field for the owner of the address. */
export type IsGiven = (owner: Id, field: Field) => boolean;

/** Holds emails and phones that two users would have. The only other owner may get another value first (`isGiven`). */
export function sharedAddresses(
  pushes: readonly ReviewedFields[],
  population: Population,
  isGiven: IsGiven,
): FieldLimits {
  return (['email', 'phone'] as const).flatMap((field) => {
    const owners = ownersOf(field, pushes, population);
    return pushes.flatMap((push) => {
      const address = canonicalShown(field, pushOf(push.plan)[field] ?? null);
      const having = owners
        .get(address)
        ?.values()
        .filter((owner) => owner !== push.plan.id);
      const [other, another] = having?.take(2) ?? [];
      if (other === undefined) return [];
      const waits = another === undefined && isGiven(other, field);
      return limitField(push, field, waits ? { kind: 'wait', until: 'next' } : limitWords[field](other));
    });
  });
}

/** Holds role changes if there are more than `maxRoleChanges`. Role changes that a person resolved do not count. */
export function tooManyRoles(pushes: readonly ReviewedFields[], maxRoleChanges: number): FieldLimits {
  const changes = pushes.filter(
    ({ plan, resolved }) => plan.fields.roleId.kind === 'push' && !resolved.includes('roleId'),
  );
  if (changes.length <= maxRoleChanges) return [];
  const detail = limitWords.roles(changes.length, maxRoleChanges);
  return changes.flatMap((push) => limitField(push, 'roleId', detail));
}

/**
 * Decides about demotions that would leave no administrator. Only users whom the service shows and the team lists count
 * as administrators (all users shown, if the team list is empty). A demotion in flight counts as done. A promotion does
 * not count, because it may be refused or edited again before it is sent. `left`: an administrator would be left.
 *
 * | left | a promotion is sent in this run | all users were read | the demotion                         |
 * |------|---------------------------------|---------------------|--------------------------------------|
 * | yes  | ·                               | ·                   | is sent                              |
 * | no   | yes                             | ·                   | waits for the next run               |
 * | no   | no                              | no                  | waits for a run that reads all users |
 * | no   | no                              | yes                 | is held                              |
 *
 * These waits are only for demotions that this run would otherwise send (`isSent`). A demotion that is held for another
 * reason stays in its batch.
 */
export function lastAdministrators<Push extends ReviewedFields>(
  pushes: readonly Push[],
  { users, differing, members, present, open, isWhole }: Population,
  adminRoleIds: readonly Id[],
  isSent: (push: Push, field: Field) => boolean,
): FieldLimits {
  const isAdmin = (roleId: Id | null | undefined) => adminRoleIds.some((admin) => admin === roleId);
  const agreed = new Map(present.map(({ id, roleId }) => [id, roleId]));
  const roleOf = (id: Id) => {
    const roleId = readable(users.get(id)?.roleId);
    return roleId === undefined ? agreed.get(id) : roleId;
  };
  const isListed = (id: Id) => members.size === 0 || members.has(id);
  const isThere = (id: Id) => users.has(id) || members.has(id);
  const isAdminNow = (id: Id) => isThere(id) && isAdmin(roleOf(id));
  const demoted = pushes.filter(({ plan }) => {
    const { roleId } = pushOf(plan);
    return roleId !== undefined && isAdminNow(plan.id) && !isAdmin(roleId);
  });
  if (demoted.length === 0) return [];
  const admins = new Set([...differing, ...agreed.keys()].filter(isAdminNow));
  const left = new Set([...admins].filter(isListed));
  for (const { plan } of demoted) left.delete(plan.id);
  for (const { userId, sent } of open)
    if (sent.roleId !== undefined && !isAdmin(sent.roleId)) left.delete(userId);
  if (left.size > 0) return [];
  const isPromotion = ({ plan }: Push) =>
    isAdmin(pushOf(plan).roleId) && !admins.has(plan.id) && isListed(plan.id);
  const promotes = pushes.some((push) => isPromotion(push) && isSent(push, 'roleId'));
  if (isWhole && !promotes)
    return demoted.flatMap((push) => limitField(push, 'roleId', limitWords.administrators()));
  const waiting = demoted.filter((push) => isSent(push, 'roleId'));
  const until = promotes ? 'next' : 'whole';
  return waiting.flatMap((push) => limitField(push, 'roleId', { kind: 'wait', until }));
}

/** Plans that try to push each field that a field limit holds, to see if it still must be held. Other fields wait. */
export function offerLimited(plans: readonly UserPlan[], states: readonly UserState[]): readonly UserPlan[] {
  const stateOf = new Map(states.map((state) => [state.id, state]));
  return plans.flatMap((plan) => {
    const state = stateOf.get(plan.id);
    if (state === undefined) return [];
    const { base, mirror, service, edits } = state;
    const valuesOf = (field: Field): Values => ({
      base: base?.[field],
      mirror: mirror?.[field],
      service: service && serviceValue(service, field),
    });
    const isLimited = (field: Field) => {
      const hold = holdOn(field, state);
      const isAlone = hold?.reason === 'limit' && hold.isAlone === true && hold.decision === undefined;
      const isHeld = isAlone && plan.fields[field].kind === 'held' && !isUnread(field, state);
      return isHeld && isAsSeen(hold, valuesOf(field), state);
    };
    if (!fields.some(isLimited)) return [];
    const offered = decideEach((field) =>
      isLimited(field)
        ? { kind: 'push', values: valuesOf(field), edit: edits[field]?.id, ends: true }
        : { kind: 'wait' },
    );
    return [{ ...plan, fields: offered, write: null }];
  });
}

/** Returns the plans. If a lifted plan of the same user decides a field, that decision replaces the plan's decision. */
export function withLifted(plans: readonly UserPlan[], lifted: readonly UserPlan[]): readonly UserPlan[] {
  const of = new Map(
    lifted.map(({ id, fields: decisions }) => [
      id,
      Object.fromEntries(Object.entries(decisions).filter(([, { kind }]) => kind !== 'wait')),
    ]),
  );
  return plans.map((plan) => ({ ...plan, fields: { ...plan.fields, ...of.get(plan.id) } }));
}
