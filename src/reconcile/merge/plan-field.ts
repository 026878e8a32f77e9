/** The decision of one run about one field of one user. */
import { canonicalName, joinName } from '../../model/name.ts';
import {
  type BaseUser,
  canonicalShown,
  type Field,
  type MirrorUser,
  readable,
  type ServiceUser,
  saidOf,
  sameBytes,
  says,
  serviceValue,
  type UserValues,
} from '../../model/user.ts';
import { sameValue } from '../../model/push-values.ts';
import { type Decision, type Hold, type HoldReason, holdField, type Values } from '../../model/user-plan.ts';
import type { UserState } from '../../model/user-state.ts';
import { unsendable } from '../../model/unsendable.ts';
import { isAsSeen, isSameEdit, voidDetail, waitsInBatch } from './held-field.ts';
import { applyPolicy, mergeField, type Policy, unreadOf } from './merge-field.ts';
import { nameToCarry } from './name-to-carry.ts';
import { overtakenDetail } from './overtaken.ts';
import { agreedOf } from './service-values.ts';

/** A rejected edit, or one from before the user left, waits for a person whatever the service does meanwhile. */
export const standsByMirror = ({ reason }: Pick<Hold, 'reason'>): boolean =>
  reason === 'gone' || reason === 'rejected';

/** Whether a person asked to hold the field, and that has not ended. */
export const isAsked = (hold: Hold | undefined): boolean =>
  hold?.reason === 'asked' && (hold.endsInMs ?? 0) > 0;

/** The hold that a field was under before this run. */
export const holdOn = (field: Field, { held }: Pick<UserState, 'held'>): Hold | undefined =>
  held.find((hold) => hold.field === field);

/** Whether both values of a held field are still the same as when it was held. */
export function holdStands(hold: Hold, mirror: UserValues, service: ServiceUser): boolean {
  const said = saidOf(hold.field, service);
  const sameService =
    standsByMirror(hold) ||
    typeof said !== 'object' ||
    says(said, canonicalShown(hold.field, hold.service ?? null));
  const asMirror = { ...mirror, [hold.field]: hold.mirror } as UserValues;
  return sameService && hold.mirror !== undefined && sameBytes(hold.field, asMirror, mirror);
}

/** Whether a value that could not be sent now can be, for example because the guessed split was accepted. */
function staysHeld(hold: Hold, base: BaseUser, { mirror, service }: Seen, hasName: boolean): boolean {
  if (hold.reason === 'asked' || !holdStands(hold, mirror, service)) return false;
  if (hold.reason !== 'unsupported' || unsendable(hold.field, mirror, base) !== undefined) return true;
  return hold.field !== 'name' && !hasName && nameToCarry(base, mirror, service) === null;
}

/** Why a name is held that the service no longer shows. */
export const emptiedDetail =
  'the service shows no name any more, and an empty name is never taken over a name: decide with "musterd resolve"';

/** Whether the service's name is empty and ours is not. */
export function isEmptied({ name }: Pick<ServiceUser, 'name'>, known: Pick<UserValues, 'name'>): boolean {
  const said = readable(name);
  return said !== undefined && canonicalName(said ?? '') === '' && joinName(known.name) !== '';
}

/** A user that both sides have. */
export interface Seen extends Omit<UserState, 'mirror' | 'service'> {
  readonly mirror: MirrorUser;
  readonly service: ServiceUser;
}

/** The three versions of a field. */
export const versionsOf = (field: Field, { base, mirror, service }: Seen): Values => ({
  base: base?.[field],
  mirror: mirror[field],
  service: serviceValue(service, field),
});

/** Stays held; the service's current value is recorded. */
export const stillHeld = (field: Field, service: ServiceUser): Decision => ({
  kind: 'held',
  shown: serviceValue(service, field),
});

/**
 * An unreadable field waits unchanged. If the service leaves out an email or phone that it had,
 * it may have been emptied: an edit of it is not sent over that, and a person decides.
 */
function planUnread(field: Field, state: Seen): Decision {
  const { base, mirror, service } = state;
  const mayBeEmpty = field === 'email' || field === 'phone';
  const isEdited = base !== undefined && !sameBytes(field, mirror, base);
  if (!mayBeEmpty || !isEdited || unreadOf(field, base, service) !== 'left out') return { kind: 'wait' };
  const detail =
    'edited here, and the service leaves it out, where it had a value before: emptied, or not shown';
  return holdField(field, 'conflict', detail, versionsOf(field, state));
}

/**
 * @param isLate whether the service changed the user after this edit (`overtaken.ts`)
 * @param hasName whether, by what this run decides about the name, one can go along with this field
 */
export function planField(
  field: Field,
  state: Seen,
  policy: Policy,
  isLate = false,
  hasName = false,
): Decision {
  const { mirror, service } = state;
  const values = versionsOf(field, state);
  const hold = (reason: HoldReason, detail: string) => holdField(field, reason, detail, values);
  const previous = holdOn(field, state);
  const ends = previous !== undefined;
  if (isAsked(previous)) return stillHeld(field, service);
  const verdict = mergeField(field, state.base, mirror, service);
  if (verdict === 'unread') return ends ? stillHeld(field, service) : planUnread(field, state);
  if (verdict === 'nothing') return { kind: 'same', ends };
  if (verdict === 'settle') return { kind: 'settle', values, ends };
  const base = agreedOf(state.base, mirror, service);
  const edit = state.edits[field]?.id;
  const seenMs = state.versions?.isTelling === true ? state.versions.changedMs : undefined;
  const isSeen = previous !== undefined && isAsSeen(previous, values, state);
  if (isSeen && previous.decision !== undefined) return { kind: 'push', values, edit, seenMs, ends: false };
  const batched = previous !== undefined && waitsInBatch(previous) ? previous : undefined;
  if (isSeen && batched !== undefined) return { kind: 'held', shown: batched.service };
  const isSame = previous !== undefined && isSameEdit(previous, state);
  // A decision that is void leaves nothing behind of what held the field before.
  const isUndecided = isSame && previous.decision === undefined;
  if (isUndecided && batched === undefined && staysHeld(previous, base, state, hasName))
    return stillHeld(field, service);
  const decided = applyPolicy(policy, field, verdict);
  const isOfBatch = isSame && batched !== undefined && sameValue(field, batched.mirror, mirror[field]);
  if (decided === 'conflict' && isOfBatch) return stillHeld(field, service);
  // In a batch it waits for a person again, whatever the limits are (`guard.ts`).
  const isAlone = batched === undefined && policy[field] !== 'mirror-wins';
  const isVoid = isAlone && decided !== 'pull' ? voidDetail(previous, values, state) : undefined;
  if (isVoid !== undefined) return hold('conflict', isVoid);
  if (decided === 'conflict') return hold('conflict', 'both sides changed it since they last agreed');
  if (decided === 'push') {
    const detail = unsendable(field, mirror, base);
    if (detail !== undefined) return hold('unsupported', detail);
    if (isLate && policy[field] !== 'mirror-wins') return hold('conflict', overtakenDetail);
    return { kind: 'push', values, edit, seenMs, ends };
  }
  if (field === 'name' && isEmptied(service, mirror)) return hold('conflict', emptiedDetail);
  return { kind: 'pull', values, ends };
}
