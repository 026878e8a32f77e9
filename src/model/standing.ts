/** The states of a user with regard to the two sides, the worst first. Each user of the mirror has exactly one. */
export const standings = ['waits', 'moving', 'unresolved', 'rejected', 'asked', 'equal', 'left'] as const;
export type UserStanding = (typeof standings)[number];
