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
import type { FieldOutcomes, Intent, Outcome } from '../model/change.ts';
import { canonicalName, hasLostWords } from '../model/name.ts';
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

/** The fields that a patch writes. */
export function patchedFields(patch: UserPatch): readonly Field[] {
  return fields.filter((field) => patch[field] !== undefined);
}

/** What a request holds for an intent: the edited fields, and the name where it has to go along. */
export function patchOf({ sent, along }: Pick<Intent, 'sent' | 'along'>): UserPatch {
  return along === undefined ? sent : { ...sent, name: along };
}

function judgeField(field: Field, sent: UserPatch, before: UserValues, seen: ServiceUser | null): Outcome {
  const wanted = canonicalValue(field, sent as UserValues);
  const said = seen === null ? undefined : canonicalServiceValue(field, seen);
  // Some deployments leave a field without a value out: cleared and not there is what was asked for.
  if (said === undefined) return seen !== null && wanted === '' ? 'confirmed' : 'missing';
  if (said === wanted) return 'confirmed';
  return said === canonicalValue(field, before) ? 'ineffective' : 'changed';
}

/** @param before what the service showed right before the push */
export function judge(sent: UserPatch, before: UserValues, seen: ServiceUser | null): FieldOutcomes {
  return Object.fromEntries(
    patchedFields(sent).map((field) => [field, judgeField(field, sent, before, seen)]),
  );
}

/**
 * Whether a value that is shown as it was sent says that it arrived. One that differs from the old one in bytes
 * alone is shown by the old one as well, unless what is shown is what was sent byte for byte: then nothing is left
 * to be sent. New halves of the same name are never to be seen.
 */
function isProof(field: Field, sent: UserPatch, before: UserValues, seen: ServiceUser | null): boolean {
  if (canonicalValue(field, sent as UserValues) !== canonicalValue(field, before)) return true;
  const { name } = sent;
  if (field !== 'name' || name === undefined) return seen?.[field] === sent[field];
  const halves = ['first', 'last'] as const;
  const sameHalves = halves.every((half) => canonicalName(name[half]) === canonicalName(before.name[half]));
  return sameHalves && seen?.name === [name.first, name.last].filter((half) => half !== '').join(' ');
}

/** The same for what was refused or has not been sent: what proves nothing is no less to be sent. */
export function judgeUnsent(sent: UserPatch, before: UserValues, seen: ServiceUser | null): FieldOutcomes {
  const outcomes = judge(sent, before, seen);
  return Object.fromEntries(
    patchedFields(sent).map((field) => [
      field,
      outcomes[field] === 'confirmed' && !isProof(field, sent, before, seen)
        ? 'ineffective'
        : (outcomes[field] ?? 'missing'),
    ]),
  );
}

/**
 * Whether a name that was not sent was cleared, or lost a half. A name of other words is somebody's edit in
 * the same moment, and pulled like any other.
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
  return hasLostWords(seen.name ?? '', was);
}

/**
 * The same for an intent whose answer never came, read back `ageMs` after it was written down. What was
 * sent and is seen is confirmed at once. Anything else, and what proves nothing, may still be on its way until
 * the quiet period is over.
 */
export function judgeLate(
  sent: UserPatch,
  before: UserValues,
  seen: ServiceUser | null,
  quiet: boolean,
): FieldOutcomes {
  const outcomes = judge(sent, before, seen);
  const late = (field: Field, outcome: Outcome): Outcome => {
    if (outcome === 'confirmed' && isProof(field, sent, before, seen)) return 'confirmed';
    if (!quiet) return 'unknown';
    return outcome === 'confirmed' || outcome === 'ineffective' ? 'unanswered' : outcome;
  };
  return Object.fromEntries(
    patchedFields(sent).map((field) => [field, late(field, outcomes[field] ?? 'missing')]),
  );
}
