/** Terms that the page and its queries share about lists that wait. */
import type { Id } from './id.ts';

/** Only this many rows of a longer list are shown, which is enough to see what it is about. */
export const mostWhole = 20;
/** Most rows of a page to decide about. */
export const perList = 200;

export const requestedPage = (query: URLSearchParams): number =>
  Math.max(1, Number(/^\d{1,4}$/.exec(query.get('page') ?? '')?.[0] ?? 1));

interface FieldOfUser {
  readonly teamId: Id;
  readonly userId: Id | null;
  readonly field: string;
}

export const ownKey = ({ teamId, userId, field }: FieldOfUser): string => `${teamId} ${userId} ${field}`;

/** Most users of one update. */
export const perRequest = 25;
/** Most rows of a decision that a receipt follows. */
export const mostOfDecision = 1_000;

/** The deeds in the words of `report.decisions`. `value` is a value of neither side. */
export type Deed = 'approve' | 'reject' | 'withdraw' | 'mirror' | 'service' | 'value';
