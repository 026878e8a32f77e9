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
] as const;
export type ChangeKind = (typeof ledgerKinds)[number];

/** Columns of `mirror.users` as the ledger names them. */
export const changeFields = ['name', 'email', 'phone', 'role_id'] as const;
export type ChangeField = (typeof changeFields)[number];
