/**
 * The whole work of musterd, in one function:
 *
 * 1. settle pushes with an unknown outcome;
 * 2. look at the users on both sides: all users, or only the users edited in the mirror;
 * 3. plan: merge each of these users field by field, against the base that both sides last agreed on;
 * 4. let the guard check the whole plan before anything is written;
 * 5. apply the service's changes to the mirror, push the mirror's edits to the service;
 * 6. refresh the read-only listings and count the contacts.
 */

import type { Id } from '../model/id.ts';
import { listedResources } from '../model/listed-resources.ts';
import { type RunGroup, scheduledGroups } from '../model/run-group.ts';
import type { Team } from '../model/team.ts';
import { isApprovable, isPush } from '../model/user-plan.ts';
import {
  applyOddities,
  applyPulls,
  applyUserAbsences,
  notePostponed,
  type WritingContext,
} from './apply-users.ts';
import { afterBatch, countUsers } from './guard/left-waiting.ts';
import { look } from './look.ts';
import { noteUnfound, planUsers, type UsersPlan } from './plan-users.ts';
import { pushEdits } from './push/push.ts';
import { createPushContext } from './push/record.ts';
import { settleIntents } from './push/settle-intents.ts';
import type { ReconcileSettings } from './reconcile-settings.ts';
import { countContacts, refresh, refreshable } from './refresh.ts';
import { attempt } from './run-notes.ts';

/** Stores and reports the fields that the guard holds. @returns true if the run must end after that */
async function stopsAtGuard(
  { mirror, notes, sendBlock }: WritingContext,
  { plans, verdict }: UsersPlan,
): Promise<boolean> {
  const { refused, reviewed, waiting, isNews, writes } = verdict;
  // If nothing may be sent at all, every edit waits anyway, so the run can continue.
  const isStopped = verdict.stopped && sendBlock === undefined;
  if (isNews || writes.holds.length > 0) await mirror.applyStopped(writes);
  const limited = writes.holds.filter(({ hold }) => isApprovable(hold.reason));
  if (refused.length + reviewed.length > 0)
    notes.refuse({
      reasons: [...refused, ...reviewed],
      isReview: refused.length === 0,
      users: countUsers([...waiting, ...limited.map(({ id }) => ({ userId: id }))]),
      stopped: isStopped,
      isNews: isNews && sendBlock === undefined,
    });
  if (sendBlock === undefined) notePostponed(plans, notes);
  // Approved pushes are left to the next run. It continues, because only a new refusal ends a run.
  if (isStopped) notes.count('postponed', plans.filter(isPush).length);
  return isStopped;
}

/** Writes the service's changes to the mirror. @returns the users who wait, because an editor has locked their row */
async function pull(
  places: WritingContext,
  settings: ReconcileSettings,
  planned: UsersPlan,
): Promise<ReadonlySet<Id>> {
  const seen = planned.look;
  await applyOddities(places, seen);
  const deferred = await applyPulls(places, seen, afterBatch(planned.plans));
  if (!seen.isWhole) return deferred;
  await attempt(places.notes, 'users who left', () => applyUserAbsences(places, planned, settings.absence));
  await places.mirror.learnRoles();
  return deferred;
}

/** True if all users were read and are equal on both sides. */
function isNothing({ look: seen, plans, absent }: UsersPlan): boolean {
  const { rejected, repeated, unresolved, refusedLookups } = seen.roster;
  const odd = plans.length + seen.unknown.length + absent.length + refusedLookups;
  return seen.isWhole && odd + rejected.length + repeated.size + unresolved.length === 0;
}

/** @returns true if the run continues; false if the guard ended it because of a new batch */
async function reconcileUsers(
  places: WritingContext,
  team: Team,
  settings: ReconcileSettings,
  group: 'users' | 'edits',
): Promise<boolean> {
  const { mirror, notes, unchanged, monotonicMs } = places;
  if (unchanged !== undefined && group === 'users') {
    notes.count('users_read', unchanged);
    return true;
  }
  const context = createPushContext(places, team);
  const pushSettings = { ...settings.push, policy: settings.policy };
  await settleIntents(context, pushSettings);
  notes.event({ kind: 'step', step: group });
  const edited = group === 'edits' ? (await mirror.readAddresses('edited')).ofUsers : [];
  const askedAtMs = monotonicMs();
  const seen = await look(places, team, group === 'edits' ? edited : 'everybody');
  const planned = await planUsers(places, seen, settings);
  noteUnfound(seen, edited, notes);
  if (await stopsAtGuard(places, planned)) return false;
  const deferred = await pull(places, settings, planned);
  const { roster, isWhole } = seen;
  const { plans, verdict } = planned;
  // Users whose row was locked are left out, because nothing of their plan was written, not even its holds.
  const ready = plans.filter((plan) => isPush(plan) && !deferred.has(plan.id));
  const plannedAtMs = isWhole ? null : askedAtMs;
  const pushing = { ...context, users: roster.users, approved: verdict.approved, plannedAtMs };
  await pushEdits(pushing, pushSettings, ready);
  if (isNothing(planned)) places.onAgreed?.(roster.users.size);
  return true;
}

/**
 * One run for one team in both directions. By default it does all groups. Its findings are in `places.notes`.
 * If the guard refuses pushes that no earlier run refused, the run ends, so that people can react first.
 */
export async function reconcile(
  places: WritingContext,
  team: Team,
  settings: ReconcileSettings,
  groups: readonly RunGroup[] = scheduledGroups,
): Promise<void> {
  const { service, mirror, notes } = places;
  const goesOn = await attempt(notes, 'users', async () => {
    const group = (['users', 'edits'] as const).find((candidate) => groups.includes(candidate));
    return group === undefined || (await reconcileUsers(places, team, settings, group));
  });
  if (goesOn === false) return;
  if (groups.includes('listings'))
    for (const resource of listedResources)
      await attempt(notes, resource.name, () =>
        refresh(refreshable(resource, service), mirror, { ...settings, teamId: team.id }, notes),
      );
  if (groups.includes('counts'))
    await attempt(notes, 'contact counts', async () =>
      mirror.applyContactCounts(await countContacts(service, settings.segments, notes)),
    );
}
