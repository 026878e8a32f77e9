/** The limits beyond which a whole plan is refused, with their messages. */

import type { Id } from '../../model/id.ts';
import type { GuardHistory } from '../../model/waiting.ts';

export interface GuardSettings {
  readonly maxRows: number;
  /** A share of the users present, from 0 to 1. */
  readonly maxShare: number;
  readonly maxSharePerDay: number;
  readonly minPopulation: number;
  readonly maxRoleChanges: number;
  /** Role ids of administrators. */
  readonly adminRoleIds: readonly Id[];
  /** Whether a person reviews each push first. */
  readonly isReviewed: boolean;
}

/** Not a setting: the team size from which shares apply. */
export const usualLimits = { minPopulation: 20 } as const;

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
