/** How many rows each view of the page reads: what takes long with 100,000 users is seen with 2,000. */
import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { pageViews } from '../../src/page/serve/page-views.ts';
import { readPageFrame } from '../../src/page/read/page-reader.ts';
import { fillMirror, largeTeam } from '../support/large-mirror.ts';
import { useDatabase } from '../support/use-database.ts';

const users = 6_000;
const changes = 12_000;
const database = useDatabase();
beforeAll(async () => {
  await fillMirror(database.db, [{ ...largeTeam, users, changes, tags: 1_000, days: 20 }]);
});

/** Rows of a table that a view reads, by a scan of all of it or by an index. */
async function rowsRead(table: string, path: string, search = ''): Promise<number> {
  const one = pageViews.find((each) => each.path === path);
  const asked = {
    params: { team: 'default', id: '9', batch: 'none' },
    query: new URLSearchParams(search),
    details: true,
    isCsv: false,
  };
  return await readPageFrame(database.db, null, async ({ reader }) => {
    const count = async () => {
      const { rows } = await sql<{ rows: number }>`
        select (seq_tup_read + coalesce(idx_tup_fetch, 0))::int as rows from pg_stat_xact_user_tables
        where relid = ${table}::regclass`.execute(reader.db);
      return rows[0]?.rows ?? 0;
    };
    const before = await count();
    await one?.read(reader, asked);
    return (await count()) - before;
  });
}

describe.each(['without statistics', 'with statistics'])('views of a big mirror in Postgres %s', (which) => {
  beforeAll(async () => {
    if (which === 'with statistics') await database.rows('vacuum analyze');
  });
  // Before the first vacuum whoever counts the users looks at each.
  const counted = which === 'with statistics' ? 0 : users;
  const ledger = which === 'with statistics' ? 1_500 : 3.1 * changes;

  it('the overview reads less than a tenth of the rows of users, in addition to one count of all users', async () => {
    expect(await rowsRead('mirror.users', '/')).toBeLessThan(counted + users / 10);
  });

  it.each(['', 'sort=-changed', 'state=waits', 'q=reed59', 'role_id=2'])(
    'the list /people?%s reads at most 4.1 rows per user',
    async (search) => {
      expect(await rowsRead('mirror.users', '/people', search)).toBeLessThan(users * 4.1);
    },
  );

  it('the page of a user and the search for an id read fewer than 100 users', async () => {
    expect(await rowsRead('mirror.users', '/people/:team/:id')).toBeLessThan(100);
    expect(await rowsRead('mirror.users', '/changes', 'q=9')).toBeLessThan(100);
    expect(await rowsRead('sync.changes', '/people/:team/:id')).toBeLessThan(ledger);
  });

  it('the list of changes stops reading the ledger once a page is full', async () => {
    expect(await rowsRead('sync.changes', '/changes')).toBeLessThan(ledger);
    expect(await rowsRead('sync.changes', '/changes', 'direction=held')).toBeLessThan(3.1 * changes);
  });

  it('the view of counts reads fewer than 3,000 rows for a year', async () => {
    expect(await rowsRead('mirror.contact_counts', '/counts', 'days=365')).toBeLessThan(20 * 96 + 1_000);
  });
});
