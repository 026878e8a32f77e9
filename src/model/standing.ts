/** The states of a user between the two sides, by which a roster is sorted. */

import { isOpen, needsDecision } from './edit-state.ts';

/** The states, the worst first. Each user of the mirror is in one of them. */
export const standings = ['waits', 'moving', 'unresolved', 'rejected', 'asked', 'equal', 'left'] as const;
export type UserStanding = (typeof standings)[number];

/** `present` are all who have not left. */
export type PeopleState = UserStanding | 'present';

export const peopleSorts = ['state', 'name', 'role', 'email', 'phone', 'id', 'changed'] as const;
export type PeopleSort = (typeof peopleSorts)[number];

/** The worst of the fields that are not equal counts. */
export function standingOf(
  open: readonly Parameters<typeof needsDecision>[0][],
  isResolved: boolean,
): UserStanding {
  if (open.some(needsDecision)) return 'waits';
  if (!isResolved) return 'unresolved';
  if (open.some(isOpen)) return 'moving';
  if (open.some(({ state }) => state === 'rejected')) return 'rejected';
  return open.length > 0 ? 'asked' : 'equal';
}
