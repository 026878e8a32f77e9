import { fieldColumns } from '../../model/fields.ts';
import { callSubjects } from '../../model/direct-call.ts';
import { ledgerKinds, ledgerOutcomes } from '../../model/ledger-words.ts';
import { maxId } from '../../model/id.ts';
import { readTimeFromNow } from '../../runs/time-from-now.ts';
import { type LedgerFilter, type LedgerRow, readLedgerOf } from '../../runs/look/read-ledger.ts';
import { readWord, readWholeNumber } from '../add-commands.ts';
import { type Context, type ExitCode, exitCode } from '../context.ts';
import { ledgerColumns } from './ledger-rows.ts';
import { printJson, printLine } from '../output.ts';
import { printRows } from '../print-table.ts';
import { plural } from '../../model/in-words.ts';
import { withMirror } from '../setup.ts';

/** The options as given on the command line. */
export interface ChangesOptions {
  readonly user?: string;
  readonly run?: string;
  readonly field?: string;
  readonly kind?: string;
  readonly outcome?: string;
  readonly since?: string;
  readonly limit?: string;
}

/** Shows the ledger: what changed, in which direction, and with what outcome. */
export async function changesCommand(context: Context, options: ChangesOptions): Promise<ExitCode> {
  const filter = readFilter(options);
  return withMirror(context, async (setup) => {
    const found = await readLedgerOf(setup, { ...filter, limit: filter.limit + 1 }, options.user);
    const more = found.length > filter.limit;
    const rows = more ? found.slice(1) : found;
    if (context.json) printJson(context, { changes: rows, more });
    else show(context, rows);
    if (more && !context.json)
      printLine(context.err, `The newest ${plural(rows.length, 'row')}; --limit shows more.`);
    return exitCode.ok;
  });
}

function show(context: Context, rows: readonly LedgerRow[]): void {
  if (rows.length === 0) printLine(context.err, 'Nothing in the ledger matches.');
  else printRows(context, ledgerColumns, rows);
}

/** @throws MusterdError `usage` for a value that its option does not accept */
export function readFilter(options: ChangesOptions): Omit<LedgerFilter, 'userId'> {
  const { run, field, kind, outcome, since, limit } = options;
  return {
    runId: run === undefined ? null : readWholeNumber('--run', run, maxId),
    field: field === undefined ? null : readWord('--field', field, [...fieldColumns, ...callSubjects]),
    kind: kind === undefined ? null : readWord('--kind', kind, ledgerKinds),
    outcome: outcome === undefined ? null : readWord('--outcome', outcome, ledgerOutcomes),
    since: since === undefined ? null : readTimeFromNow('--since', since),
    limit: limit === undefined ? 100 : Number(readWholeNumber('--limit', limit, 1_000_000n)),
  };
}
