/** The states of a user between the two sides, by which a roster is sorted. */

/** The states, the worst first. Each user of the mirror is in one of them. */
export const standings = ['waits', 'moving', 'unresolved', 'rejected', 'asked', 'equal', 'left'] as const;
export type UserStanding = (typeof standings)[number];

/** `present` are all who have not left. */
export type PeopleState = UserStanding | 'present';

export const peopleSorts = ['state', 'name', 'role', 'email', 'phone', 'id', 'changed'] as const;
export type PeopleSort = (typeof peopleSorts)[number];

/** The worst of the fields that are not equal counts. @param reasons why each is held; `null` if it will be sent */
export function standingOf(reasons: readonly (string | null)[], isResolved: boolean): UserStanding {
  const waits = (reason: string | null) => reason !== null && reason !== 'asked' && reason !== 'rejected';
  if (reasons.some(waits)) return 'waits';
  if (!isResolved) return 'unresolved';
  if (reasons.includes(null)) return 'moving';
  if (reasons.includes('rejected')) return 'rejected';
  return reasons.length > 0 ? 'asked' : 'equal';
}
