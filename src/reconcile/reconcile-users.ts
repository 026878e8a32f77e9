/**
 * The users of a run, all of them or the edited ones: settle what is not known to have arrived, plan, let the guard check
 * the plan, take what the service changed, push what the mirror changed.
 */
import type { Id } from '../model/id.ts';
import type { UsersToCompare } from '../model/rest.ts';
import type { Team, TeamAnswer } from '../model/team.ts';
import { isPush } from '../model/user-plan.ts';
import {
  applyOddities,
  applyPulls,
  applyUserAbsences,
  notePostponed,
  type WritingContext,
} from './apply-users.ts';
import { extentOf, type LearnablePlan, lookForNews } from './at-rest.ts';
import { afterBatch, countUsers } from './guard/guard.ts';
import { stopReplaced } from './overlap.ts';
import { type EditedPlan, planEdited } from './plan-edited.ts';
import { planUsers, type UsersPlan } from './plan-users.ts';
import { pushEdits } from './push/push.ts';
import { createPushContext, type PushContext } from './push/record.ts';
import { settleIntents } from './push/settle-intents.ts';
import { indexMembers } from './read/members.ts';
import type { ReconcileSettings } from './reconcile-settings.ts';
import { attempt } from './run-notes.ts';

type UsersDone =
  /** Something waits for a person, and nothing else is done until they have decided. */
  | { readonly kind: 'stopped' }
  /** @property learn what can be recorded for the next run; `null` if there is nothing, or not everybody was compared */
  | { readonly kind: 'done'; readonly learn: LearnablePlan | null };

const stopped: UsersDone = { kind: 'stopped' };
/** The end of a run that recorded nothing to spare the next one. */
export const unlearned: UsersDone = { kind: 'done', learn: null };

/** A run that has users to look at: those of `look`, or, if it is `null`, those who were edited in the mirror. */
interface BegunUsers {
  readonly kind: 'begun';
  readonly team: Team;
  readonly look: Exclude<UsersToCompare, { how: 'nothing' }> | null;
}

/** Finds out whether there is anything to look at, and whether it is still the same team. */
async function begin(
  places: WritingContext,
  answer: TeamAnswer,
  settings: ReconcileSettings,
  group: 'users' | 'edits',
): Promise<BegunUsers | UsersDone> {
  const { notes, recalled } = places;
  const look = group === 'users' ? await lookForNews(places, answer.head, settings) : null;
  if (look !== null) notes.event({ kind: 'read', resource: 'users', how: extentOf(look) });
  if (look?.how === 'nothing') return await leaveAtRest(places, answer, look.shown);
  const team = await answer.readTeam();
  // If only some are looked at, it is the team that the mirror has.
  const isKnown = look === null ? recalled !== undefined : look.how === 'some';
  if (!isKnown && (await stopReplaced(places, team, settings.scope))) return stopped;
  return { kind: 'begun', team, look };
}

/** Ends the run, because nothing is new and neither side has to be looked at any further. */
async function leaveAtRest(
  { mirror, notes, keepTeam, keepPopulation }: WritingContext,
  answer: TeamAnswer,
  shown: number,
): Promise<UsersDone> {
  notes.count('users_read', shown);
  notes.count('users_at_rest', shown);
  await mirror.applyTeam(answer);
  await keepTeam?.(answer);
  keepPopulation?.(shown);
  await mirror.learnRoles();
  return unlearned;
}

/** Reads back what was sent and never answered. */
async function settle(
  places: WritingContext,
  team: Team,
  { push: settings, policy }: ReconcileSettings,
): Promise<PushContext> {
  await indexMembers(team);
  const push = createPushContext(places, team);
  await settleIntents(push, { ...settings, policy });
  return push;
}

async function planBegun(
  places: WritingContext,
  settings: ReconcileSettings,
  { team, look }: BegunUsers,
): Promise<LearnablePlan | EditedPlan> {
  if (look === null) return await planEdited(places, team, settings);
  const users = await planUsers(places, team, settings, look);
  if (look.how === 'some') places.notes.count('users_at_rest', look.shown - look.only.size);
  return { ...users, look };
}

/** Stores and reports what the guard holds. @returns whether the run ends here */
async function stopsAtGuard(
  { mirror, notes, sendBlock }: WritingContext,
  { plans, verdict }: UsersPlan,
): Promise<boolean> {
  const { refused, reviewed, waiting, batches, isNews, writes, postponed } = verdict;
  // If nothing may be sent, the batches wait like everything else, and there is no reason to stop.
  const isStopped = verdict.stopped && sendBlock === undefined;
  if (isNews || writes.holds.length + writes.lacking.length + writes.ended.length > 0)
    await mirror.applyStopped(writes);
  if (refused.length + reviewed.length > 0)
    notes.refuse({
      hash: batches.at(-1) ?? null,
      batches,
      reasons: [...refused, ...reviewed],
      isReview: refused.length === 0,
      users: countUsers(waiting),
      stopped: isStopped,
      isNews: isNews && sendBlock === undefined,
      what: 'pushes',
    });
  notePostponed(postponed, notes);
  // Pushes that people approved are left to the next run, which nothing stops any more.
  if (isStopped) notes.count('postponed', plans.filter(isPush).length);
  return isStopped;
}

/** Takes what the service changed. @returns the users who wait, because an editor has locked their row */
async function pull(
  places: WritingContext,
  answer: TeamAnswer,
  settings: ReconcileSettings,
  users: LearnablePlan | EditedPlan,
): Promise<ReadonlySet<Id>> {
  const { mirror, recalled } = places;
  if (recalled === undefined) {
    await mirror.applyTeam(answer);
    await places.keepTeam?.(answer);
  }
  const plans = afterBatch(users.plans);
  if (users.kind === 'edited') {
    places.keepPopulation?.(users.population);
    if (users.stale.length > 0) await mirror.noteStale(users.stale);
    return await applyPulls(places, { ...users, plans, unknown: [] });
  }
  await applyOddities(places, users);
  const deferred = await applyPulls(places, { ...users, plans });
  await attempt(places.notes, 'users who left', () =>
    applyUserAbsences(places, users, settings.absence, settings.scope),
  );
  await mirror.learnRoles();
  return deferred;
}

/** Pushes what is planned, except for deferred users, for whom nothing was written, not even holds. */
async function push(
  context: PushContext,
  { push: settings, policy }: ReconcileSettings,
  { plans, roster, roles, verdict, fresh }: UsersPlan,
  deferred: ReadonlySet<Id>,
): Promise<void> {
  const ready = plans.filter((plan) => isPush(plan) && !deferred.has(plan.id));
  const { approved } = verdict;
  await pushEdits(
    { ...context, users: roster.users, roles, approved, fresh },
    { ...settings, policy },
    ready,
  );
}

/** Reconciles all users of a team, or those who were edited in the mirror. */
export async function reconcileUsers(
  places: WritingContext,
  answer: TeamAnswer,
  settings: ReconcileSettings,
  group: 'users' | 'edits',
): Promise<UsersDone> {
  const begun = await begin(places, answer, settings, group);
  if (begun.kind !== 'begun') return begun;
  const context = await settle(places, begun.team, settings);
  const users = await planBegun(places, settings, begun);
  if (await stopsAtGuard(places, users)) return stopped;
  const deferred = await pull(places, answer, settings, users);
  await push(context, settings, users, deferred);
  return { kind: 'done', learn: users.kind === 'all' && deferred.size === 0 ? users : null };
}
