/** The words of the ledger for what moved. */

export const ledgerKinds = [
  'adopt',
  'return',
  'pull',
  'push',
  'settle',
  'hold',
  'tombstone',
  'forget',
  'approve',
  'reject',
  'resolve',
  'undo',
  'place',
  'call',
] as const;
/** What a direct command sends, in place of a field: its row of the ledger (`call`) is about no user. */
export const calledKinds = ['tag', 'message', 'conversation_read'] as const;

export type ChangeKind = (typeof ledgerKinds)[number];

/** The directions in which something can move, by which people filter. */
export const directions = ['pushed', 'pulled', 'held', 'decided', 'other'] as const;
export type Direction = (typeof directions)[number];

/** The kinds of changes in each direction. */
export const kindsOf = {
  pushed: ['push'],
  pulled: ['pull', 'adopt', 'return'],
  held: ['hold'],
  decided: ['approve', 'reject', 'resolve', 'undo', 'place'],
  other: ['settle', 'tombstone', 'forget', 'call'],
} as const satisfies Readonly<Record<Direction, readonly ChangeKind[]>>;
