/** Derives the values to store and the fields to hold from the outcome of a push. */
import type { ServiceError } from '../../errors.ts';
import type { Field, UserValues } from '../../model/fields.ts';
import type { FieldOutcomes, Intent, IntentResult, PushTries } from '../../model/intent.ts';
import type { Hold, HoldReason } from '../../model/user-plan.ts';
import { joinName, splitName } from '../../model/name.ts';
import { canonicalValue, readable, type ServiceUser, readingOf, serviceValue } from '../../model/user.ts';
import { takeValues } from '../merge/service-values.ts';
import { nameWasTouched, patchedFields, patchOf } from './outcome.ts';

/** An intent with its outcome. */
export interface AnsweredIntent {
  readonly intent: Intent;
  /** The user as the service showed it after the push; `null` if the service did not show the user. */
  readonly seen: ServiceUser | null;
  /** The user right before the push; absent if an earlier run sent the push. */
  readonly before?: ServiceUser | undefined;
  readonly outcomes: FieldOutcomes;
  /** True if `seen` comes from the answer to the update itself, so nothing can have changed since the update. */
  readonly isDirect?: boolean;
  readonly requestId: string | null;
  readonly refusal?: ServiceError;
}

function takeAnswer(intent: Intent, seen: ServiceUser | null): UserValues {
  const sent: UserValues = { ...intent.base, ...intent.sent };
  return seen === null ? sent : takeValues(seen, sent);
}

/**
 * The hold of a field after this outcome; `undefined` if the field is not held. If a person's decision allowed the push,
 * the push has used up the decision. Only some outcomes make the decision valid again (`giveDecisionsBack`):
 *
 * | outcome     | no decision              | allowed by a decision                |
 * |-------------|--------------------------|--------------------------------------|
 * | confirmed   | the edit ends            | the edit ends                        |
 * | changed     | is held: conflict        | is held: conflict                    |
 * | refused (‡) | is held: refused         | is held: refused                     |
 * | ineffective | is sent again (†)        | is held: ineffective                 |
 * | missing     | is sent again (†)        | decision valid again, sent again (†) |
 * | unanswered  | is sent again (†)        | decision valid again, sent again (†) |
 * | unsent      | is sent by the next run  | decision valid again                 |
 * | unknown     | is read back later       | is read back later                   |
 *
 * † if the merge still decides to push the field. After too many tries in a row, the field is held: ineffective.
 * ‡ the field was refused in a request alone, or too often in a row together with other fields; until then, it is unsent.
 */
function holdOf(
  field: Field,
  answered: AnsweredIntent,
  tries: PushTries | undefined,
  maxTries: number,
): Hold | undefined {
  const { intent, seen, outcomes } = answered;
  const hold = (reason: HoldReason, detail: string): Hold => ({
    field,
    reason,
    detail,
    base: intent.base[field],
    mirror: intent.sent[field],
    // If the service does not show the field, the service's value counts as unchanged.
    service: isShown(field, seen) ? serviceValue(seen, field) : valueBefore(field, intent),
  });
  const count = (tries?.[field] ?? 0) + 1;
  switch (outcomes[field]) {
    case 'changed':
      return hold('conflict', 'the service shows neither the old nor the pushed value');
    case 'refused':
      return hold('refused', sayRefusal(answered));
    case 'ineffective':
    case 'missing':
    case 'unanswered': {
      const why = whyInVain(field, answered, count, maxTries);
      return why === undefined ? undefined : hold('ineffective', `${why}${differenceOf(field, answered)}`);
    }
    case 'unsent': {
      const isGivenUp = answered.refusal !== undefined && count >= maxTries;
      return isGivenUp
        ? hold('refused', `${sayRefusal(answered)}, ${count} times, together with other users`)
        : undefined;
    }
    case 'confirmed':
    case 'unknown':
    case undefined:
      return undefined;
    default:
      return outcomes[field] satisfies never;
  }
}

/** The reason, in words, to give up a push without effect; `undefined` if the push is tried again. */
function whyInVain(field: Field, { intent, outcomes }: AnsweredIntent, count: number, maxTries: number) {
  if (outcomes[field] === 'ineffective' && intent.decided.includes(field))
    return 'it was sent once after an approval and had no effect';
  return count < maxTries ? undefined : `pushed ${count} times without effect or answer`;
}

function sayRefusal({ intent, refusal }: AnsweredIntent): string {
  const label = refusal?.label === undefined ? '' : `, "${refusal.label}"`;
  const along = intent.along === undefined ? '' : '; the name was sent too, or it would be cleared';
  const how =
    refusal === undefined ? 'the service refused it' : `the service answered ${refusal.status ?? 400}`;
  return `${how}${label}${along}`;
}

/** The first difference between the sent and the shown value, in canonical form. */
function differenceOf(field: Field, { intent, seen }: AnsweredIntent): string {
  const reading = seen === null ? 'left out' : readingOf(field, seen);
  if (typeof reading !== 'object') return '';
  const value = reading.value;
  const sent = canonicalValue(field, intent.sent as UserValues);
  const [sentLetters, shownLetters] = [Array.from(sent), Array.from(value)];
  const at = sentLetters.findIndex((character, index) => character !== shownLetters[index]);
  return `: sent "${sent}", shown "${value}", first difference at character ${(at < 0 ? sentLetters.length : at) + 1}`;
}

const isShown = (field: Field, seen: ServiceUser | null): seen is ServiceUser =>
  seen !== null && typeof readingOf(field, seen) === 'object';

function valueBefore(field: Field, { before }: Intent) {
  return field === 'name' ? joinName(before.name) : before[field];
}

export function resultOf(
  answered: AnsweredIntent,
  tries: ReadonlyMap<Intent['userId'], PushTries>,
  maxTries: number,
): IntentResult {
  const { intent, seen, requestId } = answered;
  const mine = tries.get(intent.userId);
  const holds = patchedFields(intent.sent).flatMap((field) => holdOf(field, answered, mine, maxTries) ?? []);
  const refused = holds.flatMap(({ field, reason }) =>
    reason === 'refused' ? [[field, reason] as const] : [],
  );
  const outcomes = { ...answered.outcomes, ...Object.fromEntries(refused) };
  // Base gets the cleared or shortened name. So the mirror's name differs from base, counts as an edit, and is pushed.
  const harmed = nameWasTouched(patchOf(intent), intent.base, seen, answered.before);
  const taken = takeAnswer(intent, seen);
  const joined = readable(seen?.name) ?? '';
  return {
    intent,
    outcomes,
    seen,
    taken: harmed ? { ...taken, name: splitName(joined) } : taken,
    joined: harmed ? joined : (readable(seen?.name) ?? joinName(taken.name)),
    harmed,
    holds,
    closed: !Object.values(outcomes).includes('unknown'),
    isDirect: answered.isDirect === true,
    hasLeft: answered.refusal !== undefined || !Object.values(outcomes).includes('unsent'),
    requestId,
  };
}

/** The answer `unsent` for an intent that was never sent, or that the service turned away unread. */
export function neverLeft(intent: Intent): AnsweredIntent {
  const outcomes = Object.fromEntries(patchedFields(intent.sent).map((field) => [field, 'unsent' as const]));
  return { intent, seen: null, outcomes, requestId: null };
}
