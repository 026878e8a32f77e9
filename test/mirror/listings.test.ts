import tagsListed from '../../src/model/listed/tags.ts';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { publishListing, tableOf } from '../../src/mirror/listings/listings.ts';
import { createSpool } from '../../src/mirror/db/spool.ts';
import type { ListedRow } from '../../src/model/listed-resource.ts';
import { eventually } from '../support/eventually.ts';
import { useDatabase } from '../support/use-database.ts';

describe('publishListing', () => {
  const database = useDatabase();

  const tag = (id: number): ListedRow => ({
    id: BigInt(id),
    tag: `Tag ${id}`,
    color: null,
    rev: null,
    created: null,
    updated: null,
    raw: {},
  });
  const run = { teamId: 41n, runId: 1n };
  it('fails if another transaction inserts a row of the listing first, and updates this row at the next call', async () => {
    const spool = createSpool(tableOf(tagsListed));
    spool.add([tag(7), tag(8)]);
    const publish = () => database.write((tx) => publishListing(tx, run, spool));
    let published: Promise<unknown> | undefined;
    // Only the owner can: the insert of anybody else is refused.
    await database.write(async (tx) => {
      await sql`insert into mirror.tags (team_id, id, tag) values (41, 8, 'Mine')`.execute(tx);
      published = publish().catch((error: unknown) => error);
      await eventually('the listing waits', async () => {
        const { rows } = await sql`select from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`.execute(database.db.kysely);
        return rows.length > 0;
      });
    });
    expect(await published).toMatchObject({ code: '23505' });
    const tags = () =>
      sql`select id, tag from mirror.tags where team_id = 41 and id > 4 order by id`.execute(
        database.db.kysely,
      );
    expect((await tags()).rows).toEqual([{ id: 8n, tag: 'Mine' }]);
    await publish();
    spool.close();
    expect((await tags()).rows).toEqual([
      { id: 7n, tag: 'Tag 7' },
      { id: 8n, tag: 'Tag 8' },
    ]);
  });
});
