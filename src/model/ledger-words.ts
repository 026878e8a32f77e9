/** What the ledger calls what moved. */

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
] as const;
export type ChangeKind = (typeof ledgerKinds)[number];

/** In which direction something moved, as people filter by it. */
export const directions = ['pushed', 'pulled', 'held', 'decided', 'other'] as const;
export type Direction = (typeof directions)[number];

/** What the ledger calls what went in a direction. */
export const kindsOf = {
  pushed: ['push'],
  pulled: ['pull', 'adopt', 'return'],
  held: ['hold'],
  decided: ['approve', 'reject', 'resolve', 'undo', 'place'],
  other: ['settle', 'tombstone', 'forget'],
} as const satisfies Readonly<Record<Direction, readonly ChangeKind[]>>;
