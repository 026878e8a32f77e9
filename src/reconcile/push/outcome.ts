/**
 * What became of a push, field by field, from what the service shows of the user afterwards.
 *
 * | the service shows           | outcome     |
 * |-----------------------------|-------------|
 * | what was sent               | confirmed   |
 * | the value from before       | ineffective |
 * | a third value               | changed     |
 * | no user, or not the field   | missing     |
 * | what cannot be read        | missing     |
 *
 * All in canonical form. A field that is not sent must stay as it was: an untouched name that changes is
 * reported too, since the interface links its halves.
 */
import type { FieldOutcomes, Intent, PushOutcome } from '../../model/intent.ts';
import { canonicalName, hasLostWords } from '../../model/name.ts';
import {
  type BaseUser,
  canonicalValue,
  type Field,
  fields,
  readable,
  type ServiceUser,
  saidOf,
  type UserPatch,
  type UserValues,
} from '../../model/user.ts';

/** The fields that a patch writes. */
export function patchedFields(patch: UserPatch): readonly Field[] {
  return fields.filter((field) => patch[field] !== undefined);
}

/** What a request holds for an intent: the edited fields, and the name where it has to go along. */
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
  const said = seen === null ? 'unreadable' : saidOf(field, seen);
  // Some deployments leave a field without a value out: cleared and not there is what was asked for.
  if (said === 'left out' && wanted === '') return 'confirmed';
  if (typeof said !== 'object') return 'missing';
  if (said.value === wanted) return 'confirmed';
  return said.value === canonicalValue(field, before) ? 'ineffective' : 'changed';
}

/** @param before what the service showed right before the push */
export function judge(sent: UserPatch, before: UserValues, seen: ServiceUser | null): FieldOutcomes {
  return Object.fromEntries(
    patchedFields(sent).map((field) => [field, judgeField(field, sent, before, seen)]),
  );
}

/** Whether the service no longer shows a field that it showed a value of: nothing is sent over what nobody sees. */
function isOutOfSight(field: Field, before: UserValues, seen: ServiceUser): boolean {
  const said = saidOf(field, seen);
  return said === 'unreadable' || (said === 'left out' && canonicalValue(field, before) !== '');
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
  const again = (field: Field): PushOutcome => {
    const outcome = outcomes[field] ?? 'missing';
    if (outcome === 'confirmed' && !isProof(field, sent, before, seen)) return 'ineffective';
    return outcome === 'missing' && seen !== null && isOutOfSight(field, before, seen) ? 'unsent' : outcome;
  };
  return Object.fromEntries(patchedFields(sent).map((field) => [field, again(field)]));
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
  const [said, had] = [readable(seen?.name), readable(before?.name)];
  if (sent.name !== undefined || said === undefined) return false;
  return hasLostWords(said ?? '', had === undefined ? base.joined : (had ?? ''));
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
  const late = (field: Field, outcome: PushOutcome): PushOutcome => {
    if (outcome === 'confirmed' && isProof(field, sent, before, seen)) return 'confirmed';
    if (!quiet) return 'unknown';
    return outcome === 'confirmed' || outcome === 'ineffective' ? 'unanswered' : outcome;
  };
  return Object.fromEntries(
    patchedFields(sent).map((field) => [field, late(field, outcomes[field] ?? 'missing')]),
  );
}
