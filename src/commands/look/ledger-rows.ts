/** The columns in which `musterd changes` and `musterd why` show rows of the ledger. */
import type { LedgerRow } from '../../runs/look/read-ledger.ts';
import { showValue } from '../../model/field-values.ts';
import { showTime } from '../../model/zone-time.ts';
import type { PrintedColumns } from '../print-table.ts';

const movedTo = (field: string | null, value: unknown) => (field === null ? '' : showValue(value));

export const ledgerColumns: PrintedColumns<LedgerRow> = {
  when: ({ closed_at, opened_at }) => showTime(closed_at ?? opened_at),
  run: ({ run_id }) => run_id,
  user: ({ user_id }) => user_id,
  name: ({ name }) => name,
  kind: ({ kind }) => kind,
  field: ({ field }) => field,
  from: (row) => movedTo(row.field, row.old_value),
  to: (row) => movedTo(row.field, row.new_value),
  outcome: ({ outcome }) => outcome,
  'X-Request-Id': ({ request_id }) => request_id,
  'edited by': ({ edited_by }) => edited_by,
  'decided by': ({ decided_by }) => decided_by,
};
