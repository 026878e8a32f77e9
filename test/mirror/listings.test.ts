import tagsListed from '../../src/model/listed/tags.ts';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { compareListing, publishListing, tableOf } from '../../src/mirror/listings/listings.ts';
import { createSpool } from '../../src/mirror/db/spool.ts';
import type { ListedRow } from '../../src/model/listed-resource.ts';
import { eventually } from '../support/eventually.ts';
import { useDatabase } from '../support/use-database.ts';

/** What is said of the rows that were there before a listing is published. */
describe('the population of a listing', () => {
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
  const both = async (rows: readonly ListedRow[]) => {
    const spool = createSpool(tableOf(tagsListed));
    spool.add(rows);
    const compared = await compareListing(database.db, run.teamId, spool);
    const published = await database.db.transaction(async (tx) => {
      await sql`select set_config('musterd.writing', 'on', true)`.execute(tx);
      return publishListing(tx, run, spool);
    });
    spool.close();
    expect(published).toEqual(compared);
    return [published.population, published.absent.map(({ id }) => id)];
  };

  it('counts the rows of a listing right whether rows are absent or not', async () => {
    const three = [1, 2, 3].map(tag);
    expect(await both(three)).toEqual([0, []]);
    expect(await both(three)).toEqual([3, []]);
    expect(await both([...three, tag(4)])).toEqual([3, []]);
    expect(await both(three)).toEqual([4, [4n]]);
    expect(await both([])).toEqual([4, [1n, 2n, 3n, 4n]]);
  });

  it('publishing fails if another transaction adds one of its rows, and takes the row the next time', async () => {
    const spool = createSpool(tableOf(tagsListed));
    spool.add([tag(7), tag(8)]);
    const publish = () =>
      database.db.transaction(async (tx) => {
        await sql`select set_config('musterd.writing', 'on', true)`.execute(tx);
        return await publishListing(tx, run, spool);
      });
    let published: Promise<unknown> | undefined;
    // Only the owner can: the insert of anybody else is refused.
    await database.db.transaction(async (tx) => {
      await sql`select set_config('musterd.writing', 'on', true)`.execute(tx);
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
