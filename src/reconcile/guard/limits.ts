/** The limit on the number of users that runs push to within a day, and the settings of the guard. */

import type { Id } from '../../model/id.ts';
import type { GuardHistory } from '../../model/waiting.ts';

export interface GuardSettings {
  readonly maxRows: number;
  /** The limit as a share of the users present in the mirror, from 0 to 1. */
  readonly maxShare: number;
  readonly maxRoleChanges: number;
  readonly adminRoleIds: readonly Id[];
  /** True if a person must review each push first. */
  readonly isReviewed: boolean;
}

/** The most users that pushes may reach within a day without a person's approval. */
export const massLimit = (population: number, { maxRows, maxShare }: GuardSettings): number =>
  Math.max(maxRows, Math.floor(population * maxShare));

/** The reason to refuse the pushes of a plan, together with the pushes of the last 24 h; empty if within the limit. */
export function massChange(
  pushed: readonly Id[],
  { population, pushedToday }: Pick<GuardHistory, 'population' | 'pushedToday'>,
  settings: GuardSettings,
): readonly string[] {
  const limit = massLimit(population, settings);
  const today = new Set([...pushedToday, ...pushed]).size;
  if (pushed.length === 0 || today <= limit) return [];
  return [`${today} of ${population} users would be pushed within a day, more than the limit of ${limit}`];
}
