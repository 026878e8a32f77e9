/**
 * What no run does without a person: the limits that are checked before the first write on either side.
 *
 * | what                                                        | what happens              |
 * |-------------------------------------------------------------|---------------------------|
 * | pushes to more than max(`maxRows`, `maxShare`) of the users | the plan is refused       |
 * | pushes to more than `maxSharePerDay` in a day, over all runs| the plan is refused       |
 * | pushes to every user of `wholeTeam` or more                 | the plan is refused       |
 * | more than `maxDrift` of the rows lack a field they had, and | the plan is refused       |
 * | nobody has agreed to that since they do                     |                           |
 * | a row of a refused plan, with the mirror's value as it was  | it waits on               |
 * | a brake (`field-limits.ts`)                                       | that field is held        |
 * | a demotion that only a promotion of this run would mend     | it waits for the next run |
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
 * Resolved and approved is what a person agreed to with these very values. Left is what waits since an
 * earlier run (`plan-memory.ts`): it does not count, and however few are left of a plan, nobody has agreed to
 * them. So a plan that waits keeps nothing else from being sent.
 *
 * What people are told (exit code 4), and what a run then still does:
 *
 * | waited before | refused now                                  | told | the run           |
 * |---------------|----------------------------------------------|------|-------------------|
 * | nothing       | yes                                          | yes  | ends              |
 * | a plan        | more users than one run may push to, or all  | yes  | goes on           |
 * | a plan        | no, or fewer                                 | no   | goes on           |
 * | a plan        | ·, but it has waited for a day               | yes  | goes on           |
 */
import { type Hold, isPush, mapPushes, type UserPlan } from '../../model/user-plan.ts';
import type { UserState } from '../../model/user-state.ts';
import type { Id } from '../../model/id.ts';
import type { GuardHistory, PlannedPush } from '../../model/plan.ts';
import { type Field, readable } from '../../model/user.ts';
import {
  type Brakes,
  joinBrakes,
  type LastAdministrators,
  lastAdministrators,
  type Population,
  sharedAddresses,
  tooManyRoles,
  type Until,
} from './field-limits.ts';
import { type GuardSettings, isWholeTeam, massChange, massLimit, sayDrift, schemaDrift } from './limits.ts';
import { joinRows, type Remembered, remember, sameEdit } from './plan-memory.ts';
import { fieldsAmong, onlyFields, plannedPush } from './planned-push.ts';
import { patchedFields } from '../push/outcome.ts';

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
  /** Whether the run ends here: nobody has been told of anything yet. */
  readonly stopped: boolean;
  /** Whether people are to be told: for the first time, of another mass change, or again after a while. */
  readonly isNews: boolean;
  /** All plans; their patches hold what may be sent now, and their holds what a brake stopped. */
  readonly plans: readonly UserPlan[];
  /** What a person let pass, by user. */
  readonly approved: ReadonlyMap<Id, readonly Field[]>;
  /** What waits for an approval. */
  readonly waiting: readonly PlannedPush[];
  /** What is held by now, or of users who have left, and waits again when that ends. */
  readonly kept: readonly PlannedPush[];
  /** Demotions that are left out of this run, neither held nor waiting for a person, and until when. */
  readonly postponed: ReadonlyMap<Id, Until>;
  /** Fields that many users no longer have, and that the plan is refused for. */
  readonly lacking: readonly Field[];
  /** The same, accepted or not; `null`: too few users were read to tell. */
  readonly drifting: readonly Field[] | null;
}

/** A plan that pushes, and what people have said of its fields. */
interface Standing {
  readonly plan: UserPlan;
  readonly push: PlannedPush;
  readonly resolved: readonly Field[];
  /** Approved or resolved. */
  readonly approved: readonly Field[];
  /** Waiting since an earlier run, and not approved. */
  readonly left: readonly Field[];
}

function standingsOf({ plans, history, users }: GuardView): readonly Standing[] {
  const earlier = [...(history.waiting ?? []), ...history.kept];
  const [resolved, approved, waiting] = [history.resolved, history.approved, earlier].map(byUser);
  return plans.filter(isPush).map((plan) => {
    const push = plannedPush(plan, readable(users.get(plan.id)?.name) ?? '');
    const of = (rows: ReadonlyMap<Id, readonly PlannedPush[]> | undefined) => rows?.get(plan.id) ?? [];
    const passed = fieldsAmong(push, [...of(resolved), ...of(approved)]);
    const left = patchedFields(push.patch).filter(
      (field) => !passed.includes(field) && of(waiting).some((row) => sameEdit(field, push, row)),
    );
    return { plan, push, resolved: fieldsAmong(push, of(resolved)), approved: passed, left };
  });
}

function byUser(rows: readonly PlannedPush[]): ReadonlyMap<Id, readonly PlannedPush[]> {
  return Map.groupBy(rows, ({ userId }) => userId);
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

const sayLeft = (left: readonly PlannedPush[]): readonly string[] =>
  left.length === 0 ? [] : [`${left.length} users of an earlier plan wait for a decision`];

const sayLacking = (lacking: readonly Field[]): readonly string[] =>
  lacking.length === 0
    ? []
    : [
        `many users no longer had their ${lacking.join(', ')} when everybody was read, which waits for a decision`,
      ];

const fieldsOf = (holds: readonly Pick<Hold, 'field'>[] | undefined): readonly Field[] =>
  (holds ?? []).map(({ field }) => field);

/** The brakes on all pushes, and the demotions that have to wait for another run. */
function brakesOn(
  standings: readonly Standing[],
  waits: (standing: Standing, field: Field) => boolean,
  view: GuardView,
  settings: GuardSettings,
): LastAdministrators {
  const early = joinBrakes([
    sharedAddresses(standings, view),
    tooManyRoles(standings, settings.maxRoleChanges),
  ]);
  const changing = standings.filter(({ plan }) => !fieldsOf(early.get(plan.id)).includes('roleId'));
  const sent = new Set(changing.filter((standing) => !waits(standing, 'roleId')).map(({ plan }) => plan.id));
  const admins = lastAdministrators(changing, view, settings.adminRoleIds, ({ id }) => sent.has(id));
  return { ...admins, brakes: joinBrakes([early, admins.brakes]) };
}

const roleOnly: readonly Field[] = ['roleId'];

function applyVerdict(plan: UserPlan, brakes: readonly Hold[], unsent: readonly Field[]): UserPlan {
  return mapPushes(plan, (field, push) => {
    const hold = brakes.find((brake) => brake.field === field);
    if (hold !== undefined) return { kind: 'hold', hold };
    return unsent.includes(field) ? { kind: 'wait' } : push;
  });
}

/** Fields of each push that are not sent now, since they wait for a person. */
function waitingFieldsOf(
  standings: readonly Standing[],
  waits: (standing: Standing, field: Field) => boolean,
  brakes: Brakes,
): ReadonlyMap<Id, readonly Field[]> {
  return new Map(
    standings.map((standing): readonly [Id, readonly Field[]] => {
      const braked = fieldsOf(brakes.get(standing.plan.id));
      const open = patchedFields(standing.push.patch).filter((field) => !braked.includes(field));
      return [standing.plan.id, open.filter((field) => waits(standing, field))];
    }),
  );
}

/** What stays of earlier plans beside the pushes that wait now: a left row that is braked by now is kept in mind. */
function rememberedOf(
  standings: readonly Standing[],
  brakes: Brakes,
  view: GuardView,
): Remembered & { readonly left: readonly PlannedPush[] } {
  const { waiting, kept } = remember(view);
  const parts = standings.map(({ plan, push, left }) => {
    const braked = fieldsOf(brakes.get(plan.id));
    const of = (isBraked: boolean) =>
      onlyFields(
        push,
        left.filter((field) => braked.includes(field) === isBraked),
      );
    return { free: of(false), braked: of(true) };
  });
  const free = parts.map((part) => part.free).filter(isRow);
  const braked = parts.map((part) => part.braked).filter(isRow);
  return { waiting, kept: joinRows([...kept, ...braked]), left: joinRows([...waiting, ...free]) };
}

const isRow = ({ patch }: PlannedPush) => patchedFields(patch).length > 0;

export function guard(view: GuardView, settings: GuardSettings): GuardVerdict {
  const standings = standingsOf(view);
  const { history } = view;
  const isNew = ({ approved, left }: Standing, field: Field) =>
    !approved.includes(field) && !left.includes(field);
  const counted = standings.filter((standing) =>
    patchedFields(standing.push.patch).some((field) => isNew(standing, field)),
  );
  const ids = counted.map(({ plan }) => plan.id);
  const drift = schemaDrift(view, settings);
  const isOpen = (field: Field) => !history.accepted.includes(field);
  const lacking = drift.filter(({ field }) => isOpen(field));
  const isJudged = view.isWhole && view.users.size >= settings.minPopulation;
  const stillLacking = isJudged ? [] : history.lacking.filter(isOpen);
  const tooMuch = [
    ...massChange(ids, view, settings),
    ...lacking.map((one) => sayDrift(one, view.users.size)),
  ];
  const isRefused = tooMuch.length > 0;
  const waits = (standing: Standing, field: Field) =>
    !standing.approved.includes(field) && (isRefused || standing.left.includes(field));
  const { brakes, postponed } = brakesOn(standings, waits, view, settings);
  const waitingFields = waitingFieldsOf(standings, waits, brakes);
  const rows = standings.map(({ plan, push }) => onlyFields(push, waitingFields.get(plan.id) ?? []));
  const { waiting, kept, left } = rememberedOf(standings, brakes, view);
  const refused = [
    ...tooMuch,
    ...sayLeft(left),
    ...sayLacking(stillLacking),
    ...(isRefused ? sayBraked(brakes) : []),
  ];
  const added = counted.filter((standing) =>
    (waitingFields.get(standing.plan.id) ?? []).some((field) => isNew(standing, field)),
  ).length;
  const isMass = added > massLimit(view.population, settings) || isWholeTeam(added, view.population);
  return {
    refused,
    stopped: isRefused && history.waiting === null,
    isNews: refused.length > 0 && (history.isOld || (isRefused && (history.waiting === null || isMass))),
    plans: view.plans.map((plan) => {
      const unsent = [...(waitingFields.get(plan.id) ?? []), ...(postponed.has(plan.id) ? roleOnly : [])];
      return applyVerdict(plan, brakes.get(plan.id) ?? [], unsent);
    }),
    approved: new Map(standings.map(({ plan, approved }) => [plan.id, approved])),
    waiting: joinRows([...rows.filter(isRow), ...waiting]),
    kept,
    postponed,
    lacking: [...new Set([...fieldsOf(lacking), ...stillLacking])],
    drifting: isJudged ? fieldsOf(drift) : null,
  };
}
