/** How the two sides of a user stand to each other, and how a roster is sorted by it. */

/** The worst first. Each user of the mirror is in one of them. */
export const standings = ['waits', 'moving', 'unresolved', 'rejected', 'asked', 'equal', 'left'] as const;
export type UserStanding = (typeof standings)[number];

/** `present`: all but who left. */
export type PeopleState = UserStanding | 'present';

export const peopleSorts = ['state', 'name', 'role', 'email', 'phone', 'id', 'changed'] as const;
export type PeopleSort = (typeof peopleSorts)[number];

/**
 * The worst of the fields that are not equal counts.
 * @param reasons why each is held; `null`: it is not, and goes by itself
 */
export function standingOf(reasons: readonly (string | null)[], isResolved: boolean): UserStanding {
  const waits = (reason: string | null) => reason !== null && reason !== 'asked' && reason !== 'rejected';
  if (reasons.some(waits)) return 'waits';
  if (!isResolved) return 'unresolved';
  if (reasons.includes(null)) return 'moving';
  if (reasons.includes('rejected')) return 'rejected';
  return reasons.length > 0 ? 'asked' : 'equal';
}
