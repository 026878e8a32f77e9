/**
 * One user whose update was refused as a whole: each field is sent by itself, and the refused ones are held.
 *
 * | an update without the name           | order     | what goes along with the other fields            |
 * |--------------------------------------|-----------|--------------------------------------------------|
 * | is known to leave it alone           | name last | nothing                                          |
 * | may clear it, the name is edited     | name first| the new name if it was taken, the old one if not |
 * | is known to clear it, it is unedited | ·         | the service's own name (`carry-name.ts`)         |
 *
 * The user is read again before each field but the first, and what somebody changed meanwhile is left alone.
 * It ends where a request got no answer or was turned away: what has not been sent by then waits.
 */
import { ServiceError } from '../../errors.ts';
import type { FieldOutcomes, Intent, PushOutcome } from '../../model/change.ts';
import { canonicalName, joinName, type NamePair } from '../../model/name.ts';
import {
  canonicalValue,
  type Field,
  readable,
  type ServiceUser,
  saidOf,
  type UserPatch,
  type UserValues,
} from '../../model/user.ts';
import { halvesOf, isOtherName } from './carry-name.ts';
import { type PushContext, type PushSettings, readBackIntents, record, stopPushing } from './record.ts';
import { judgeAnswer, noteUnanswered, type Sent, sendRequest, withNewDeadline } from './request.ts';
import type { Answered } from './result.ts';
import { isOutOfSight, judgeLate, nameWasTouched, patchedFields } from './outcome.ts';

/** How far it has come. */
interface Course {
  readonly answered: Answered;
  /** Whether other fields may go without the name, as far as it was seen. */
  readonly keepsName: boolean;
  /** What goes along with the field that is next. */
  readonly along?: NamePair | undefined;
  /** Why the fields that are left are not sent. */
  readonly end?: { readonly error?: unknown };
}

function settle(
  course: Course,
  outcomes: FieldOutcomes,
  seen: ServiceUser | null = null,
  end: Course['end'] = course.end,
): Course {
  const { answered } = course;
  return {
    ...course,
    answered: {
      ...answered,
      seen: seen ?? answered.seen,
      outcomes: { ...answered.outcomes, ...outcomes },
    },
    ...(end === undefined ? {} : { end }),
  };
}

const unsent = (field: Field): FieldOutcomes => ({ [field]: 'unsent' });

/** What became of a field that has not been sent; `send`: it is as it was, or as our own request left the name. */
function standing(
  field: Field,
  { intent, cleared }: Answered,
  user: ServiceUser | null,
): PushOutcome | 'send' {
  const said = user === null ? 'left out' : saidOf(field, user);
  if (typeof said !== 'object' || said.value === canonicalValue(field, intent.before)) return 'send';
  if (field === 'name' && said.value === cleared?.name) return 'send';
  return said.value === canonicalValue(field, intent.sent as UserValues) ? 'confirmed' : 'changed';
}

/** The name that goes along with a field; `undefined`: none needs to, `null`: nobody knows its halves. */
function companionOf({ answered, keepsName }: Course, field: Field, user: ServiceUser | null) {
  const { intent, outcomes } = answered;
  if (field === 'name') return undefined;
  if (keepsName || intent.sent.name === undefined) return intent.along;
  if (outcomes.name === 'confirmed') return intent.sent.name;
  if (user !== null && isOutOfSight('name', intent.before, user)) return null;
  const said = readable(user?.name);
  return halvesOf(said === undefined ? joinName(intent.before.name) : (said ?? ''), intent.base, false);
}

/** A read that fails ends the course, and costs nothing of what is known by now. */
async function orEnd(course: Course, read: (course: Course) => Promise<Course>): Promise<Course> {
  try {
    return await read(course);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return settle(course, {}, null, { error });
  }
}

/** What the request for one field is answered with. */
async function take(
  places: PushContext,
  course: Course,
  field: Field,
  patch: UserPatch,
  sent: Sent,
): Promise<Course> {
  const { intent, seen: last } = course.answered;
  const alone: UserPatch = { [field]: intent.sent[field] };
  switch (sent.kind) {
    case 'refused':
      return settle(course, { [field]: 'refused' });
    case 'unsent':
      return settle(course, unsent(field), null, { error: sent.error });
    case 'unknown': {
      noteUnanswered(places, sent.error);
      return await orEnd(settle(course, { [field]: 'unknown' }), async (open) => {
        const user = (await readBackIntents(places, [intent])).get(intent.userId) ?? null;
        return settle(open, judgeLate(alone, intent.before, user, false), user, {});
      });
    }
    case 'answered': {
      const user = sent.users.get(intent.userId) ?? null;
      const outcomes = judgeAnswer(alone, intent.before, user, user !== null);
      const before = last ?? places.users.get(intent.userId);
      const isTouched = nameWasTouched(patch, intent.base, user, before);
      // Nothing of ours sets the name right again, or nobody knows what the request did: no more is sent.
      const isOver =
        Object.values(outcomes).includes('unknown') || (isTouched && intent.sent.name === undefined);
      const next = settle(course, outcomes, user, isOver ? {} : course.end);
      if (!isTouched) return next;
      const cleared = { name: canonicalName(readable(user?.name) ?? ''), by: patchedFields(patch) };
      return { ...next, answered: { ...next.answered, cleared } };
    }
    default:
      return sent satisfies never;
  }
}

/** What the user shows before a field is sent: it is settled, or the course is over, or all may go on. */
async function lookAgain(places: PushContext, course: Course, field: Field): Promise<Course> {
  const { answered } = course;
  const { intent } = answered;
  const user = (await readBackIntents(places, [intent])).get(intent.userId) ?? null;
  if (user === null) {
    places.notes.partial('1 users could not be read again before a push');
    return settle(course, unsent(field));
  }
  for (const shown of [answered.seen, user]) {
    const outcome = standing(field, answered, shown);
    if (outcome !== 'send') return settle(course, { [field]: outcome }, user);
  }
  if (isOutOfSight(field, intent.before, user)) {
    places.notes.partial(`an edit of user ${intent.userId} waits: the service does not show the field now`);
    return settle(course, unsent(field), user);
  }
  const along = companionOf(course, field, user);
  if (along === null) {
    places.notes.partial(
      `other edits of user ${intent.userId} wait for the next run: an update without the name may clear it`,
    );
    return settle(course, unsent(field), user, {});
  }
  // What was set meanwhile is pulled by the next run, and what is left is planned again.
  if (isOtherName(along, user)) return settle(course, unsent(field), null, {});
  return { ...course, along };
}

async function sendField(
  places: PushContext,
  settings: PushSettings,
  course: Course,
  field: Field,
): Promise<Course> {
  const { intent, outcomes } = course.answered;
  // Whoever was refused has just been read.
  const isFirst = Object.keys(outcomes).length === 0;
  const looked = isFirst
    ? { ...course, along: companionOf(course, field, null) ?? undefined }
    : await orEnd({ ...course, along: undefined }, (from) => lookAgain(places, from, field));
  if (looked.end !== undefined) return settle(looked, unsent(field));
  if (looked.answered.outcomes[field] !== undefined) return looked;
  const patch: UserPatch = {
    ...(looked.along === undefined ? {} : { name: looked.along }),
    [field]: intent.sent[field],
  };
  const sending = isFirst ? places : withNewDeadline(places, settings);
  const sent = await sendRequest(sending, new Map([[intent.userId, patch]]));
  return await take(places, looked, field, patch, sent);
}

/** @returns whether anything of it was taken; `false` means that every field was refused or left */
export async function sendFieldByField(
  places: PushContext,
  settings: PushSettings,
  intent: Intent,
  refusal: ServiceError,
): Promise<boolean> {
  const patched = patchedFields(intent.sent).toReversed();
  const answered: Answered = {
    intent,
    seen: null,
    outcomes: {},
    requestId: refusal.requestId ?? null,
    refusal,
  };
  const [only] = patched;
  if (only !== undefined && patched.length === 1) {
    await record(places, settings, [{ ...answered, outcomes: { [only]: 'refused' } }]);
    return false;
  }
  const keepsName = (await places.mirror.readNameSafety()) === 'kept';
  const others = patched.filter((field) => field !== 'name');
  const name = patched.filter((field) => field === 'name');
  let course: Course = { answered, keepsName };
  for (const field of keepsName ? [...others, ...name] : [...name, ...others])
    course =
      course.end === undefined
        ? await sendField(places, settings, course, field)
        : settle(course, unsent(field));
  if (course.answered.cleared !== undefined) stopPushing(places, intent.userId);
  await record(places, settings, [course.answered]);
  const { end } = course;
  if (end !== undefined && 'error' in end) throw end.error;
  return Object.values(course.answered.outcomes).some((outcome) => !['refused', 'unsent'].includes(outcome));
}
