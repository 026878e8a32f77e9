/**
 * Stops pushes that only a person may allow. The guard checks the plan before the first write on either side:
 *
 * | what                                                        | what happens              |
 * |-------------------------------------------------------------|---------------------------|
 * | all runs of a day together push to more users than          | all pushes are held       |
 * | `maxRows` and more than the share `maxShare` of all users   |                           |
 * | a field was held before, and no person has decided about it | it is held again          |
 * | a push exceeds a limit on single fields                     | that field is held        |
 * | a field was pushed and put back by the service three times  | that field is held:       |
 * | within a day, with the same two values each time            | conflict                  |
 * | a push that must not overtake another push of this run      | it waits for the next run |
 * | a person reviews each push first (`isReviewed`)             | all pushes are held       |
 *
 * With `isReviewed` the first limit does not apply, because a person sees each push. Field limits: `field-limits.ts`.
 *
 * Only pushes count, not adoptions, pulls or settled fields. If the guard ends the run, the holds of its plan are stored
 * nevertheless. For each field that would be pushed (*counted*: towards the first limit):
 *
 * | beyond a field limit | resolved | approved | first limit exceeded, or held before | the field                 |
 * |----------------------|----------|----------|--------------------------------------|---------------------------|
 * | yes                  | no       | ·        | ·                                    | is held by that limit     |
 * | ·                    | yes      | ·        | ·                                    | is sent, not counted      |
 * | no                   | no       | yes      | ·                                    | is sent, not counted      |
 * | no                   | no       | no       | yes                                  | is held                   |
 * | no                   | no       | no       | no                                   | is sent, and counted      |
 *
 * A push that only restores a name which our own update cleared is not counted, and is sent even beyond the first limit,
 * because no person edited the name and the user has no name until then. A review holds such a push like any other.
 *
 * A field is approved if a person agreed to this edit over the value that the service shows. It is also resolved if a
 * limit on single fields had held it. An edit that was held before is counted only once, so that it cannot cause holds
 * of other fields again. A later edit of the same field is counted, and needs its own approval.
 *
 * When people are notified (by exit code 4), and when the run continues:
 *
 * | waited for a person before | newly refused in this run             | people are notified | the run   |
 * |----------------------------|---------------------------------------|---------------------|-----------|
 * | nothing                    | any pushes                            | yes                 | ends (†)  |
 * | a batch                    | pushes to more users than the limit   | yes                 | continues |
 * | a batch                    | nothing, or pushes to fewer users     | no                  | continues |
 * | a batch, for over a day    | ·                                     | yes                 | continues |
 *
 * † The run continues if it must restore a name that our own update cleared.
 */
import type { Field } from '../../model/fields.ts';
import type { Id } from '../../model/id.ts';
import { readable } from '../../model/user.ts';
import {
  decisionsOf,
  isApprovable,
  type Hold,
  holdsOf,
  isPush,
  mapPushes,
  type UserPlan,
  type Values,
} from '../../model/user-plan.ts';
import type { UserState } from '../../model/user-state.ts';
import type { GuardHistory, StoppedPushes, WaitingField } from '../../model/waiting.ts';
import { isApproved, isSameEdit, isStopped, voidDetail } from '../merge/held-field.ts';
import {
  isCompanion,
  type IsGiven,
  type FieldLimits,
  type LimitsOfUsers,
  joinLimits,
  lastAdministrators,
  type Population,
  type ReviewedFields,
  sharedAddresses,
  tooManyRoles,
  withCompanions,
  withLifted,
} from './field-limits.ts';
import { type GuardSettings, massChange, massLimit } from './limits.ts';
import { countUsers, stayingOf } from './left-waiting.ts';
import { pushedValues, putsBackName } from './planned-push.ts';
import { undoneFields } from './undone-fields.ts';
import { sayLeft, sayLimited, sayReviewed, stillWaits, whyHeld } from './refusal-words.ts';

export interface GuardView extends Population {
  readonly states: readonly UserState[];
  /** All plans of the run, with or without pushes. */
  readonly plans: readonly UserPlan[];
  readonly history: GuardHistory;
  /** Plans that try to push fields that limits on single fields hold, to check these limits again (`offerLimited`). */
  readonly offers: readonly UserPlan[];
}

export interface GuardVerdict {
  /** The reasons why some pushes must not be sent; empty if all pushes may be sent. */
  readonly refused: readonly string[];
  /** The messages about pushes that only wait for a review. No refusal is reported for them. */
  readonly reviewed: readonly string[];
  /** True if the run ends now, because the refusal is new. */
  readonly stopped: boolean;
  /** True if people are notified: at the first refusal, at a further mass change, or again after a day. */
  readonly isNews: boolean;
  /** All plans. Their pushes may be sent now; other fields are held or wait. */
  readonly plans: readonly UserPlan[];
  /** The fields that a person approved or resolved, by user. */
  readonly approved: ReadonlyMap<Id, readonly Field[]>;
  /** All fields that limits on a whole run and reviews hold now. */
  readonly waiting: readonly WaitingField[];
  /** The rows to write to the database. */
  readonly writes: StoppedPushes;
}

interface ReviewedPush extends ReviewedFields {
  /** Limits on single fields that hold other fields of the user, undecided. */
  readonly standing: FieldLimits;
  readonly pushed: readonly (readonly [Field, Values])[];
  readonly approved: readonly Field[];
  /** Fields that a limit on a whole run or a review held before, and that are not approved. */
  readonly again: readonly Field[];
  /** Those fields of `again` that still have the edit that was held, and no decision about it. */
  readonly left: readonly Field[];
  /** By field, the reason in words why a person's decision about it is void; `undefined` if no decision is void. */
  readonly voids: ReadonlyMap<Field, string | undefined>;
}

function reviewPushes({ plans, states }: GuardView): readonly ReviewedPush[] {
  const stateOf = new Map(states.map((state) => [state.id, state]));
  return plans.filter(isPush).map((plan) => {
    const { held = [], ...known } = stateOf.get(plan.id) ?? { edits: {} };
    const pushed = decisionsOf(plan, 'push').map(
      ([field, { values }]) => [field, pushedValues(plan, field, values)] as const,
    );
    const holdOf = (field: Field) => held.find((row) => row.field === field);
    const where = (is: (hold: Hold | undefined, values: Values) => boolean) =>
      pushed.flatMap(([field, values]) => (is(holdOf(field), values) ? [field] : []));
    const isAgain = (hold: Hold | undefined, values: Values): hold is Hold =>
      hold !== undefined && isStopped(hold) && !isApproved(hold, values, known);
    const isStanding = (hold: Hold) =>
      plan.fields[hold.field].kind === 'held' && isSameEdit(hold, known) && hold.reason !== 'rejected';
    const standing = [...holdsOf(plan), ...held.filter((hold) => isStanding(hold) && !isCompanion(hold))];
    return {
      plan,
      edits: known.edits,
      standing: standing.flatMap((hold) =>
        hold.isAlone === true ? [{ id: plan.id, field: hold.field, decision: { kind: 'hold', hold } }] : [],
      ),
      pushed,
      resolved: where((hold, values) => isApproved(hold, values, known) && hold?.decision === 'resolved'),
      approved: where((hold, values) => isApproved(hold, values, known)),
      chosen: where((hold, values) => isApproved(hold, values, known) && !isApprovable(hold?.reason ?? null)),
      again: where(isAgain),
      left: where(
        (hold, values) => isAgain(hold, values) && hold.decision === undefined && isSameEdit(hold, known),
      ),
      voids: new Map(pushed.map(([field, values]) => [field, voidDetail(holdOf(field), values, known)])),
    };
  });
}

type PushTest = (push: ReviewedPush, field: Field) => boolean;

/** Returns the holds and waits by limits on single fields. */
function limitsOn(
  reviewed: readonly ReviewedPush[],
  isSent: PushTest,
  view: GuardView,
  settings: GuardSettings,
): LimitsOfUsers {
  if (reviewed.length === 0) return new Map();
  const all = (pushes: readonly ReviewedPush[], isGiven: IsGiven): LimitsOfUsers => {
    const standing = pushes.flatMap((push) => push.standing);
    const addresses = sharedAddresses(pushes, view, isGiven);
    const identity = [...addresses, ...tooManyRoles(pushes, settings.maxRoleChanges), ...standing];
    const early = [...undoneFields(pushes, view.history), ...withCompanions(pushes, identity)];
    const limited = joinLimits(early);
    const changing = pushes.filter(({ plan }) => limited.get(plan.id)?.roleId === undefined);
    const admins = lastAdministrators(changing, view, settings.adminRoleIds, isSent);
    return joinLimits([...early, ...withCompanions(pushes, admins)]);
  };
  const unresolved = reviewed.map((push) => ({ ...push, resolved: [] }));
  const strict = all(unresolved, () => false);
  const pushOfUser = new Map(reviewed.map((push) => [push.plan.id, push]));
  return all(reviewed, (owner, field) => {
    const push = pushOfUser.get(owner);
    const isFree = push?.plan.fields[field].kind === 'push' && strict.get(owner)?.[field] === undefined;
    return isFree && isSent(push, field);
  });
}

/** True if the guard refused the field. A review only makes a field wait. */
const isRefusedField = ({ hold }: WaitingField): boolean => hold.reason !== 'review';

const waitingKey = ({ userId, hold }: Pick<WaitingField, 'userId' | 'hold'>): string =>
  `${userId} ${hold.field}`;

const waitingOf = ({ users }: GuardView, { id }: UserPlan, hold: Hold): WaitingField => ({
  userId: id,
  name: readable(users.get(id)?.name) ?? '',
  hold,
});

/** The pushed fields that must wait for a person, and the plans with holds of these fields and of field limits. */
function holdBack(
  view: GuardView,
  pushes: readonly ReviewedPush[],
  fieldLimits: LimitsOfUsers,
  waits: PushTest,
  { reason, detail }: Pick<Hold, 'reason' | 'detail'>,
) {
  const waiting = pushes.flatMap((push) => {
    const { plan, voids } = push;
    return push.pushed
      .filter(([field]) => {
        const limit = fieldLimits.get(plan.id)?.[field];
        return waits(push, field) && (limit?.kind !== 'hold' || isCompanion(limit.hold));
      })
      .map(([field, values]): WaitingField => {
        const why = [voids.get(field) ?? [], detail].flat().join('; ');
        return waitingOf(view, plan, {
          field,
          reason,
          ...values,
          detail: why,
        });
      });
  });
  const stopped = new Map(Map.groupBy(waiting, ({ userId }) => userId));
  const mapped = view.plans.map((plan) =>
    mapPushes(plan, (field, push) => {
      const hold = stopped.get(plan.id)?.find((row) => row.hold.field === field)?.hold;
      return hold === undefined ? (fieldLimits.get(plan.id)?.[field] ?? push) : { kind: 'hold', hold };
    }),
  );
  return { waiting, plans: mapped };
}

/**
 * Decides about the fields that field limits held until now: each is sent, held for a new reason, or stays held.
 * @param sent the users whom this run updates without a person's approval
 */
function lift(
  view: GuardView,
  plans: readonly UserPlan[],
  sent: readonly Id[],
  settings: GuardSettings,
): readonly UserPlan[] {
  const { offers, states, history } = view;
  const all = [...sent, ...offers.map(({ id }) => id)];
  if (offers.length === 0) return [];
  const isTooMuch = !settings.isReviewed && massChange(all, history, settings).length > 0;
  const pushes = reviewPushes({ ...view, plans: withLifted(plans, offers) });
  const limits = limitsOn(pushes, () => true, view, settings);
  const heldOf = new Map(states.map(({ id, held }) => [id, held]));
  return offers.map((plan) =>
    mapPushes(plan, (field, push) => {
      const limit = limits.get(plan.id)?.[field] ?? stillWaits(field, push, isTooMuch, settings.isReviewed);
      if (limit?.kind !== 'hold') return limit ?? push;
      const before = heldOf.get(plan.id)?.find((hold) => hold.field === field);
      return before?.detail === limit.hold.detail ? { kind: 'wait' } : limit;
    }),
  );
}

export function guard(view: GuardView, settings: GuardSettings): GuardVerdict {
  const { history } = view;
  const pushes = reviewPushes(view);
  const isPutBack: PushTest = ({ plan }, field) => field === 'name' && putsBackName(plan);
  const isFresh: PushTest = (push, field) =>
    !push.approved.includes(field) && !push.left.includes(field) && !isPutBack(push, field);
  const counted = pushes.filter((push) => push.pushed.some(([field]) => isFresh(push, field)));
  const { isReviewed } = settings;
  const changed = isReviewed ? [] : counted.map(({ plan }) => plan.id);
  const tooMuch = massChange(changed, history, settings);
  const isRefused = tooMuch.length > 0;
  const waits: PushTest = (push, field) =>
    !push.approved.includes(field) &&
    (isReviewed || ((isRefused || push.again.includes(field)) && !isPutBack(push, field)));
  const limits = limitsOn(pushes, (push, field) => !waits(push, field), view, settings);
  const why = whyHeld(tooMuch, isReviewed);
  const { waiting: held, plans: decided } = holdBack(view, pushes, limits, waits, why);
  const going = new Set(decided.filter(isPush).map(({ id }) => id));
  const sent = changed.filter((id) => going.has(id));
  const plans = withLifted(decided, lift(view, decided, sent, settings));
  // Fields that the merge or `lift` holds for a limit or a review wait for a person as well.
  const isHeld = new Set(held.map(waitingKey));
  const stoppedIn = (plan: UserPlan) => holdsOf(plan).filter(isStopped);
  const turned = plans
    .flatMap((plan) => stoppedIn(plan).map((hold) => waitingOf(view, plan, hold)))
    .filter((field) => !isHeld.has(waitingKey(field)));
  const waiting = [...held, ...turned];
  const left = stayingOf(view.plans, history.waiting, (row) => ({
    userId: row.userId,
    field: row.hold.field,
  }));
  const waitedFor = new Set(history.waiting.map(waitingKey));
  const isOld = (field: WaitingField) => waitedFor.has(waitingKey(field));
  const refused = [
    ...tooMuch,
    ...sayLeft(
      countUsers([...left, ...(isRefused ? waiting.filter(isOld) : waiting)].filter(isRefusedField)),
    ),
    ...(isRefused ? sayLimited(limits) : []),
  ];
  const reviewed = sayReviewed(countUsers([...left, ...waiting].filter((field) => !isRefusedField(field))));
  const waitedBefore = history.waiting.some(isRefusedField);
  const stopped = isRefused && !waitedBefore && !pushes.some((push) => isPutBack(push, 'name'));
  const waitsOf = Map.groupBy(waiting, ({ userId }) => userId);
  const added = counted.filter((push) =>
    waitsOf.get(push.plan.id)?.some(({ hold }) => isFresh(push, hold.field)),
  ).length;
  const isMass = added > massLimit(history.population, settings);
  const isNews = refused.length > 0 && (history.isOld || stopped || (isRefused && isMass));
  // If the run ends now, all holds of its plan are stored, so that the edits of one person become one batch.
  const merged = decided.filter((plan) => stopped && plan.case === 'merge');
  const others = merged.flatMap((plan) =>
    holdsOf(plan).flatMap((hold) => (isStopped(hold) ? [] : [{ id: plan.id, hold }])),
  );
  return {
    refused,
    reviewed,
    stopped,
    isNews,
    plans,
    approved: new Map(pushes.map(({ plan, approved }) => [plan.id, approved])),
    waiting: [...left, ...waiting],
    writes: {
      holds: [...waiting.map(({ userId, hold }) => ({ id: userId, hold })), ...others],
      isNews,
    },
  };
}
