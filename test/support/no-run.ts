import type { Database } from '../../src/mirror/db/database.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { readFreshEdits } from '../../src/mirror/users/fresh-edits.ts';
import { eventually } from './eventually.ts';

/** Until a daemon has seen to all edits and decisions: a decision waits for a run, and on a page not for long. */
export const noRun = (db: Database) =>
  eventually('no run is under way, and none is to come', async () => {
    const [edits] = await readFreshEdits(db.kysely, ['default']);
    return edits?.isFresh === false && (await runSqlText(db, 'select from sync.leases')).rows.length === 0;
  });
