/** The limits beyond which a whole plan is refused, with their messages. */

import { type Field, fields, columnOf } from '../../model/fields.ts';
import type { Id } from '../../model/id.ts';
import type { UserState } from '../../model/user-state.ts';
import type { GuardHistory } from '../../model/waiting.ts';
import { isUnread } from '../unread.ts';

export interface GuardSettings {
  readonly maxRows: number;
  /** A share of the users present, from 0 to 1. */
  readonly maxShare: number;
  readonly maxSharePerDay: number;
  readonly minPopulation: number;
  readonly maxRoleChanges: number;
  /** The share of the rows in which a field that they had may now be absent or unreadable. */
  readonly maxDrift: number;
  /** Role ids of administrators. */
  readonly adminRoleIds: readonly Id[];
  /** Whether a person reviews each push first. */
  readonly isReviewed: boolean;
}

/** Limits that are not settings: the team size from which shares apply, and the share that may lack a field. */
export const usualLimits = { minPopulation: 20, maxDrift: 0.2 } as const;

/** The number of users that one run may push to. */
export function massLimit(population: number, { maxRows, maxShare, minPopulation }: GuardSettings): number {
  return population >= minPopulation ? Math.max(maxRows, Math.floor(population * maxShare)) : maxRows;
}

/** Teams of one or two are often edited as a whole. */
const wholeTeam = 3;
export const isWholeTeam = (count: number, population: number) =>
  population >= wholeTeam && count >= population;

interface MassChange {
  readonly count: number;
  readonly population: number;
  readonly limit: number;
  /** Users pushed to within a day, including those of this run. */
  readonly today: number;
  readonly settings: GuardSettings;
}

/** The limits on the number of users of one plan: why it is refused, or `undefined`. */
export const massLimits = {
  rows: ({ count, population, limit }) =>
    count > limit
      ? `${count} of ${population} users would be pushed, more than the limit of ${limit}`
      : undefined,
  everybody: ({ count, population }) =>
    isWholeTeam(count, population) ? `every one of the ${population} users would be pushed` : undefined,
  day: ({ count, population, today, settings: { maxSharePerDay, minPopulation } }) =>
    population >= minPopulation && count > 0 && today > population * maxSharePerDay
      ? `${today} of ${population} users would have been pushed within a day, more than ${Math.round(maxSharePerDay * 100)} %`
      : undefined,
} as const satisfies Readonly<Record<string, (change: MassChange) => string | undefined>>;

export function massChange(
  pushed: readonly Id[],
  {
    population,
    history,
  }: { readonly population: number; readonly history: Pick<GuardHistory, 'pushedToday'> },
  settings: GuardSettings,
): readonly string[] {
  const limit = massLimit(population, settings);
  const today = new Set([...history.pushedToday, ...pushed]).size;
  const change = { count: pushed.length, population, limit, today, settings };
  return Object.values(massLimits)
    .map((why) => why(change))
    .filter((reason) => reason !== undefined);
}

/** The number of rows that had a field and no longer have it. */
export interface Drift {
  readonly field: Field;
  readonly count: number;
}

/** Fields that many rows no longer show: probably the answers have changed, not the users. */
export function schemaDrift(
  { states, shown }: { readonly states: readonly UserState[]; readonly shown: number },
  { maxDrift, minPopulation }: GuardSettings,
): readonly Drift[] {
  if (shown < minPopulation) return [];
  return fields
    .map((field) => ({ field, count: states.filter((state) => isUnread(field, state)).length }))
    .filter(({ count }) => count > shown * maxDrift);
}

export function sayDrift({ field, count }: Drift, users: number): string {
  const column = columnOf(field);
  return `${count} of ${users} users no longer have a ${column} in the service's answers; approve it if that is meant to stay so`;
}
