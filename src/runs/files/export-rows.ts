/** Passes all rows of one kind, such as the users, of one team to a sink. */
import { exportColumns, type ExportRow, readPages } from '../../mirror/tools/export-read.ts';
import { requireTeamId } from '../named-user.ts';
import type { Setup } from '../open.ts';

export { exportable, isBeforeRecord, isKnownAsOf } from '../../mirror/tools/export-read.ts';

export interface RowSink {
  /** Called once, before the first page. */
  readonly begin: (columns: readonly string[]) => Promise<void>;
  readonly take: (page: readonly ExportRow[]) => Promise<void>;
}

/**
 * @returns the number of rows
 * @throws MusterdError `usage` before the first run of the team
 */
export async function exportRows(
  setup: Setup,
  what: string,
  sink: RowSink,
  signal: AbortSignal,
  asOf?: string,
): Promise<number> {
  const teamId = await requireTeamId(setup);
  let count = 0;
  await sink.begin(exportColumns(what));
  const take = async (page: readonly ExportRow[]) => {
    signal.throwIfAborted();
    count += page.length;
    await sink.take(page);
  };
  await readPages(setup.mirror.db, teamId, what, take, asOf);
  return count;
}
