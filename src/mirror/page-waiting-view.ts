/** The queries of the view of waiting things. */
import type { PageReader, SeenTeam } from './page-reader.ts';
import {
  countSingleFields,
  type PageField,
  readBatchRows,
  readSingleFields,
  readWaitingBatches,
  type WaitingTotals,
} from './page-waiting.ts';

export interface PageWaiting extends WaitingTotals {
  readonly teams: readonly SeenTeam[];
  readonly rows: readonly PageField[];
  readonly singles: readonly PageField[];
  readonly singleCounts: Readonly<Record<string, number>>;
}

/** Most rows to show of each batch, and most single fields. */
const rowsShown = 6;
const singlesShown = 50;

export async function readWaitingView(reader: PageReader): Promise<PageWaiting> {
  const { batches, missing } = await readWaitingBatches(reader);
  const hashes = [...new Set(batches.map(({ hash }) => hash))];
  return {
    teams: reader.teams,
    batches,
    missing,
    rows: await readBatchRows(reader, hashes, rowsShown),
    singles: await readSingleFields(reader, singlesShown),
    singleCounts: await countSingleFields(reader),
  };
}

/** Most rows on the page of one batch. */
const mostRows = 2_000;

/** All rows of one batch. */
export async function readWaitingBatch(
  reader: PageReader,
  { params }: { readonly params: Readonly<Record<string, string>> },
): Promise<PageWaiting | null> {
  const hash = params['batch'] ?? '';
  const all = await readWaitingBatches(reader);
  const batches = all.batches.filter((one) => one.hash === hash);
  const missing = all.missing.filter((one) => one.hash === hash);
  const rows = batches.length === 0 ? [] : await readBatchRows(reader, [hash], mostRows);
  return { teams: reader.teams, batches, missing, rows, singles: [], singleCounts: {} };
}
