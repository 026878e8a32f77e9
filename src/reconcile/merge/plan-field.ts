/** What one run makes of one field of one user. */
import {
  canonicalName,
  countWords,
  hasLostWords,
  joinName,
  type NamePair,
  samePair,
} from '../../model/name.ts';
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
import { samePush, sameValue } from '../../model/push-values.ts';
import { type Decision, type Hold, type HoldReason, holdField, type Values } from '../../model/user-plan.ts';
import type { UserState } from '../../model/user-state.ts';
import { unsendable } from '../../model/unsendable.ts';
import { isApproved, waitsInBatch } from './held-field.ts';
import { applyPolicy, mergeField, type Policy, unreadOf } from './merge-field.ts';
import { overtakenDetail } from './overtaken.ts';
import { agreedOf } from './service-values.ts';

/** What was edited before a user left, or was rejected, waits for a person whatever the service does meanwhile. */
export const standsByMirror = ({ reason }: Pick<Hold, 'reason'>): boolean =>
  reason === 'gone' || reason === 'rejected';

/** Whether a person asked to leave the field as it is, and the end of that lies ahead. */
export const isAsked = (hold: Hold | undefined): boolean =>
  hold?.reason === 'asked' && (hold.endsInMs ?? 0) > 0;

/** The hold that a field was under before this run. */
export const holdOn = (field: Field, { held }: Pick<UserState, 'held'>): Hold | undefined =>
  held.find((hold) => hold.field === field);

/** Whether a held field's two values are still those with which it was held. */
export function holdStands(hold: Hold, mirror: UserValues, service: ServiceUser): boolean {
  const said = saidOf(hold.field, service);
  const sameService =
    standsByMirror(hold) ||
    typeof said !== 'object' ||
    says(said, canonicalShown(hold.field, hold.service ?? null));
  const asMirror = { ...mirror, [hold.field]: hold.mirror } as UserValues;
  return sameService && hold.mirror !== undefined && sameBytes(hold.field, asMirror, mirror);
}

/**
 * Whether a field that is held for want of a name to go along (`carry-name.ts`) wants it still: the name is
 * untouched, of three or more words, and its split a guess.
 */
function wantsName(field: Field, base: BaseUser, mirror: MirrorUser, service: ServiceUser): boolean {
  const said = readable(service.name);
  const shown = said === undefined ? base.joined : (said ?? '');
  const untouched = samePair(mirror.name, base.name);
  return field !== 'name' && untouched && mirror.split !== 'known' && countWords(shown) >= 3;
}

/**
 * Whether nobody had edited a name when it was held. Where mirror and base differ by now, an update of ours took of it:
 * base has what was left, and nothing else moves the base of a held field.
 */
function wasUnedited({ field, reason, base: agreed, mirror: held }: Hold): boolean {
  if (field !== 'name' || reason !== 'conflict' || !agreed || !held) return false;
  return samePair(agreed as NamePair, held as NamePair);
}

/** Such a name that was emptied is put back. */
const isOursToPutBack = (hold: Hold, base: BaseUser): boolean =>
  joinName(base.name) === '' && wasUnedited(hold);

/** Whether such a name, unedited still, was set to another on the service since: to more than a piece of it. */
function isSetAgain(hold: Hold | undefined, mirror: MirrorUser, service: ServiceUser): boolean {
  if (hold === undefined || !wasUnedited(hold) || !samePair(hold.mirror as NamePair, mirror.name))
    return false;
  return !hasLostWords(readable(service.name) ?? '', joinName(mirror.name));
}

/** A value that could not be sent waits no longer once it can, as when the guessed split of a name is accepted. */
function staysHeld(hold: Hold, base: BaseUser, mirror: MirrorUser, service: ServiceUser): boolean {
  if (hold.reason === 'asked' || !holdStands(hold, mirror, service)) return false;
  if (isOursToPutBack(hold, base)) return false;
  if (hold.reason !== 'unsupported' || unsendable(hold.field, mirror, base) !== undefined) return true;
  return wantsName(hold.field, base, mirror, service);
}

/** Why a name is held that the service shows no more. */
export const emptiedDetail =
  'the service shows no name any more, and an empty name is never taken over a name: decide with "musterd resolve"';

/** Whether the service says that there is no name, and there is one to lose. */
export function isEmptied({ name }: Pick<ServiceUser, 'name'>, known: Pick<UserValues, 'name'>): boolean {
  const said = readable(name);
  return said !== undefined && canonicalName(said ?? '') === '' && joinName(known.name) !== '';
}

/** A user whom both sides have. */
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

/** Stays held; what the service shows of it is noted. */
export const stillHeld = (field: Field, service: ServiceUser): Decision => ({
  kind: 'held',
  shown: serviceValue(service, field),
});

/**
 * A field that nobody can read waits as it is. Where the service leaves out an email or a phone that it had,
 * it may have been emptied: an edit of it is not sent over that unseen, and a person decides.
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

/** @param isLate whether the service changed the user after what is edited here (`overtaken.ts`) */
export function planField(field: Field, state: Seen, policy: Policy, isLate = false): Decision {
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
  if (isApproved(previous, values)) return { kind: 'push', values, ends: false };
  const batched = previous !== undefined && waitsInBatch(previous) ? previous : undefined;
  if (batched !== undefined && samePush(field, batched, values))
    return { kind: 'held', shown: batched.service };
  if (previous !== undefined && batched === undefined && staysHeld(previous, base, mirror, service))
    return stillHeld(field, service);
  const isPulled = verdict === 'conflict' && isSetAgain(previous, mirror, service);
  const decided = isPulled ? 'pull' : applyPolicy(policy, field, verdict);
  if (decided === 'conflict' && batched !== undefined && sameValue(field, batched.mirror, mirror[field]))
    return stillHeld(field, service);
  if (decided === 'conflict') return hold('conflict', 'both sides changed it since they last agreed');
  if (decided === 'push') {
    const detail = unsendable(field, mirror, base);
    if (detail !== undefined) return hold('unsupported', detail);
    if (isLate && policy[field] !== 'mirror-wins') return hold('conflict', overtakenDetail);
    return { kind: 'push', values, ends };
  }
  if (field === 'name' && isEmptied(service, mirror)) return hold('conflict', emptiedDetail);
  return { kind: 'pull', values, ends };
}
