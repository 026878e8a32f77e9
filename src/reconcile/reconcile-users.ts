/**
 * The users of a run, all of them or the edited ones: settle what is not known to have arrived, plan, let the guard check
 * the plan, take what the service changed, push what the mirror changed.
 */
import type { Id } from '../model/id.ts';
import type { Team } from '../model/team.ts';
import { isPush } from '../model/user-plan.ts';
import {
  applyOddities,
  applyPulls,
  applyUserAbsences,
  notePostponed,
  type WritingContext,
} from './apply-users.ts';
import { afterBatch, countUsers } from './guard/guard.ts';
import { type EditedPlan, planEdited } from './plan-edited.ts';
import { planUsers, type UsersPlan, type WholePlan } from './plan-users.ts';
import { pushEdits } from './push/push.ts';
import { createPushContext, type PushContext } from './push/record.ts';
import { settleIntents } from './push/settle-intents.ts';
import { indexMembers } from './read/members.ts';
import type { ReconcileSettings } from './reconcile-settings.ts';
import { attempt } from './run-notes.ts';

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

/** Stores and reports what the guard holds. @returns whether the run ends here */
async function stopsAtGuard(
  { mirror, notes, sendBlock }: WritingContext,
  { plans, verdict }: UsersPlan,
): Promise<boolean> {
  const { refused, reviewed, waiting, batches, isNews, writes, postponed } = verdict;
  // If nothing may be sent, the batches wait like everything else, and there is no reason to stop.
  const isStopped = verdict.stopped && sendBlock === undefined;
  if (isNews || writes.holds.length > 0) await mirror.applyStopped(writes);
  if (refused.length + reviewed.length > 0)
    notes.refuse({
      hash: batches.at(-1) ?? null,
      batches,
      reasons: [...refused, ...reviewed],
      isReview: refused.length === 0,
      users: countUsers(waiting),
      stopped: isStopped,
      isNews: isNews && sendBlock === undefined,
    });
  notePostponed(postponed, notes);
  // Pushes that people approved are left to the next run, which nothing stops any more.
  if (isStopped) notes.count('postponed', plans.filter(isPush).length);
  return isStopped;
}

/** Takes what the service changed. @returns the users who wait, because an editor has locked their row */
async function pull(
  places: WritingContext,
  team: Team,
  settings: ReconcileSettings,
  users: WholePlan | EditedPlan,
): Promise<ReadonlySet<Id>> {
  const { mirror, recalled } = places;
  if (recalled === undefined) {
    await mirror.applyTeam(team);
    places.keepTeam?.(team);
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

/** Whether everybody was read, and is the same on both sides. */
function isNothing({ plans, unknown, absent, stale, roster }: WholePlan): boolean {
  const { rejected, repeated, unresolved, refusedLookups } = roster;
  const odd = plans.length + unknown.length + absent.length + stale.length + refusedLookups;
  return odd + rejected.length + repeated.size + unresolved.length === 0;
}

/**
 * Reconciles all users of a team, or those who were edited in the mirror.
 * @returns whether the run goes on: if not, something waits for a person first
 */
export async function reconcileUsers(
  places: WritingContext,
  team: Team,
  settings: ReconcileSettings,
  group: 'users' | 'edits',
): Promise<boolean> {
  if (places.unchanged !== undefined && group === 'users') {
    places.notes.count('users_read', places.unchanged);
    return true;
  }
  const context = await settle(places, team, settings);
  const users =
    group === 'users' ? await planUsers(places, team, settings) : await planEdited(places, team, settings);
  if (await stopsAtGuard(places, users)) return false;
  const deferred = await pull(places, team, settings, users);
  await push(context, settings, users, deferred);
  if (users.kind === 'all' && isNothing(users)) places.onAgreed?.(users.roster.shown);
  return true;
}
