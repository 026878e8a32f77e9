/**
 * The product, in one function:
 *
 * 1. settle pushes with an unknown outcome;
 * 2. read the roster from the service, and the users that differ from the mirror;
 * 3. plan: merge each of them field by field, against the base that both sides last agreed on, and let
 *    the guard check the whole plan before anything is written;
 * 4. apply the service's changes to the mirror, push the mirror's edits to the service;
 * 5. refresh the read-only listings and count the contacts.
 *
 * A plan does steps 2 and 3 and compares the listings. It writes nothing on either side.
 */
import { ServiceError } from '../errors.ts';
import type { WithheldAbsence } from '../model/absence.ts';
import type { Segment } from '../model/contact-count.ts';
import { type RunGroup, scheduledGroups } from '../model/run-group.ts';
import { type Team, wholeTeam } from '../model/team.ts';
import { isPush, pushOf } from '../model/user-plan.ts';
import type { EditedField } from '../model/waiting.ts';
import { type Learnable, learnRest, lookForNews } from './at-rest.ts';
import {
  applyPulls,
  applyUserAbsences,
  countPlans,
  notePostponed,
  type WritingContext,
} from './apply-users.ts';
import { afterBatch, countUsers } from './guard/guard.ts';
import type { GuardSettings } from './guard/limits.ts';
import type { Policy } from './merge/merge-field.ts';
import type { AbsenceSettings, Scope } from './missing-rows.ts';
import { judgeOverlap, stopReplaced } from './overlap.ts';
import { planEdited } from './plan-edited.ts';
import { planUnknown, planUsers, type RunContext, type UsersPlan } from './plan-users.ts';
import { arrangeBatches, countRequests, readLessons } from './push/batches.ts';
import { pushEdits } from './push/push.ts';
import { settleIntents } from './push/settle-intents.ts';
import { createPushContext } from './push/record.ts';
import { indexMembers } from './read/members.ts';
import { countContacts, listedContactFields, listedTags, planRefresh, refresh } from './refresh.ts';
import { givenTwice, type RunNotes } from './run-notes.ts';

export interface ReconcileSettings {
  /** The version of this program: records of another version do not count. */
  readonly program: string;
  readonly push: {
    readonly batchSize: number;
    readonly quietPeriodMs: number;
    readonly maxTries: number;
    /** Ms after its preparation within which an update must leave. */
    readonly sendDeadlineMs: number;
    /** Number of updates that may be in flight in parallel. */
    readonly updatesAtOnce: number;
  };
  readonly pageSize?: number | undefined;
  readonly absence: AbsenceSettings;
  readonly scope: Scope;
  readonly guard: GuardSettings;
  readonly policy: Policy;
  readonly segments: readonly Segment[];
}

export interface ListingsPlan {
  readonly resource: string;
  readonly added: number;
  readonly changed: number;
  readonly absent: number;
}

/** A part of the run that the others do not need: if it gets no answer, the run is partial and goes on. */
async function attempt(notes: RunNotes, part: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code === 'credentials') throw error;
    notes.partial(`${part}: ${error.message}`);
  }
}

/** The number of requests for pushing, including pushes that wait for an approval. */
export interface PushCost {
  readonly users: number;
  readonly requests: number;
}

async function costOf(
  mirror: RunContext['mirror'],
  { plans, verdict, roster }: UsersPlan,
  { batchSize, updatesAtOnce }: ReconcileSettings['push'],
): Promise<PushCost> {
  const pushes = new Map(plans.filter(isPush).map((plan) => [plan.id, { id: plan.id, patch: pushOf(plan) }]));
  for (const { userId: id, hold } of verdict.waiting)
    pushes.set(id, { id, patch: { ...pushes.get(id)?.patch, [hold.field]: hold.mirror } });
  const all = [...pushes.values()];
  const batches = arrangeBatches(all, batchSize, await readLessons(mirror, all));
  return { users: all.length, requests: countRequests(batches, roster.users, updatesAtOnce) };
}

export interface Planned {
  /** Too few people in common: until a person agrees, a run would end before all of this. */
  readonly replaced: WithheldAbsence | null;
  readonly users: UsersPlan;
  readonly listings: readonly ListingsPlan[];
  readonly cost: PushCost;
  /** Who made the edits that wait in batches. */
  readonly edits: readonly EditedField[];
}

/** Plans what a run would do to users and listings. Only reads. */
export async function plan(places: RunContext, team: Team, settings: ReconcileSettings): Promise<Planned> {
  const { notes, mirror } = places;
  const look = await lookForNews(places, team, settings);
  const replaced = look.how === 'all' ? await judgeOverlap(mirror, team, settings.scope) : null;
  const planned = await planUsers(places, team, settings, look);
  const users = { ...planned, plans: planUnknown(planned, settings.policy), unknown: [] };
  countPlans(users.plans, notes);
  notePostponed(users.verdict.postponed, notes);
  const { service } = places;
  const listings: ListingsPlan[] = [];
  const add = (resource: string, { added, changed, absent }: Awaited<ReturnType<typeof planRefresh>>) => {
    listings.push({ resource, added, changed, absent: absent.length });
  };
  await attempt(notes, 'tags', async () =>
    add('tags', await planRefresh(listedTags(service, mirror), mirror, settings, notes)),
  );
  await attempt(notes, 'contact_fields', async () =>
    add('contact_fields', await planRefresh(listedContactFields(service, mirror), mirror, settings, notes)),
  );
  const waiting = [...new Set(users.verdict.waiting.map(({ userId }) => userId))];
  const edits = waiting.length === 0 ? [] : await mirror.readLastEdits(waiting);
  return { replaced, users, listings, cost: await costOf(mirror, users, settings.push), edits };
}

/**
 * Reconciles all users of a team, or only the edited ones.
 * @returns whether the guard stopped the run, and what can be learned if all users were looked at
 */
async function reconcileUsers(
  places: WritingContext,
  given: Team,
  settings: ReconcileSettings,
  who: 'everybody' | 'edited',
): Promise<{ readonly stopped: boolean; readonly learn?: Learnable }> {
  const { mirror, notes } = places;
  const look = who === 'everybody' ? await lookForNews(places, given, settings) : undefined;
  if (look !== undefined) notes.event({ kind: 'read', resource: 'users', how: look.how });
  if (look?.how === 'nothing') {
    notes.count('users_read', look.shown);
    notes.count('users_at_rest', look.shown);
    await mirror.applyTeam(given);
    await places.keepTeam?.(given);
    places.keepPopulation?.(look.shown);
    await mirror.learnRoles();
    return { stopped: false };
  }
  const team = await wholeTeam(given);
  const pushSettings = { ...settings.push, policy: settings.policy };
  const { still } = places;
  await indexMembers(team);
  const push = createPushContext(places, team);
  const isRecalled = places.recalled !== undefined;
  const isOfSome = look?.how === 'some';
  // Where some are looked at alone, it is the team that the mirror has.
  if (!isRecalled && !isOfSome && (await stopReplaced(places, team, settings.scope)))
    return { stopped: true };
  await settleIntents(push, pushSettings);
  const users = await (look === undefined
    ? planEdited(places, team, settings)
    : planUsers(places, team, settings, look));
  if (isOfSome) notes.count('users_at_rest', look.shown - look.only.size);
  const { refused, reviewed, waiting, batches, approved, isNews, writes } = users.verdict;
  // Where nothing may be sent, the batches wait like all else, and there is nothing to stop for.
  const stopped = users.verdict.stopped && still === undefined;
  if (isNews || writes.holds.length + writes.lacking.length + writes.ended.length > 0)
    await mirror.applyStopped(writes);
  if (refused.length + reviewed.length > 0)
    notes.refuse({
      hash: batches.at(-1) ?? null,
      batches,
      reasons: [...refused, ...reviewed],
      isReview: refused.length === 0,
      users: countUsers(waiting),
      stopped,
      isNews: isNews && still === undefined,
      what: 'pushes',
    });
  notePostponed(users.verdict.postponed, notes);
  if (stopped) {
    // What people agreed to is left to the next run, which nothing stops any more.
    notes.count('postponed', users.plans.filter(isPush).length);
    return { stopped };
  }
  if (!isRecalled) {
    await mirror.applyTeam(team);
    await places.keepTeam?.(team);
  }
  if (users.population !== undefined) places.keepPopulation?.(users.population);
  if (who === 'everybody') {
    const { rejected, repeated } = users.roster;
    const twice = [...repeated.keys()].map((id) => givenTwice('users', id));
    await mirror.applyRejectedRows('users', [...rejected, ...twice]);
  }
  if (users.stale.length > 0) await mirror.noteStale(users.stale);
  if (users.movedAlone > 0) await mirror.noteMovedAlone(users.movedAlone, users.roster.shown);
  const deferred = await applyPulls(places, { ...users, plans: afterBatch(users.plans) });
  if (who === 'everybody') {
    await applyUserAbsences(places, users, settings.absence, settings.scope);
    await mirror.learnRoles();
  }
  // Nothing was written for deferred users, not even holds on fields that must not be sent.
  const pushes = users.plans.filter((plan) => isPush(plan) && !deferred.has(plan.id));
  const { roster, roles, lessons, readAtMs } = users;
  await pushEdits({ ...push, users: roster.users, roles, approved, lessons, readAtMs }, pushSettings, pushes);
  return deferred.size > 0 || look === undefined
    ? { stopped: false }
    : { stopped: false, learn: { plan: users, look } };
}

async function refreshListings(
  { service, mirror, notes }: WritingContext,
  settings: ReconcileSettings,
): Promise<void> {
  await attempt(notes, 'tags', () =>
    refresh(listedTags(service, mirror), (tags) => mirror.applyTags(tags), mirror, settings, notes),
  );
  await attempt(notes, 'contact_fields', () =>
    refresh(
      listedContactFields(service, mirror),
      (fields) => mirror.applyContactFields(fields),
      mirror,
      settings,
      notes,
    ),
  );
}

/**
 * One run for one team in both directions; a complete one does all groups. Its findings are in `places.notes`.
 * The first refusal of a plan ends the run, because nobody knows of it yet.
 */
export async function reconcile(
  places: WritingContext,
  team: Team,
  settings: ReconcileSettings,
  groups: readonly RunGroup[] = scheduledGroups,
): Promise<void> {
  const { service, mirror, notes } = places;
  let users: Awaited<ReturnType<typeof reconcileUsers>> = { stopped: false };
  if (groups.includes('users') || groups.includes('edits'))
    await attempt(notes, 'users', async () => {
      const who = groups.includes('users') ? 'everybody' : 'edited';
      users = await reconcileUsers(places, team, settings, who);
    });
  if (users.stopped) return;
  if (groups.includes('listings')) await refreshListings(places, settings);
  if (groups.includes('counts'))
    await mirror.applyContactCounts(await countContacts(service, settings.segments, notes));
  const { learn } = users;
  if (learn !== undefined && groups.includes('users') && notes.reasons.length === 0 && notes.refusal === null)
    await learnRest(mirror, team, learn, settings);
}
