/**
 * What became of a push, field by field, from what the service shows of the user afterwards.
 *
 * | the service shows           | outcome     |
 * |-----------------------------|-------------|
 * | what was sent               | confirmed   |
 * | the value from before       | ineffective |
 * | a third value               | changed     |
 * | no user, or not the field   | missing     |
 *
 * All in canonical form. A field that is not sent must stay as it was: an untouched name that changes is
 * reported too, since the interface links its halves.
 */
import type { FieldOutcomes, Outcome } from '../model/change.ts';
import { canonicalName } from '../model/name.ts';
import {
  type BaseUser,
  canonicalServiceValue,
  canonicalValue,
  type Field,
  fields,
  type ServiceUser,
  type UserPatch,
  type UserValues,
} from '../model/user.ts';
import { canonicalBase } from './merge.ts';

/** The fields that a patch writes. */
export function patchedFields(patch: UserPatch): readonly Field[] {
  return fields.filter((field) => patch[field] !== undefined);
}

function judgeField(field: Field, sent: UserPatch, base: BaseUser, seen: ServiceUser | null): Outcome {
  const said = seen === null ? undefined : canonicalServiceValue(field, seen);
  if (said === undefined) return 'missing';
  if (said === canonicalValue(field, sent as UserValues)) return 'confirmed';
  return said === canonicalBase(field, base) ? 'ineffective' : 'changed';
}

export function judge(sent: UserPatch, base: BaseUser, seen: ServiceUser | null): FieldOutcomes {
  return Object.fromEntries(patchedFields(sent).map((field) => [field, judgeField(field, sent, base, seen)]));
}

/**
 * Whether a name that was not sent is no longer what it was.
 * @param before the user right before the push; its name may differ from base, where a conflict is held
 */
export function nameWasTouched(
  sent: UserPatch,
  base: BaseUser,
  seen: ServiceUser | null,
  before?: ServiceUser,
): boolean {
  if (sent.name !== undefined || seen === null || seen.name === undefined) return false;
  const was = before?.name === undefined ? base.joined : (before.name ?? '');
  return canonicalName(seen.name ?? '') !== canonicalName(was);
}

/**
 * The same for an intent whose answer never came, read back `ageMs` after it was written down. What was
 * sent and is seen is confirmed at once. Anything else may still be on its way until the quiet period is
 * over. A new split of the same joined name can not be seen, so seeing it proves nothing.
 */
export function judgeLate(
  sent: UserPatch,
  base: BaseUser,
  seen: ServiceUser | null,
  quiet: boolean,
): FieldOutcomes {
  const outcomes = judge(sent, base, seen);
  const late = (field: Field, outcome: Outcome): Outcome => {
    const visible = canonicalValue(field, sent as UserValues) !== canonicalBase(field, base);
    if (outcome === 'confirmed' && visible) return 'confirmed';
    if (!quiet) return 'unknown';
    return outcome === 'confirmed' || outcome === 'ineffective' ? 'unsent' : outcome;
  };
  return Object.fromEntries(
    patchedFields(sent).map((field) => [field, late(field, outcomes[field] ?? 'missing')]),
  );
}
