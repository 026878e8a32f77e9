/** The limits beyond which a whole plan is refused, and why, in words. */
import type { UserState } from '../model/change.ts';
import type { Id } from '../model/id.ts';
import type { GuardHistory } from '../model/plan.ts';
import { type Field, fields, type ServiceUser } from '../model/user.ts';
import { canonicalBase } from './merge.ts';

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

/** So many users may be pushed to in one run. */
export function massLimit(population: number, { maxRows, maxShare, minPopulation }: GuardSettings): number {
  return population >= minPopulation ? Math.max(maxRows, Math.floor(population * maxShare)) : maxRows;
}

/** A team of one or two is edited whole all the time. */
const wholeTeam = 3;
export const isWholeTeam = (count: number, population: number) =>
  population >= wholeTeam && count >= population;

export function massChange(
  pushed: readonly Id[],
  {
    population,
    history,
  }: { readonly population: number; readonly history: Pick<GuardHistory, 'pushedToday'> },
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
    isWholeTeam(count, population) ? `every one of the ${population} users would be pushed` : undefined,
    large && count > 0 && today > population * maxSharePerDay
      ? `${today} of ${population} users would have been pushed within a day, more than ${Math.round(maxSharePerDay * 100)} %`
      : undefined,
  ].filter((reason) => reason !== undefined);
}

/** Fields that many rows had and no longer have: the service has changed its answers, not its users. */
export function schemaDrift(
  { states, users }: { readonly states: readonly UserState[]; readonly users: ReadonlyMap<Id, ServiceUser> },
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
      ? [
          `${count} of ${users.size} users no longer have a ${field} in the service's answers; if that is so for good, raise guard.maxDrift`,
        ]
      : [];
  });
}
