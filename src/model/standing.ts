/** The states of a user between the two sides, the worst first. Each user of the mirror is in one of them. */
export const standings = ['waits', 'moving', 'unresolved', 'rejected', 'asked', 'equal', 'left'] as const;
export type UserStanding = (typeof standings)[number];
