/** How a user compares between mirror and service, the worst state first. Each user of the mirror has one state. */
export const standings = ['waits', 'moving', 'unresolved', 'rejected', 'asked', 'equal', 'left'] as const;
export type UserStanding = (typeof standings)[number];
