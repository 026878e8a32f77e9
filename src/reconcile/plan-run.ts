/** Plans a run: reads users, merges, checks the result with the guard, and compares the listings. Writes nothing. */
import { listedResources } from '../model/listed-resources.ts';
import type { Team } from '../model/team.ts';
import { holdsOf, isPush, pushOf } from '../model/user-plan.ts';
import type { HeldEdit } from '../model/waiting.ts';
import { countPlans, notePostponed } from './apply-users.ts';
import { look } from './look.ts';
import { planUnknown, planUsers, type RunContext, type UsersPlan } from './plan-users.ts';
import { arrangeBatches, countRequests, readLessons } from './push/batches.ts';
import type { ReconcileSettings } from './reconcile-settings.ts';
import { planRefresh, refreshable } from './refresh.ts';
import { attempt } from './run-notes.ts';

interface ListingsPlan {
  readonly resource: string;
  readonly added: number;
  readonly changed: number;
  readonly absent: number;
}

/** The number of requests for all pushes of the plan, including pushes that wait for an approval. */
export interface PushCost {
  readonly users: number;
  readonly requests: number;
}

async function costOf(
  mirror: RunContext['mirror'],
  { plans, verdict, look: { roster } }: UsersPlan,
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
  readonly users: UsersPlan;
  readonly listings: readonly ListingsPlan[];
  readonly cost: PushCost;
  /** The edits that a run with this plan would hold, and the edits that a limit on a whole run or a review holds now. */
  readonly edits: readonly HeldEdit[];
}

export async function planRun(places: RunContext, team: Team, settings: ReconcileSettings): Promise<RunPlan> {
  const { notes, mirror, service } = places;
  notes.event({ kind: 'step', step: 'users' });
  const planned = await planUsers(places, await look(places, team, 'everybody'), settings);
  const users = { ...planned, plans: planUnknown(planned, settings.policy) };
  countPlans(users.plans, notes);
  notePostponed(users.plans, notes);
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
  const held = [
    ...users.plans.flatMap((plan) => holdsOf(plan).map((hold) => ({ id: plan.id, hold }))),
    ...users.verdict.waiting.flatMap(({ userId: id, hold }) =>
      hold.batch === undefined ? [] : [{ id, hold }],
    ),
  ];
  const edits = held.length === 0 ? [] : await mirror.readHeldEdits(held);
  return { users, listings, cost: await costOf(mirror, users, settings.push), edits };
}
