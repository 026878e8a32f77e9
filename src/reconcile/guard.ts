/**
 * What no run does without a person: the limits that are checked before the first write on either side.
 *
 * | what                                                        | what happens              |
 * |-------------------------------------------------------------|---------------------------|
 * | pushes to more than max(`maxRows`, `maxShare`) of the users | the plan is refused       |
 * | pushes to more than `maxSharePerDay` in a day, over all runs| the plan is refused       |
 * | pushes to every user                                        | the plan is refused       |
 * | more than `maxDrift` of the rows lack a field they had      | the plan is refused       |
 * | more than `maxRoleChanges` role changes                     | those fields are held     |
 * | an email or phone that another user has, or is to get       | those fields are held     |
 * | no administrator would be left                              | those fields are held     |
 *
 * Shares apply from `minPopulation` users on. Only pushes count: adopting, pulling and settling never do.
 * A push that a person approved, with these very values on these very bases, passes and does not count.
 */
import { createHash } from 'node:crypto';
import type { Hold, UserPlan, UserState } from '../model/change.ts';
import type { Id } from '../model/id.ts';
import { toJson } from '../model/json.ts';
import type { GuardHistory, PlannedPush } from '../model/plan.ts';
import {
  canonicalServiceValue,
  canonicalValue,
  type Field,
  fields,
  type ServiceUser,
  sameBytes,
  type UserValues,
} from '../model/user.ts';
import { canonicalBase } from './merge.ts';
import { patchedFields } from './verdict.ts';

export interface GuardSettings {
  readonly maxRows: number;
  /** 0 to 1, of the users present. */
  readonly maxShare: number;
  readonly maxSharePerDay: number;
  readonly minPopulation: number;
  readonly maxRoleChanges: number;
  /** Share of the rows that may lack a field that they had before. */
  readonly maxDrift: number;
  /** The roles of administrators. */
  readonly adminRoleIds: readonly Id[];
}

export interface GuardView {
  readonly states: readonly UserState[];
  /** Every plan of the run; those with a patch are pushes. */
  readonly plans: readonly UserPlan[];
  /** Everybody whom the service shows. */
  readonly users: ReadonlyMap<Id, ServiceUser>;
  /** Users present in the mirror. */
  readonly population: number;
  readonly history: GuardHistory;
}

export interface GuardVerdict {
  /** Why most of this may not be sent; empty if it may. */
  readonly refused: readonly string[];
  /** All plans; their patches hold what may be sent now, and their holds what a brake stopped. */
  readonly plans: readonly UserPlan[];
  /** Users whose push a person approved. */
  readonly approved: ReadonlySet<Id>;
  /** What waits for an approval. */
  readonly waiting: readonly PlannedPush[];
}

/** What a plan would send, with the bases it rests on: the form in which it is shown and approved. */
export function plannedPush({ id, moves, patch }: UserPlan, user: ServiceUser | undefined): PlannedPush {
  const base = Object.fromEntries(
    moves.filter(({ kind }) => kind === 'push').map((move) => [move.field, move.base ?? null]),
  );
  return { userId: id, name: user?.name ?? '', base, patch };
}

/** Whether a person approved each field that the plan sends, with this value on this base. */
function isApproved(plan: UserPlan, { history, users }: GuardView): boolean {
  const { base, patch } = plannedPush(plan, users.get(plan.id));
  const mine = history.approved.filter(({ userId }) => userId === plan.id);
  const same = (field: Field, a: Partial<UserValues>, b: Partial<UserValues>) =>
    a[field] !== undefined && b[field] !== undefined && sameBytes(field, a as UserValues, b as UserValues);
  return patchedFields(patch).every((field) =>
    mine.some((approved) => same(field, approved.patch, patch) && same(field, approved.base, base)),
  );
}

function massChange(
  pushes: readonly UserPlan[],
  view: GuardView,
  settings: GuardSettings,
): readonly string[] {
  const { population, history } = view;
  const { maxRows, maxShare, maxSharePerDay, minPopulation } = settings;
  const count = pushes.length;
  const large = population >= minPopulation;
  const limit = large ? Math.max(maxRows, Math.floor(population * maxShare)) : maxRows;
  const today = new Set([...history.pushedToday, ...pushes.map(({ id }) => id)]).size;
  return [
    count > limit
      ? `${count} of ${population} users would be pushed, more than the limit of ${limit}`
      : undefined,
    large && count >= population ? `every one of the ${population} users would be pushed` : undefined,
    large && count > 0 && today > population * maxSharePerDay
      ? `${today} of ${population} users would have been pushed within a day, more than ${Math.round(maxSharePerDay * 100)} %`
      : undefined,
  ].filter((reason) => reason !== undefined);
}

/** Fields that many rows had and no longer have: the service has changed its answers, not its users. */
function schemaDrift(
  { states, users }: GuardView,
  { maxDrift, minPopulation }: GuardSettings,
): readonly string[] {
  if (users.size < minPopulation) return [];
  const lacks = ({ service, base }: UserState, field: Field) =>
    service !== undefined &&
    base !== undefined &&
    service[field] === undefined &&
    canonicalBase(field, base) !== '';
  return fields.flatMap((field) => {
    const count = states.filter((state) => lacks(state, field)).length;
    return count > users.size * maxDrift
      ? [`${count} of ${users.size} users no longer have a ${field} in the service's answers`]
      : [];
  });
}

function braked(plan: UserPlan, field: Field, detail: string): Hold | undefined {
  const move = plan.moves.find((one) => one.kind === 'push' && one.field === field);
  if (move === undefined) return undefined;
  return { field, reason: 'brake', base: move.base, mirror: move.mirror, service: move.service, detail };
}

/** Emails and phones that would be two people's. */
function sharedAddresses(
  pushes: readonly UserPlan[],
  { users }: GuardView,
): ReadonlyMap<Id, readonly Hold[]> {
  const holds = new Map<Id, Hold[]>();
  for (const field of ['email', 'phone'] as const) {
    const owners = new Map<string, Set<Id>>();
    const own = (value: string | undefined, id: Id) => {
      if (value) owners.set(value, (owners.get(value) ?? new Set()).add(id));
    };
    for (const user of users.values()) own(canonicalServiceValue(field, user), user.id);
    for (const { id, patch } of pushes) {
      if (patch[field] !== undefined) own(canonicalValue(field, patch as UserValues), id);
    }
    for (const plan of pushes) {
      if (plan.patch[field] === undefined) continue;
      const others = [...(owners.get(canonicalValue(field, plan.patch as UserValues)) ?? [])].filter(
        (id) => id !== plan.id,
      );
      const hold =
        others.length === 0
          ? undefined
          : braked(plan, field, `user ${others[0]} has or is to get the same ${field}`);
      if (hold !== undefined) holds.set(plan.id, [...(holds.get(plan.id) ?? []), hold]);
    }
  }
  return holds;
}

/** Role changes that are too many, or that would leave nobody in charge. */
function roleBrakes(
  pushes: readonly UserPlan[],
  view: GuardView,
  settings: GuardSettings,
): ReadonlyMap<Id, Hold> {
  const changes = pushes.filter(({ patch }) => patch.roleId !== undefined);
  const isAdmin = (roleId: unknown) => settings.adminRoleIds.some((admin) => admin === roleId);
  const after = new Map([...view.users.values()].map((user) => [user.id, user.roleId ?? null]));
  const hadAdmins = [...after.values()].some(isAdmin);
  for (const { id, patch } of changes) after.set(id, patch.roleId ?? null);
  const lost = hadAdmins && ![...after.values()].some(isAdmin);
  const tooMany = changes.length > settings.maxRoleChanges;
  return new Map(
    changes.flatMap((plan) => {
      const user = view.users.get(plan.id);
      const detail = tooMany
        ? `${changes.length} roles would change in one run, more than ${settings.maxRoleChanges}`
        : lost && isAdmin(user?.roleId)
          ? 'no administrator would be left'
          : undefined;
      const hold = detail === undefined ? undefined : braked(plan, 'roleId', detail);
      return hold === undefined ? [] : [[plan.id, hold] as const];
    }),
  );
}

/** The plan without the pushes of these fields. */
function without(plan: UserPlan, held: readonly Field[]): UserPlan {
  const patch = Object.fromEntries(
    Object.entries(plan.patch).filter(([field]) => !held.includes(field as Field)),
  );
  const moves = plan.moves.filter(({ kind, field }) => kind !== 'push' || !held.includes(field));
  return { ...plan, patch, moves };
}

export function guard(view: GuardView, settings: GuardSettings): GuardVerdict {
  const isPush = ({ patch }: UserPlan) => patchedFields(patch).length > 0;
  const approved = new Set(
    view.plans.filter((plan) => isPush(plan) && isApproved(plan, view)).map(({ id }) => id),
  );
  const rest = view.plans.filter((plan) => isPush(plan) && !approved.has(plan.id));
  const refused = [...massChange(rest, view, settings), ...schemaDrift(view, settings)];
  if (refused.length > 0) {
    const waiting = rest.map((plan) => plannedPush(plan, view.users.get(plan.id)));
    const plans = view.plans.map((plan) => (approved.has(plan.id) ? plan : without(plan, fields)));
    return { refused, plans, approved, waiting };
  }
  const addresses = sharedAddresses(rest, view);
  const roles = roleBrakes(rest, view, settings);
  const plans = view.plans.map((plan) => {
    const role = roles.get(plan.id);
    const brakes = [...(addresses.get(plan.id) ?? []), ...(role === undefined ? [] : [role])];
    if (brakes.length === 0) return plan;
    return {
      ...without(
        plan,
        brakes.map(({ field }) => field),
      ),
      holds: [...plan.holds, ...brakes],
    };
  });
  return { refused: [], plans, approved, waiting: [] };
}

/** Stands for these rows with these values: any other row, value or base makes another hash. */
export function hashOf(pushes: readonly PlannedPush[]): string {
  const sorted = pushes.toSorted((a, b) => (a.userId < b.userId ? -1 : 1));
  const rows = sorted.map(({ userId, base, patch }) => [
    userId,
    fields.map((field) => [base[field] ?? null, patch[field] ?? null]),
  ]);
  return createHash('sha256').update(toJson(rows)).digest('hex').slice(0, 12);
}
