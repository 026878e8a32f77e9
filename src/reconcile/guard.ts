/**
 * What no run does without a person: the limits that are checked before the first write on either side.
 *
 * | what                                                        | what happens              |
 * |-------------------------------------------------------------|---------------------------|
 * | pushes to more than max(`maxRows`, `maxShare`) of the users | the plan is refused       |
 * | pushes to more than `maxSharePerDay` in a day, over all runs| the plan is refused       |
 * | pushes to every user                                        | the plan is refused       |
 * | more than `maxDrift` of the rows lack a field they had      | the plan is refused       |
 * | a row that a person left waiting                            | it waits on               |
 * | a brake (`brakes.ts`)                                       | that field is held        |
 *
 * Shares apply from `minPopulation` users on. Only pushes count: adopting, pulling and settling never do.
 * What becomes of each field that would be pushed:
 *
 * | braked | resolved | approved | refused or left | the field                             |
 * |--------|----------|----------|-----------------|---------------------------------------|
 * | yes    | no       | ·        | ·               | is held, and is no part of the plan   |
 * | ·      | yes      | ·        | ·               | is sent, and does not count           |
 * | no     | no       | yes      | ·               | is sent, and does not count           |
 * | no     | no       | no       | yes             | waits in the plan                     |
 * | no     | no       | no       | no              | is sent                               |
 *
 * Resolved and approved is what a person agreed to with these very values. Of a refused plan, some of whose
 * fields are held, the rest waits even where it is below the limits by itself.
 */
import type { Hold, UserPlan, UserState } from '../model/change.ts';
import type { Id } from '../model/id.ts';
import type { GuardHistory, PlannedPush } from '../model/plan.ts';
import { type Field, fields } from '../model/user.ts';
import {
  type Brakes,
  joinBrakes,
  lastAdministrators,
  type Population,
  sharedAddresses,
  tooManyRoles,
} from './brakes.ts';
import { canonicalBase } from './merge.ts';
import { fieldsAmong, onlyFields, plannedPush, samePush, withoutPushes } from './planned-push.ts';
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

export interface GuardView extends Population {
  readonly states: readonly UserState[];
  /** Every plan of the run; those with a patch are pushes. */
  readonly plans: readonly UserPlan[];
  /** Users present in the mirror. */
  readonly population: number;
  readonly history: GuardHistory;
}

export interface GuardVerdict {
  /** Why some of this may not be sent; empty if all of it may. */
  readonly refused: readonly string[];
  /** Whether the run ends here: a person has not yet been told of most of what waits. */
  readonly stopped: boolean;
  /** All plans; their patches hold what may be sent now, and their holds what a brake stopped. */
  readonly plans: readonly UserPlan[];
  /** What a person let pass, by user. */
  readonly approved: ReadonlyMap<Id, readonly Field[]>;
  /** What waits for an approval. */
  readonly waiting: readonly PlannedPush[];
}

/** A plan that pushes, and what people have said of its fields. */
interface Standing {
  readonly plan: UserPlan;
  readonly push: PlannedPush;
  readonly resolved: readonly Field[];
  /** Approved or resolved. */
  readonly approved: readonly Field[];
  /** Left waiting when a person decided about others. */
  readonly left: readonly Field[];
}

export const isPush = ({ patch }: UserPlan): boolean => patchedFields(patch).length > 0;

function standingsOf({ plans, history, users }: GuardView): readonly Standing[] {
  const [resolved, approved, waiting] = [history.resolved, history.approved, history.waiting ?? []].map(
    byUser,
  );
  return plans.filter(isPush).map((plan) => {
    const push = plannedPush(plan, users.get(plan.id)?.name ?? '');
    const of = (rows: ReadonlyMap<Id, readonly PlannedPush[]> | undefined) => rows?.get(plan.id) ?? [];
    const passed = fieldsAmong(push, [...of(resolved), ...of(approved)]);
    const left = patchedFields(push.patch).filter(
      (field) =>
        !passed.includes(field) &&
        of(waiting).some((row) => row.left?.includes(field) === true && samePush(field, push, row)),
    );
    return { plan, push, resolved: fieldsAmong(push, of(resolved)), approved: passed, left };
  });
}

/**
 * Left rows of users who say nothing of them in this run: nobody answered for the user, an earlier push is
 * not settled, or somebody holds the field. They wait on.
 */
function carriedOf({ plans, users, history }: GuardView): readonly PlannedPush[] {
  const planned = new Map(plans.map((plan) => [plan.id, plan]));
  return (history.waiting ?? []).flatMap((row): readonly PlannedPush[] => {
    const plan = planned.get(row.userId);
    const isSilent =
      plan === undefined ? !users.has(row.userId) : !['merge', 'return'].includes(plan.presence);
    const of = (row.left ?? []).filter((field) => isSilent || plan?.held.includes(field) === true);
    return of.length === 0 ? [] : [onlyFields(row, of)];
  });
}

/** One row per user; two of one user hold different fields. */
function joinRows(rows: readonly PlannedPush[]): readonly PlannedPush[] {
  const joined = new Map<Id, PlannedPush>();
  for (const row of rows) {
    const one = joined.get(row.userId);
    const both = (key: 'base' | 'service' | 'patch') => ({ ...one?.[key], ...row[key] });
    const [base, service, patch] = [both('base'), both('service'), both('patch')] as const;
    const left = [...(one?.left ?? []), ...(row.left ?? [])];
    joined.set(row.userId, { ...row, base, service, patch, left } as PlannedPush);
  }
  return [...joined.values()];
}

function byUser(rows: readonly PlannedPush[]): ReadonlyMap<Id, readonly PlannedPush[]> {
  return Map.groupBy(rows, ({ userId }) => userId);
}

/** So many users may be pushed to in one run. */
function massLimit(population: number, { maxRows, maxShare, minPopulation }: GuardSettings): number {
  return population >= minPopulation ? Math.max(maxRows, Math.floor(population * maxShare)) : maxRows;
}

function massChange(
  pushed: readonly Id[],
  { population, history }: GuardView,
  settings: GuardSettings,
): readonly string[] {
  const { maxSharePerDay, minPopulation } = settings;
  const count = pushed.length;
  const large = population >= minPopulation;
  const limit = massLimit(population, settings);
  const today = new Set([...history.pushedToday, ...pushed]).size;
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

/** So many held fields are named in a refusal. */
const namedBrakes = 3;

/** What a refusal says of fields that no approval of the plan lets pass. */
function sayBraked(brakes: Brakes): readonly string[] {
  const all = [...brakes].flatMap(([id, holds]) =>
    holds.map(({ field, detail }) => `${field === 'roleId' ? 'role_id' : field} of ${id}: ${detail}`),
  );
  if (all.length === 0) return [];
  const named = all.slice(0, namedBrakes).join('; ');
  const more = all.length > namedBrakes ? `; and ${all.length - namedBrakes} more` : '';
  return [`fields to be held on their own, and no part of the plan: ${named}${more}`];
}

function sayLeft(standings: readonly Standing[], carried: readonly PlannedPush[]): readonly string[] {
  const now = standings.filter(({ left }) => left.length > 0).map(({ plan }) => plan.id);
  const { size } = new Set([...now, ...carried.map(({ userId }) => userId)]);
  return size === 0 ? [] : [`${size} users of an earlier plan wait for a decision`];
}

const fieldsOf = (holds: readonly Hold[] | undefined): readonly Field[] =>
  (holds ?? []).map(({ field }) => field);

/** The brakes on all pushes; a promotion that is not sent now leaves nobody in charge. */
function brakesOn(
  standings: readonly Standing[],
  waits: (standing: Standing, field: Field) => boolean,
  view: GuardView,
  settings: GuardSettings,
): Brakes {
  const early = joinBrakes([
    sharedAddresses(standings, view),
    tooManyRoles(standings, settings.maxRoleChanges),
  ]);
  const changing = standings.filter(({ plan }) => !fieldsOf(early.get(plan.id)).includes('roleId'));
  const sent = new Set(changing.filter((standing) => !waits(standing, 'roleId')).map(({ plan }) => plan.id));
  const admins = lastAdministrators(changing, view, settings.adminRoleIds, ({ id }) => sent.has(id));
  return joinBrakes([early, admins]);
}

function applyVerdict(plan: UserPlan, brakes: readonly Hold[], waiting: readonly Field[]): UserPlan {
  const braked = fieldsOf(brakes);
  return {
    ...withoutPushes(plan, [...braked, ...waiting]),
    holds: [...plan.holds, ...brakes],
    releases: plan.releases.filter((field) => !braked.includes(field)),
  };
}

export function guard(view: GuardView, settings: GuardSettings): GuardVerdict {
  const standings = standingsOf(view);
  const counted = standings.filter(({ push, approved, left }) =>
    patchedFields(push.patch).some((field) => !approved.includes(field) && !left.includes(field)),
  );
  const tooMuch = [
    ...massChange(
      counted.map(({ plan }) => plan.id),
      view,
      settings,
    ),
    ...schemaDrift(view, settings),
  ];
  const isRefused = tooMuch.length > 0;
  const waits = ({ approved, left }: Standing, field: Field) =>
    !approved.includes(field) && (isRefused || left.includes(field));
  const brakes = brakesOn(standings, waits, view, settings);
  const waitingFields = new Map(
    standings.map((standing): readonly [Id, readonly Field[]] => {
      const braked = fieldsOf(brakes.get(standing.plan.id));
      const open = patchedFields(standing.push.patch).filter((field) => !braked.includes(field));
      return [standing.plan.id, open.filter((field) => waits(standing, field))];
    }),
  );
  const keepAll = isRefused && brakes.size > 0;
  const rows = standings.map(({ plan, push, left }): PlannedPush => {
    const of = waitingFields.get(plan.id) ?? [];
    return { ...onlyFields(push, of), left: keepAll ? of : of.filter((field) => left.includes(field)) };
  });
  const carried = carriedOf(view);
  const waiting = joinRows([...rows.filter(({ patch }) => patchedFields(patch).length > 0), ...carried]);
  const refused = [...tooMuch, ...sayLeft(standings, carried), ...(isRefused ? sayBraked(brakes) : [])];
  return {
    refused,
    stopped: isRefused && isNews(waiting, view, settings),
    plans: view.plans.map((plan) =>
      applyVerdict(plan, brakes.get(plan.id) ?? [], waitingFields.get(plan.id) ?? []),
    ),
    approved: new Map(standings.map(({ plan, approved }) => [plan.id, approved])),
    waiting,
  };
}

/** Whether nothing waited before, or more users are new in the plan, or with other values, than a run may push to. */
function isNews(
  waiting: readonly PlannedPush[],
  { history, population }: GuardView,
  settings: GuardSettings,
): boolean {
  const { waiting: before } = history;
  if (before === null) return true;
  const known = byUser(before);
  const isKnown = (push: PlannedPush) =>
    fieldsAmong(push, known.get(push.userId) ?? []).length === patchedFields(push.patch).length;
  return waiting.filter((push) => !isKnown(push)).length > massLimit(population, settings);
}
