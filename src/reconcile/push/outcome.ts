/**
 * The outcome of a push, field by field, by the value that the service shows after the push:
 *
 * | the service shows           | outcome     |
 * |-----------------------------|-------------|
 * | what was sent               | confirmed   |
 * | the value from before       | ineffective |
 * | a third value               | changed     |
 * | no user, or no such field   | missing     |
 * | an unreadable value         | missing     |
 *
 * Values are compared in canonical form. `nameWasTouched` also detects if an update changed a name that was not sent,
 * because the interface links the halves of a name.
 */
import { type Field, fields, type UserValues } from '../../model/fields.ts';
import type { FieldOutcomes, Intent, PushOutcome } from '../../model/intent.ts';
import { canonicalName, hasLostWords } from '../../model/name.ts';
import {
  type BaseUser,
  canonicalValue,
  readable,
  type ServiceUser,
  readingOf,
  type UserPatch,
} from '../../model/user.ts';

export function patchedFields(patch: UserPatch): readonly Field[] {
  return fields.filter((field) => patch[field] !== undefined);
}

/** The values to send for an intent: the edited fields, and the unedited name if an update without it would clear it. */
export function patchOf({ sent, along }: Pick<Intent, 'sent' | 'along'>): UserPatch {
  return along === undefined ? sent : { ...sent, name: along };
}

function judgeField(
  field: Field,
  sent: UserPatch,
  before: UserValues,
  seen: ServiceUser | null,
): PushOutcome {
  const wanted = canonicalValue(field, sent as UserValues);
  const reading = seen === null ? 'unreadable' : readingOf(field, seen);
  // Some deployments leave out empty fields. So if the push emptied the field, its absence confirms the push.
  if (reading === 'left out' && wanted === '') return 'confirmed';
  if (typeof reading !== 'object') return 'missing';
  if (reading.value === wanted) return 'confirmed';
  return reading.value === canonicalValue(field, before) ? 'ineffective' : 'changed';
}

/** @param before the user right before the push */
export function judge(sent: UserPatch, before: UserValues, seen: ServiceUser | null): FieldOutcomes {
  return Object.fromEntries(
    patchedFields(sent).map((field) => [field, judgeField(field, sent, before, seen)]),
  );
}

/**
 * True if the shown value proves that the push arrived. If old and new value have the same canonical form, only a value
 * that equals the sent value byte for byte proves it. A new split of the same name cannot be proven, because the service
 * shows only the joined name.
 */
function isProof(field: Field, sent: UserPatch, before: UserValues, seen: ServiceUser | null): boolean {
  if (canonicalValue(field, sent as UserValues) !== canonicalValue(field, before)) return true;
  if (field !== 'name') return seen?.[field] === sent[field];
  const { name = before.name } = sent;
  // The joined names are equal, so if the first names are equal, the last names are, too.
  const sameHalves = canonicalName(name.first) === canonicalName(before.name.first);
  return sameHalves && seen?.name === [name.first, name.last].filter((half) => half !== '').join(' ');
}

/**
 * True if the update cleared a name that it did not contain, or removed a half of the name. If the name has other words
 * now, it was edited on the service at the same time, and this edit is pulled like any other.
 * @param before the user right before the push; its name may differ from base if a conflict is held
 */
export function nameWasTouched(
  sent: UserPatch,
  base: BaseUser,
  seen: ServiceUser | null,
  before?: ServiceUser,
): boolean {
  const [nameNow, nameBefore] = [readable(seen?.name), readable(before?.name)];
  if (sent.name !== undefined || nameNow === undefined) return false;
  return hasLostWords(nameNow ?? '', nameBefore === undefined ? base.joined : (nameBefore ?? ''));
}

/**
 * Like `judge`, for an intent that got no answer and is read back later. Proven values are confirmed at once. All other
 * values stay `unknown` until the quiet period is over, because the update may still be in flight.
 * @param quiet true if the quiet period is over
 */
export function judgeLate(
  sent: UserPatch,
  before: UserValues,
  seen: ServiceUser | null,
  quiet: boolean,
): FieldOutcomes {
  const outcomes = judge(sent, before, seen);
  const late = (field: Field, outcome: PushOutcome): PushOutcome => {
    if (outcome === 'confirmed' && isProof(field, sent, before, seen)) return 'confirmed';
    if (!quiet) return 'unknown';
    return outcome === 'confirmed' || outcome === 'ineffective' ? 'unanswered' : outcome;
  };
  return Object.fromEntries(
    patchedFields(sent).map((field) => [field, late(field, outcomes[field] ?? 'missing')]),
  );
}

/** Judges the answer to an update (`direct`), or a lookup of a user whom it left out, which can only prove success. */
export function judgeAnswer(
  sent: UserPatch,
  before: UserValues,
  seen: ServiceUser | null,
  direct: boolean,
): FieldOutcomes {
  if (!direct) return judgeLate(sent, before, seen, false);
  const outcomes = Object.entries(judge(sent, before, seen));
  return Object.fromEntries(
    outcomes.map(([field, outcome]) => [field, outcome === 'missing' ? 'unknown' : outcome]),
  );
}
