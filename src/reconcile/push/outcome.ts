/**
 * The outcome of a push, field by field, from the user as the service shows it afterwards.
 *
 * | the service shows           | outcome     |
 * |-----------------------------|-------------|
 * | what was sent               | confirmed   |
 * | the value from before       | ineffective |
 * | a third value               | changed     |
 * | no user, or not the field   | missing     |
 * | an unreadable value         | missing     |
 *
 * Values are compared in canonical form. An update may change only the sent fields. A change of a name that was
 * not sent is reported, too, because the interface links the halves of a name.
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

/** The content of a request for an intent: the edited fields, and the name if it must be carried. */
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
  // Some deployments leave out empty fields: if the push cleared the field, an absent field is confirmed.
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
 * that equals the sent value byte for byte proves it, because nothing is left to send then. A new split of the same name
 * never shows, so it is never proven.
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
 * True if a name that was not sent was cleared or lost a half. If the name has other words now, it was edited on the
 * service at the same moment, and this edit is pulled like any other.
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
 * Like `judge`, for an intent that got no answer and is read back later. Proven values are confirmed at once. Other
 * values may still be in flight until the quiet period is over.
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

/** Judges the answer to the update (`direct`), which is final. For users that it left out, a lookup can only confirm. */
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
