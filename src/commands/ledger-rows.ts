/** Rows of the ledger in the form of `changes` and `why`. */
import type { LedgerRow } from '../runs/read-ledger.ts';
import { showTime, showValue } from '../model/field-values.ts';

export const ledgerHead: readonly string[] = [
  'when',
  'run',
  'user',
  'name',
  'kind',
  'field',
  'from',
  'to',
  'outcome',
  'X-Request-Id',
  'edited by',
  'decided by',
];

export function ledgerCells(row: LedgerRow): readonly (string | bigint | null)[] {
  const {
    user_id,
    local_id,
    run_id,
    name,
    kind,
    field,
    old_value,
    new_value,
    outcome,
    request_id,
    decided_by,
    edited_by,
  } = row;
  const values = field === null ? ['', ''] : [showValue(old_value), showValue(new_value)];
  const when = showTime(row.closed_at ?? row.opened_at);
  return [
    when,
    run_id,
    user_id ?? local_id,
    name,
    kind,
    field,
    ...values,
    outcome,
    request_id,
    edited_by,
    decided_by,
  ];
}
