/** The words that the ledger uses for changes. */
import { pushOutcomes } from './intent.ts';

/** The outcomes of a push, the outcome of a direct command that the service has answered, and the reasons of a hold. */
export const ledgerOutcomes = [
  ...pushOutcomes,
  'answered',
  'conflict',
  'unsupported',
  'returned',
  'limit',
  'review',
] as const;
export type LedgerOutcome = (typeof ledgerOutcomes)[number];

export const ledgerKinds = [
  'adopt',
  'return',
  'pull',
  'push',
  'settle',
  'hold',
  'discard',
  'tombstone',
  'forget',
  'approve',
  'reject',
  'resolve',
  'undo',
  'place',
  'call',
] as const;

export type ChangeKind = (typeof ledgerKinds)[number];

/** The directions of changes, by which people filter the ledger. */
export const directions = ['pushed', 'pulled', 'held', 'decided', 'other'] as const;
export type Direction = (typeof directions)[number];

/** The kinds of changes in each direction. */
export const kindsOf = {
  pushed: ['push'],
  pulled: ['pull', 'adopt', 'return'],
  held: ['hold'],
  decided: ['discard', 'approve', 'reject', 'resolve', 'undo', 'place'],
  other: ['settle', 'tombstone', 'forget', 'call'],
} as const satisfies Readonly<Record<Direction, readonly ChangeKind[]>>;
