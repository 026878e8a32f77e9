/** What the page and what it reads have in common about lists that wait. */
import type { Id } from './id.ts';

/** A longer list shows as many rows as make clear what it is about. */
export const mostWhole = 20;
/** Most rows of a page that are decided about. */
export const perList = 200;

export const rowSorts = ['edited', 'person', 'field'] as const;
export type RowSort = (typeof rowSorts)[number];

export const pageAsked = (query: URLSearchParams): number =>
  Math.max(1, Number(/^\d{1,4}$/.exec(query.get('page') ?? '')?.[0] ?? 1));

interface FieldOfUser {
  readonly teamId: Id;
  readonly userId: Id | null;
  readonly field: string;
}

export const ownKey = ({ teamId, userId, field }: FieldOfUser): string => `${teamId} ${userId} ${field}`;

/**
 * Of one edit that was decided about. `coming`: the next run sends it. `asked`: it is being sent, or was, and no answer is
 * known. `waits`: it waits for somebody again. `kept`: nothing was to be sent. `moved`: it is another edit, or none, by now.
 */
export const fates = ['sent', 'asked', 'refused', 'coming', 'waits', 'moved', 'kept'] as const;
export type Fate = (typeof fates)[number];
