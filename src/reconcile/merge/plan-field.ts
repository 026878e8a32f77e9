/** The decision of one run about one field of one user. */
import { type Field, isText, type UserValues, flawOf } from '../../model/fields.ts';
import {
  canonicalName,
  joinName,
  countWords,
  hasLostWords,
  type NamePair,
  samePair,
  splitName,
} from '../../model/name.ts';
import {
  type BaseUser,
  canonicalShown,
  type MirrorUser,
  readable,
  type ServiceUser,
  readingOf,
  sameBytes,
  isReadAs,
  serviceValue,
  sameValue,
} from '../../model/user.ts';
import { type Decision, type Hold, type HoldReason, holdField, type Values } from '../../model/user-plan.ts';
import type { UserState } from '../../model/user-state.ts';
import { isAsSeen, isSameEdit, voidDetail, isStopped, holdOn } from './held-field.ts';
import { applyPolicy, mergeField, type Policy, unreadOf } from './merge-field.ts';
import { nameToCarry } from './name-to-carry.ts';
import { agreedOf } from './service-values.ts';
import { isTooLong, longestText } from '../../model/longest-text.ts';

/** The reason why a value cannot be sent, in words; `undefined` if it can. */
export function unsendable(field: Field, mirror: MirrorUser, base: BaseUser): string | undefined {
  const value = field === 'name' ? `${mirror.name.first} ${mirror.name.last}` : mirror[field];
  if (typeof value === 'string' && isTooLong(value))
    return `a run could not read back more than ${longestText} characters`;
  return field === 'name' ? unsendableName(mirror, base) : flawOf(field, mirror[field]);
}

function unsendableName(mirror: MirrorUser, base: BaseUser): string | undefined {
  const whole = joinName(mirror.name);
  if (whole === '') return 'the service does not accept an empty name';
  if (mirror.split === 'known') return undefined;
  const edited: readonly (keyof NamePair)[] = (['first', 'last'] as const).filter(
    (half) => mirror.name[half] !== base.name[half],
  );
  const isCut = countWords(whole) > 2 && samePair(mirror.name, splitName(whole));
  if (isCut && edited.length === 2 && hasLostWords(base.joined, whole))
    return `the split of "${whole}" is a guess: set first_name and last_name, or name_split = 'known'`;
  if (edited.length !== 1 || countWords(base.joined) < 3) return undefined;
  const other = edited[0] === 'first' ? 'last_name' : 'first_name';
  return `the split of "${base.joined}" is a guess: set ${other} too, or name_split = 'known'`;
}

/** True if a change on the service does not end the hold: its edit was rejected, or made before the user left. */
export const standsByMirror = ({ reason }: Pick<Hold, 'reason'>): boolean =>
  reason === 'returned' || reason === 'rejected';

/** True if a person asked to hold the field, and the time asked for is not over. */
export const isAsked = (hold: Hold | undefined): boolean =>
  hold?.reason === 'asked' && (hold.endsInMs ?? 0) > 0;

/** True if mirror and service still have the values of the hold (only the mirror, if `standsByMirror`). */
export function holdStands(hold: Hold, mirror: UserValues, service: ServiceUser): boolean {
  const reading = readingOf(hold.field, service);
  const sameService =
    standsByMirror(hold) ||
    typeof reading !== 'object' ||
    isReadAs(reading, canonicalShown(hold.field, hold.service ?? null));
  const asMirror = { ...mirror, [hold.field]: hold.mirror } as UserValues;
  return sameService && hold.mirror !== undefined && sameBytes(hold.field, asMirror, mirror);
}

/** True if the hold stays. It ends, for example, if an editor marks a guessed split as known, so the name can be sent. */
function staysHeld(
  hold: Hold,
  base: BaseUser,
  { mirror, service }: UserOnBothSides,
  policy: Policy,
  hasName: boolean,
): boolean {
  if (hold.reason === 'asked' || !holdStands(hold, mirror, service)) return false;
  if (hold.reason !== 'unsupported' || unsendable(hold.field, mirror, base) !== undefined) return true;
  return hold.field !== 'name' && !hasName && nameToCarry(base, mirror, service, policy) === null;
}

/** The message of the hold of a name that the service shows as empty. */
export const emptiedDetail =
  'the service no longer shows a name, and an empty name never replaces a name: decide with "musterd resolve"';

/** True if the service's name is empty and the known name is not. */
export function isEmptied({ name }: Pick<ServiceUser, 'name'>, known: Pick<UserValues, 'name'>): boolean {
  const serviceName = readable(name);
  return serviceName !== undefined && canonicalName(serviceName ?? '') === '' && joinName(known.name) !== '';
}

export interface UserOnBothSides extends Omit<UserState, 'mirror' | 'service'> {
  readonly mirror: MirrorUser;
  readonly service: ServiceUser;
}

export const versionsOf = (field: Field, { base, mirror, service }: UserOnBothSides): Values => ({
  base: base?.[field],
  mirror: mirror[field],
  service: serviceValue(service, field),
});

/** The field stays held, and the service's current value is recorded. */
export const stillHeld = (field: Field, service: ServiceUser): Decision => ({
  kind: 'held',
  shown: serviceValue(service, field),
});

/**
 * A field that the service does not show readably waits unchanged. If the service leaves out an email or phone that it
 * had before, the value may have been removed on the service. So an edit of the field is not sent: a person decides.
 */
function planUnread(field: Field, state: UserOnBothSides): Decision {
  const { base, mirror, service } = state;
  const mayBeEmpty = field !== 'name' && isText(field);
  const isEdited = base !== undefined && !sameBytes(field, mirror, base);
  if (!mayBeEmpty || !isEdited || unreadOf(field, base, service) !== 'left out') return { kind: 'wait' };
  const detail = 'edited here, but the service now leaves it out: it was emptied there, or is not shown';
  return holdField(field, 'conflict', detail, versionsOf(field, state));
}

/** A field whose values in mirror and service differ. */
interface DifferingField {
  readonly field: Field;
  readonly state: UserOnBothSides;
  readonly values: Values;
  readonly base: BaseUser;
  /** The result of merge and policy, which applies unless a hold decides otherwise. */
  readonly decided: 'pull' | 'push' | 'conflict';
  /** True if the mirror wins conflicts. Then a change on the service is no reason to hold a push. */
  readonly mirrorWins: boolean;
}

const toPush = ({ field, state: { edits }, values }: DifferingField, ends: boolean): Decision => ({
  kind: 'push',
  values,
  edit: edits[field]?.id,
  ends,
});

/** The decision about a held field that differs; `undefined` if the hold is over and the field is decided again. */
function underHold(
  hold: Hold,
  differing: DifferingField,
  policy: Policy,
  hasName: boolean,
): Decision | undefined {
  const { field, state, values, base, decided, mirrorWins } = differing;
  const isDecided = hold.decision !== undefined;
  const waitsForPerson = isStopped(hold);
  if (isAsSeen(hold, values, state)) {
    if (isDecided && unsendable(field, state.mirror, base) === undefined) return toPush(differing, false);
    if (waitsForPerson) return { kind: 'held', shown: hold.service };
  }
  // A hold applies to its own edit only. A later edit of the field is decided again.
  if (!isSameEdit(hold, state)) return undefined;
  if (waitsForPerson) {
    // `undefined`: the field is decided again, and the guard holds it again, even if no limit is exceeded (`guard.ts`).
    const isOfBatch = sameValue(field, hold.mirror, state.mirror[field]);
    return decided === 'conflict' && isOfBatch ? stillHeld(field, state.service) : undefined;
  }
  if (!isDecided && staysHeld(hold, base, state, policy, hasName)) return stillHeld(field, state.service);
  const detail = mirrorWins || decided === 'pull' ? undefined : voidDetail(hold, values, state);
  return detail === undefined
    ? undefined
    : holdField(field, decided === 'conflict' ? decided : 'review', detail, values);
}

/** The reason why a differing field is held from now on; `undefined` if it can be sent or pulled. */
function reasonToHold({
  field,
  state: { mirror, service },
  base,
  decided,
}: DifferingField): readonly [HoldReason, string] | undefined {
  switch (decided) {
    case 'conflict':
      return ['conflict', 'both sides changed it since they last agreed'];
    case 'pull':
      return field === 'name' && isEmptied(service, mirror) ? ['conflict', emptiedDetail] : undefined;
    case 'push': {
      const detail = unsendable(field, mirror, base);
      return detail === undefined ? undefined : ['unsupported', detail];
    }
    default:
      return decided satisfies never;
  }
}

/** @param hasName true if this run has a name that can be sent together with this field */
export function planField(field: Field, state: UserOnBothSides, policy: Policy, hasName = false): Decision {
  const { mirror, service } = state;
  const values = versionsOf(field, state);
  const hold = holdOn(field, state);
  const ends = hold !== undefined;
  if (isAsked(hold)) return stillHeld(field, service);
  const decided = applyPolicy(policy, field, mergeField(field, state.base, mirror, service));
  if (decided === 'unread') {
    // A hold that was made for another edit does not apply to this edit.
    const anew = planUnread(field, state);
    if (hold?.reason === 'asked') return anew.kind === 'wait' ? { kind: 'same', ends } : anew;
    return ends && (anew.kind === 'wait' || isSameEdit(hold, state)) ? stillHeld(field, service) : anew;
  }
  if (decided === 'nothing') return { kind: 'same', ends };
  if (decided === 'settle') return { kind: 'settle', values, ends };
  const base = agreedOf(state.base, mirror, service);
  const differing = { field, state, values, base, decided, mirrorWins: policy[field] === 'mirror-wins' };
  const held = hold === undefined ? undefined : underHold(hold, differing, policy, hasName);
  if (held !== undefined) return held;
  const reason = reasonToHold(differing);
  if (reason !== undefined) return holdField(field, ...reason, values);
  return decided === 'push' ? toPush(differing, ends) : { kind: 'pull', values, ends };
}
