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

import type { Id } from '../model/id.ts';
import { listedResources } from '../model/listed-resources.ts';
import { type RunGroup, scheduledGroups } from '../model/run-group.ts';
import type { Team } from '../model/team.ts';
import { isPush, pushOf } from '../model/user-plan.ts';
import type { EditedField } from '../model/waiting.ts';
import { countPlans, notePostponed, type WritingContext } from './apply-users.ts';
import { planUnknown, planUsers, type RunContext, type WholePlan } from './plan-users.ts';
import { arrangeBatches, countRequests, readLessons } from './push/batches.ts';
import type { ReconcileSettings } from './reconcile-settings.ts';
import { reconcileUsers } from './reconcile-users.ts';
import { countContacts, planRefresh, refresh, refreshable } from './refresh.ts';
import { attempt } from './run-notes.ts';

interface ListingsPlan {
  readonly resource: string;
  readonly added: number;
  readonly changed: number;
  readonly absent: number;
}

/** The number of requests for pushing, including pushes that wait for an approval. */
export interface PushCost {
  readonly users: number;
  readonly requests: number;
}

async function costOf(
  mirror: RunContext['mirror'],
  { plans, verdict, roster }: WholePlan,
  { batchSize }: ReconcileSettings['push'],
): Promise<PushCost> {
  const pushes = new Map(plans.filter(isPush).map((plan) => [plan.id, { id: plan.id, patch: pushOf(plan) }]));
  for (const { userId: id, hold } of verdict.waiting)
    pushes.set(id, { id, patch: { ...pushes.get(id)?.patch, [hold.field]: hold.mirror } });
  const all = [...pushes.values()];
  const batches = arrangeBatches(all, batchSize, await readLessons(mirror, all));
  return { users: all.length, requests: countRequests(batches, roster.users) };
}

export interface RunPlan {
  readonly users: WholePlan;
  readonly listings: readonly ListingsPlan[];
  readonly cost: PushCost;
  /** The edits that wait in batches, with the people who made them. */
  readonly edits: readonly EditedField[];
}

/** Plans what a run would do to users and listings. Only reads. */
export async function plan(places: RunContext, team: Team, settings: ReconcileSettings): Promise<RunPlan> {
  const { notes, mirror } = places;
  const planned = await planUsers(places, team, settings);
  const users = { ...planned, plans: planUnknown(planned, settings.policy), unknown: [] };
  countPlans(users.plans, notes);
  notePostponed(users.verdict.postponed, notes);
  const { service } = places;
  const listings: ListingsPlan[] = [];
  const add = (resource: string, { added, changed, absent }: Awaited<ReturnType<typeof planRefresh>>) => {
    listings.push({ resource, added, changed, absent: absent.length });
  };
  for (const resource of listedResources)
    await attempt(notes, resource.name, async () =>
      add(
        resource.name,
        await planRefresh(refreshable(resource, service), mirror, { ...settings, teamId: team.id }, notes),
      ),
    );
  const waiting = [...new Set(users.verdict.waiting.map(({ userId }) => userId))];
  const edits = waiting.length === 0 ? [] : await mirror.readLastEdits(waiting);
  return { users, listings, cost: await costOf(mirror, users, settings.push), edits };
}

async function refreshListings(
  { service, mirror, notes }: WritingContext,
  settings: ReconcileSettings & { readonly teamId: Id },
): Promise<void> {
  for (const resource of listedResources)
    await attempt(notes, resource.name, () =>
      refresh(refreshable(resource, service), mirror, settings, notes),
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
  const goesOn = await attempt(notes, 'users', async () => {
    const group = (['users', 'edits'] as const).find((candidate) => groups.includes(candidate));
    return group === undefined || (await reconcileUsers(places, team, settings, group));
  });
  if (goesOn === false) return;
  if (groups.includes('listings')) await refreshListings(places, { ...settings, teamId: team.id });
  if (groups.includes('counts'))
    await attempt(notes, 'contact counts', async () =>
      mirror.applyContactCounts(await countContacts(service, settings.segments, notes)),
    );
}
