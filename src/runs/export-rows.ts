/** Hands on all rows of one kind that the mirror has of the team. */
import { type Exported, exportColumns, type ExportRow, readPages } from '../mirror/export-read.ts';
import { requireTeamId } from './named-user.ts';
import type { Setup } from './open.ts';

export { type Exported, exportable } from '../mirror/export-read.ts';

/** What the rows are handed to. */
export interface RowSink {
  /** Called once, before the first page. */
  readonly begin: (columns: readonly string[]) => Promise<void>;
  readonly take: (page: readonly ExportRow[]) => Promise<void>;
}

/** @returns how many rows there were @throws MusterdError `usage` before the first run of the team */
export async function exportRows(
  setup: Setup,
  what: Exported,
  sink: RowSink,
  signal: AbortSignal,
): Promise<number> {
  const teamId = await requireTeamId(setup);
  let count = 0;
  await sink.begin(exportColumns(what));
  await readPages(setup.mirror.db, teamId, what, async (page) => {
    signal.throwIfAborted();
    count += page.length;
    await sink.take(page);
  });
  return count;
}
