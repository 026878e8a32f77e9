/** Terms that the page and its queries share about lists that wait. */
import type { Id } from './id.ts';

/** Only this many rows of a longer list are shown, which is enough to see what it is about. */
export const mostWhole = 20;
/** Most rows of a page to decide about. */
export const perList = 200;

export const rowSorts = ['edited', 'person', 'field'] as const;
export type RowSort = (typeof rowSorts)[number];

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

/**
 * The fate of one edit that was decided about. The first one that applies counts:
 *
 * | fate      | what it says                                                       |
 * |-----------|--------------------------------------------------------------------|
 * | decided   | somebody has decided about the same edit again                     |
 * | kept      | nothing was to be sent, and it is so still                         |
 * | sent      | the service has it                                                 |
 * | leaving   | it is in a request that is on its way                              |
 * | asked     | it was sent, and the answer was lost                               |
 * | refused   | the service does not take it                                       |
 * | edited    | it was edited since, and that edit waits for somebody              |
 * | waits     | it waits for somebody itself                                       |
 * | coming    | the next run sends it                                              |
 * | moved     | it is another edit, or none, by now                                |
 */
export const fates = [
  'sent',
  'leaving',
  'asked',
  'refused',
  'coming',
  'edited',
  'waits',
  'kept',
  'decided',
  'moved',
] as const;
export type Fate = (typeof fates)[number];

/** The deeds in the words of the page. `value` is a value of neither side. */
export type Deed = 'approve' | 'reject' | 'withdraw' | 'mirror' | 'service' | 'value';

type Fates = Readonly<Partial<Record<Fate, number>>>;

/** Whether nothing that was decided has left. */
export const hasNotLeft = ({ sent, leaving, asked, refused }: Fates): boolean =>
  sent === undefined && leaving === undefined && asked === undefined && refused === undefined;
