/** What one run makes of one field of one user. */

import { stored } from '../../model/canonical.ts';
import type { Hold, Move, UserPlan, UserState } from '../../model/change.ts';
import { isTooLong, longestText } from '../../model/longest-text.ts';
import {
  canonicalName,
  countWords,
  hasLostWords,
  joinName,
  type NamePair,
  samePair,
  splitName,
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
import { mergeField, unreadOf } from './merge-field.ts';
import { overtakenDetail } from './overtaken.ts';
import { applyPolicy, type Policy } from './policy.ts';
import { adoptValues } from './service-values.ts';

/** What was edited before a user left, or was rejected, waits for a person whatever the service does meanwhile. */
export const standsByMirror = ({ reason }: Pick<Hold, 'reason'>): boolean =>
  reason === 'gone' || reason === 'rejected';

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

/** Why a value cannot be sent, in words; `undefined` if it can. */
export function unsendable(field: Field, mirror: MirrorUser, base: BaseUser): string | undefined {
  const texts = {
    name: `${mirror.name.first} ${mirror.name.last}`,
    email: mirror.email,
    phone: mirror.phone,
  };
  if (field !== 'roleId' && isTooLong(texts[field] ?? ''))
    return `no run could read more than ${longestText} characters back`;
  switch (field) {
    case 'name': {
      if (joinName(mirror.name) === '') return 'the service takes no empty name';
      const edited: readonly (keyof NamePair)[] = (['first', 'last'] as const).filter(
        (half) => mirror.name[half] !== base.name[half],
      );
      if (mirror.split === 'known') return undefined;
      const whole = joinName(mirror.name);
      const isCut = countWords(whole) > 2 && samePair(mirror.name, splitName(whole));
      if (isCut && edited.length === 2 && hasLostWords(base.joined, whole))
        return `the split of "${whole}" is a guess: set first_name and last_name, or name_split = 'known'`;
      if (edited.length !== 1 || countWords(base.joined) < 3) return undefined;
      const other = edited[0] === 'first' ? 'last_name' : 'first_name';
      return `the split of "${base.joined}" is a guess: set ${other} too, or name_split = 'known'`;
    }
    case 'email':
      return stored(mirror.email) === null ? 'the service gives no way to remove an email' : undefined;
    case 'roleId':
      return mirror.roleId === null ? 'the service gives no way to remove a role' : undefined;
    case 'phone':
      return stored(mirror.phone) !== null && !/[0-9]/.test(mirror.phone ?? '')
        ? 'the phone number has no digits'
        : undefined;
    default:
      return field satisfies never;
  }
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
function isSetAnew(hold: Hold | undefined, mirror: MirrorUser, service: ServiceUser): boolean {
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

export interface FieldPlan {
  readonly move?: Move;
  /** Replaces the field's earlier hold, if there is one. */
  readonly hold?: Hold;
  readonly held?: true;
  readonly release?: true;
}

/**
 * A field that nobody can read waits as it is. Where the service leaves out an email or a phone that it had,
 * it may have been emptied: an edit of it is not sent over that unseen, and a person decides.
 */
function planUnread(
  field: Field,
  { base, held }: UserState,
  mirror: MirrorUser,
  service: ServiceUser,
): FieldPlan {
  if (held.some((hold) => hold.field === field)) return { held: true };
  const mayBeEmpty = field === 'email' || field === 'phone';
  const isEdited = base !== undefined && !sameBytes(field, mirror, base);
  if (!mayBeEmpty || !isEdited || unreadOf(field, base, service) !== 'left out') return {};
  const detail =
    'edited here, and the service leaves it out, where it had a value before: emptied, or not shown';
  const values = { base: base[field], mirror: mirror[field], service: undefined };
  return { hold: { field, reason: 'conflict', detail, ...values } };
}

export function planField(
  field: Field,
  state: UserState,
  mirror: MirrorUser,
  service: ServiceUser,
  policy: Policy,
  /** Whether the service changed the user after what is edited here (`overtaken.ts`). */
  isLate = false,
): FieldPlan {
  const values = { base: state.base?.[field], mirror: mirror[field], service: serviceValue(service, field) };
  const previous = state.held.find((hold) => hold.field === field);
  const verdict = mergeField(field, state.base, mirror, service);
  const release = previous === undefined ? {} : { release: true as const };
  if (previous?.reason === 'asked' && (previous.endsInMs ?? 0) > 0) return { held: true };
  if (verdict === 'unread') return planUnread(field, state, mirror, service);
  if (verdict === 'nothing') return release;
  if (verdict === 'settle') return { ...release, move: { kind: 'settle', field, ...values } };
  const base = state.base ?? adoptValues(service, mirror).base;
  if (previous !== undefined && staysHeld(previous, base, mirror, service)) return { held: true };
  const isPulled = verdict === 'conflict' && isSetAnew(previous, mirror, service);
  const decided = isPulled ? 'pull' : applyPolicy(policy, field, verdict);
  if (decided === 'conflict') {
    const detail = 'both sides changed it since they last agreed';
    return { hold: { field, reason: 'conflict', detail, ...values } };
  }
  if (decided === 'push') {
    const detail = unsendable(field, mirror, base);
    if (detail !== undefined) return { hold: { field, reason: 'unsupported', detail, ...values } };
    if (isLate && policy[field] !== 'mirror-wins')
      return { hold: { field, reason: 'conflict', detail: overtakenDetail, ...values } };
    return { ...release, move: { kind: 'push', field, ...values } };
  }
  if (field === 'name' && isEmptied(service, mirror))
    return { hold: { field, reason: 'conflict', detail: emptiedDetail, ...values } };
  return { ...release, move: { kind: 'pull', field, ...values } };
}

/** What the service shows of fields that stay held, where a run has not seen it yet. */
export function shownAnew(
  { held }: UserState,
  service: ServiceUser,
  of: readonly Field[],
): Pick<UserPlan, 'shown'> {
  const shown = of.flatMap((field) => {
    const said = serviceValue(service, field);
    const last = held.find((hold) => hold.field === field)?.shown ?? null;
    return said === undefined || said === last ? [] : [{ field, service: said }];
  });
  return shown.length === 0 ? {} : { shown };
}
