/** Terms that the page and its queries share, about lists of edits that wait for a person. */
import type { Id } from './id.ts';

/** A list of at most this many rows is shown whole. A longer list shows only its first rows. */
export const mostWhole = 20;
/** The most rows on a page for decisions. */
export const perList = 200;

interface FieldOfUser {
  readonly teamId: Id;
  readonly userId: Id | null;
  readonly field: string;
}

export const ownKey = ({ teamId, userId, field }: FieldOfUser): string => `${teamId} ${userId} ${field}`;

/** The most users in one update. */
export const perRequest = 25;
/** The most rows of one decision that its question and its receipt show. */
export const mostOfDecision = 1_000;

/** A person's decision about a field, in the words of `report.decisions`. `value`: a value that neither side had. */
export type Deed = 'approve' | 'reject' | 'withdraw' | 'mirror' | 'service' | 'value';
