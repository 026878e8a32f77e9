/**
 * What no run does without a person: the limits that are checked before the first write on either side.
 *
 * | what                                                        | what happens              |
 * |-------------------------------------------------------------|---------------------------|
 * | pushes to more than max(`maxRows`, `maxShare`) of the users | all pushes are held       |
 * | pushes to more than `maxSharePerDay` in a day, over all runs| all pushes are held       |
 * | pushes to every user of `wholeTeam` or more                 | all pushes are held       |
 * | more than `maxDrift` of the rows lack a field they had, and | all pushes are held       |
 * | nobody has agreed to that since they do                     |                           |
 * | a field that was in a batch, and of which nobody decided    | it is held again          |
 * | a limit on single fields (`field-limits.ts`)                | that field is held        |
 * | a demotion that only a promotion of this run would mend     | it waits for the next run |
 * | a person sees each push first (`isReviewed`)                | all pushes are held, in a |
 * |                                                             | batch per transaction     |
 *
 * Where a person sees each push first, how many they are is no reason: it is asked of nothing.
 *
 * Shares apply from `minPopulation` users on. Only pushes count: adopting, pulling and settling never do.
 * What is held together is a batch. What becomes of each field that would be pushed:
 *
 * | beyond a field limit | resolved | approved | refused or in a batch before | the field             |
 * |----------------------|----------|----------|------------------------------|-----------------------|
 * | yes                  | no       | ·        | ·                            | is held alone         |
 * | ·                    | yes      | ·        | ·                            | is sent, not counted  |
 * | no                   | no       | yes      | ·                            | is sent, not counted  |
 * | no                   | no       | no       | yes                          | is held in this batch |
 * | no                   | no       | no       | no                           | is sent               |
 *
 * Resolved and approved is what a person agreed to with these very values. A value that was in a batch before does
 * not count again; another one of the same field does, and however few they are, nobody has agreed to them. So a
 * batch that waits keeps nothing else from being sent.
 *
 * What people are told (exit code 4), and what a run then still does:
 *
 * | waited before | refused now                                  | told | the run           |
 * |---------------|----------------------------------------------|------|-------------------|
 * | nothing       | yes                                          | yes  | ends              |
 * | a batch       | more users than one run may push to, or all  | yes  | goes on           |
 * | a batch       | no, or fewer                                 | no   | goes on           |
 * | a batch       | ·, but it has waited for a day               | yes  | goes on           |
 */
import type { Id } from '../../model/id.ts';
import { sameValue } from '../../model/push-values.ts';
import { type Field, readable } from '../../model/user.ts';
import {
  type Decision,
  decisionsOf,
  type Hold,
  holdsOf,
  isPush,
  mapPushes,
  type UserPlan,
  type Values,
} from '../../model/user-plan.ts';
import type { UserState } from '../../model/user-state.ts';
import type { EditedField, GuardHistory, Stopped, WaitingField } from '../../model/waiting.ts';
import { isApproved } from '../merge/held-field.ts';
import { hashOf } from './batch-hash.ts';
import { type Batching, batchingOf } from './batching.ts';
import {
  joinLimits,
  type LastAdministrators,
  lastAdministrators,
  type Population,
  sharedAddresses,
  tooManyRoles,
  type Until,
} from './field-limits.ts';
import { type GuardSettings, isWholeTeam, massChange, massLimit, sayDrift, schemaDrift } from './limits.ts';
import { pushedValues } from './planned-push.ts';
import { sayLacking, sayLeft, sayLimited, sayReviewed } from './refusal-words.ts';

export interface GuardView extends Population {
  readonly states: readonly UserState[];
  /** Every plan of the run, pushes or not. */
  readonly plans: readonly UserPlan[];
  /** Users present in the mirror. */
  readonly population: number;
  readonly history: GuardHistory;
  /** Who edited what would be pushed; needed where a person sees each push first. */
  readonly edits?: readonly EditedField[];
}

export interface GuardVerdict {
  /** Why some of this may not be sent; empty if all of it may. */
  readonly refused: readonly string[];
  /** The same of what waits only for a person to see it: people are not told that a guard refused it. */
  readonly reviewed: readonly string[];
  /** Whether the run ends here: nobody has been told of anything yet. */
  readonly stopped: boolean;
  /** Whether people are to be told: for the first time, of another mass change, or again after a while. */
  readonly isNews: boolean;
  /** All plans; what they push may be sent now, and the rest of it is held or waits. */
  readonly plans: readonly UserPlan[];
  /** What a person let pass, by user. */
  readonly approved: ReadonlyMap<Id, readonly Field[]>;
  /** All that waits in batches now. */
  readonly waiting: readonly WaitingField[];
  /** The batches that wait, the newest last. */
  readonly batches: readonly string[];
  /** Demotions that are left out of this run, neither held nor waiting for a person, and until when. */
  readonly postponed: ReadonlyMap<Id, Until>;
  /** Fields that many users no longer have, which waits for a person. */
  readonly lacking: readonly Field[];
  /** What is to be written down of all this. */
  readonly writes: Stopped;
}

/** A plan that pushes, and what people have said of its fields. */
interface ReviewedPush {
  readonly plan: UserPlan;
  readonly pushed: readonly (readonly [Field, Values])[];
  readonly resolved: readonly Field[];
  /** Approved or resolved. */
  readonly approved: readonly Field[];
  /** In a batch before, and not approved. */
  readonly again: readonly Field[];
  /** Of those the ones with the same value, which nobody had approved. */
  readonly left: readonly Field[];
}

function reviewPushes({ plans, states }: GuardView): readonly ReviewedPush[] {
  const heldOf = new Map(states.map(({ id, held }) => [id, held]));
  return plans.filter(isPush).map((plan) => {
    const pushed = decisionsOf(plan, 'push').map(
      ([field, { values }]) => [field, pushedValues(plan, field, values)] as const,
    );
    const where = (is: (hold: Hold | undefined, values: Values) => boolean) =>
      pushed.flatMap(([field, values]) => {
        const hold = heldOf.get(plan.id)?.find((one) => one.field === field);
        return is(hold, values) ? [field] : [];
      });
    const isAgain = (hold: Hold | undefined, values: Values): hold is Hold =>
      hold?.batch !== undefined && !isApproved(hold, values);
    return {
      plan,
      pushed,
      resolved: where((hold, values) => isApproved(hold, values) && hold?.decision === 'resolved'),
      approved: where(isApproved),
      again: where(isAgain),
      left: where(
        (hold, values) =>
          isAgain(hold, values) &&
          hold.decision === undefined &&
          sameValue(hold.field, hold.mirror, values.mirror),
      ),
    };
  });
}

const fieldsOf = (holds: readonly Pick<Hold, 'field'>[] | undefined): readonly Field[] =>
  (holds ?? []).map(({ field }) => field);

type Waits = (push: ReviewedPush, field: Field) => boolean;

/** The limits on single fields, and the demotions that have to wait for another run. */
function limitsOn(
  pushes: readonly ReviewedPush[],
  waits: Waits,
  view: GuardView,
  settings: GuardSettings,
): LastAdministrators {
  const early = joinLimits([sharedAddresses(pushes, view), tooManyRoles(pushes, settings.maxRoleChanges)]);
  const changing = pushes.filter(({ plan }) => !fieldsOf(early.get(plan.id)).includes('roleId'));
  const sent = new Set(changing.filter((push) => !waits(push, 'roleId')).map(({ plan }) => plan.id));
  const admins = lastAdministrators(changing, view, settings.adminRoleIds, ({ id }) => sent.has(id));
  return { ...admins, fieldLimits: joinLimits([early, admins.fieldLimits]) };
}

/** What many users no longer have: of which nobody knows yet, which waits still, and which is over. */
function reviewDrift(view: GuardView, settings: GuardSettings) {
  const { lacking: waiting, accepted } = view.history;
  const drift = schemaDrift(view, settings);
  const open = drift.filter(({ field }) => !accepted.includes(field));
  const isJudged = view.isWhole && view.users.size >= settings.minPopulation;
  const isOver = (field: Field) => isJudged && !fieldsOf(drift).includes(field);
  return {
    open,
    news: open.filter(({ field }) => !fieldsOf(waiting).includes(field)),
    /** Waits, though this run cannot tell whether it is so still. */
    unseen: isJudged ? [] : waiting,
    left: waiting.filter(({ field }) => !isOver(field)),
    ended: [...fieldsOf(waiting), ...accepted].filter(isOver),
  };
}

/** What of earlier batches waits on as it is; not what would be pushed now. */
function leftOf({ history, plans }: GuardView): readonly WaitingField[] {
  const decided = new Map(plans.map(({ id, fields }) => [id, fields]));
  const stays = (decision: Decision | undefined) =>
    decision === undefined ||
    decision.kind === 'held' ||
    decision.kind === 'wait' ||
    ('ends' in decision && decision.kind === 'same' && !decision.ends);
  return history.waiting.filter(({ userId, hold }) => stays(decided.get(userId)?.[hold.field]));
}

/** Whether a guard refused it; the others are not sent before a person sees them. */
const isRefusedField = ({ hold }: WaitingField): boolean => hold.reason !== 'review';

const waitingKey = ({ userId, hold }: WaitingField): string => `${userId} ${hold.field}`;

/** How many users these fields are of. */
export const countUsers = (waiting: readonly WaitingField[]): number =>
  new Set(waiting.map(({ userId }) => userId)).size;

/** What is not sent of these pushes: the fields that are held together, and those that are held alone. */
function holdBack(
  { plans, users: shown }: GuardView,
  pushes: readonly ReviewedPush[],
  { fieldLimits, postponed }: LastAdministrators,
  waits: Waits,
  { reason, detail, lacking, groupOf }: Batching,
) {
  const rows = pushes.flatMap((push) => {
    const limited = fieldsOf(fieldLimits.get(push.plan.id));
    return push.pushed
      .filter(([field]) => !limited.includes(field) && waits(push, field))
      .map(([field, values]) => ({ userId: push.plan.id, field, values }));
  });
  const groups = Map.groupBy(rows, ({ userId, field }) => groupOf(userId, field));
  const batches = new Map([...groups].map(([group, of]) => [group, hashOf(of, lacking)]));
  if (rows.length === 0 && lacking.length > 0) batches.set('', hashOf(rows, lacking));
  const waiting = rows.map(({ userId, field, values }): WaitingField => {
    const batch = batches.get(groupOf(userId, field)) ?? '';
    return {
      userId,
      name: readable(shown.get(userId)?.name) ?? '',
      hold: { field, reason, ...values, detail, batch },
    };
  });
  const stopped = new Map(Map.groupBy(waiting, ({ userId }) => userId));
  const holdOf = (id: Id, field: Field): Hold | undefined =>
    fieldLimits.get(id)?.find((hold) => hold.field === field) ??
    stopped.get(id)?.find(({ hold }) => hold.field === field)?.hold;
  const mapped = plans.map((plan) =>
    mapPushes(plan, (field, push) => {
      const hold = holdOf(plan.id, field);
      if (hold !== undefined) return { kind: 'hold', hold };
      return field === 'roleId' && postponed.has(plan.id) ? { kind: 'wait' } : push;
    }),
  );
  return { hashes: [...batches.values()], waiting, plans: mapped };
}

export function guard(view: GuardView, settings: GuardSettings): GuardVerdict {
  const { history, population } = view;
  const pushes = reviewPushes(view);
  const isFresh: Waits = ({ approved, left }, field) => !approved.includes(field) && !left.includes(field);
  const counted = pushes.filter((push) => push.pushed.some(([field]) => isFresh(push, field)));
  const drift = reviewDrift(view, settings);
  const { isReviewed = false } = settings;
  const changed = isReviewed ? [] : counted.map(({ plan }) => plan.id);
  const tooMuch = [
    ...massChange(changed, view, settings),
    ...drift.open.map((one) => sayDrift(one, view.users.size)),
  ];
  const isRefused = tooMuch.length > 0;
  const waits: Waits = ({ approved, again }, field) =>
    !approved.includes(field) && (isRefused || isReviewed || again.includes(field));
  const limits = limitsOn(pushes, waits, view, settings);
  const lacking = fieldsOf(drift.news);
  const batching = { ...batchingOf(view.edits ?? [], tooMuch, isReviewed), lacking };
  const { hashes, waiting, plans } = holdBack(view, pushes, limits, waits, batching);
  const left = leftOf(view);
  const waitedFor = new Set(history.waiting.map(waitingKey));
  const isOld = (field: WaitingField) => waitedFor.has(waitingKey(field));
  const refused = [
    ...tooMuch,
    ...sayLeft(
      countUsers([...left, ...(isRefused ? waiting.filter(isOld) : waiting)].filter(isRefusedField)),
    ),
    ...sayLacking(fieldsOf(drift.unseen)),
    ...(isRefused ? sayLimited(limits.fieldLimits) : []),
  ];
  const reviewed = sayReviewed(countUsers([...left, ...waiting].filter((field) => !isRefusedField(field))));
  const waitedBefore = history.waiting.some(isRefusedField) || history.lacking.length > 0;
  const stopped = isRefused && !waitedBefore;
  const waitsOf = Map.groupBy(waiting, ({ userId }) => userId);
  const added = counted.filter((push) =>
    waitsOf.get(push.plan.id)?.some(({ hold }) => isFresh(push, hold.field)),
  ).length;
  const isMass = added > massLimit(population, settings) || isWholeTeam(added, population);
  const isNews = refused.length > 0 && (history.isOld || stopped || (isRefused && isMass));
  // Where there is no batch, something else has to say that people were told.
  const heldAlone =
    stopped && hashes.length === 0
      ? [...limits.fieldLimits].flatMap(([id, holds]) => holds.map((hold) => ({ id, hold })))
      : [];
  const batches = [...drift.left, ...left.map(({ hold }) => hold)].flatMap(({ batch = [] }) => batch);
  return {
    refused,
    reviewed,
    stopped,
    isNews,
    plans,
    approved: new Map(pushes.map(({ plan, approved }) => [plan.id, approved])),
    waiting: [...left, ...waiting],
    batches: [...new Set([...batches, ...hashes])],
    postponed: limits.postponed,
    lacking: [...fieldsOf(drift.left), ...lacking],
    writes: {
      holds: [...waiting.map(({ userId, hold }) => ({ id: userId, hold })), ...heldAlone],
      lacking: drift.news.map((one) => ({
        field: one.field,
        reason: 'limit',
        base: undefined,
        mirror: undefined,
        service: undefined,
        detail: sayDrift(one, view.users.size),
        ...(hashes[0] === undefined ? {} : { batch: hashes[0] }),
      })),
      ended: drift.ended,
      isNews,
    },
  };
}

/** The same plans once the batch is written down: its fields are held. */
export function afterBatch(plans: readonly UserPlan[]): readonly UserPlan[] {
  return plans.map((plan) => {
    const written = holdsOf(plan).filter(({ batch }) => batch !== undefined);
    if (written.length === 0) return plan;
    const held = written.map(({ field, service }) => [field, { kind: 'held', shown: service }] as const);
    return { ...plan, fields: { ...plan.fields, ...Object.fromEntries(held) } };
  });
}
