import tagsListed from '../../src/model/listed/tags.ts';
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDatabase, type Database, type Transaction } from '../../src/mirror/db/database.ts';
import { compareListing, publishListing, tableOf } from '../../src/mirror/listings/listings.ts';
import { createSpool, type StageShape, withSpool } from '../../src/mirror/db/spool.ts';
import { stage } from '../../src/mirror/db/stage.ts';
import type { RefreshResult } from '../../src/model/absence.ts';
import type { ListedRow } from '../../src/model/listed-resource.ts';
import { servers } from '../support/servers.ts';
import { anyText } from '../model/odd-texts.ts';
import { aside, useDatabase, watchSession } from '../support/use-database.ts';

/** One row more than goes into a statement as JSON. */
const many = 2001;
const run = { teamId: 41n, runId: 1n };

const tag = (id: number | bigint, values: Partial<ListedRow> = {}): ListedRow => ({
  id: BigInt(id),
  teamId: 41n,
  tag: `Tag ${id}`,
  color: null,
  rev: 1n,
  created: null,
  updated: null,
  raw: {},
  ...values,
});
const tags = (count: number, first = 1) => Array.from({ length: count }, (_, index) => tag(first + index));

const text = fc.oneof(
  anyText.map((any) => any.replaceAll('\0', '').toWellFormed()),
  fc.constantFrom('\\N', '\\.', '\\', '\t', '\n', '\r', 'a\\tb', '"', "'", '{}', '\\\\N\n', ''),
);
const optional = fc.option(text, { nil: null });
const hostile: fc.Arbitrary<Partial<ListedRow>> = fc.record({
  tag: optional,
  color: optional,
  created: optional,
  updated: optional,
  rev: fc.option(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), { nil: null }),
  raw: fc.dictionary(
    // After {"\\":1} Node 24's JSON.parse reads the key of {"\r":2} as a backslash: no case for this test.
    text.filter((key) => key !== '\\'),
    fc.oneof(text, fc.constant(2n ** 62n), fc.double({ noNaN: true, noDefaultInfinity: true })),
  ),
});
/** Rows by id: few ids, so that they meet, and far beyond what a number holds. */
const listing = fc
  .dictionary(fc.integer({ min: 0, max: 9 }).map(String), hostile)
  .map((rows) => Object.entries(rows).map(([digit, values]) => tag(2n ** 63n - 1n - BigInt(digit), values)));

describe.each(servers())('staged rows on $name', (server) => {
  const database = useDatabase({ server });
  let db: Database;
  const role = `test_stage_${randomBytes(4).toString('hex')}`;
  const rows = async (on: Transaction | Database['kysely'], query: string) =>
    (await sql.raw<Record<string, unknown>>(query).execute(on)).rows;
  beforeAll(async () => {
    // One session, so that each test meets what the one before it left there.
    db = createDatabase({ url: database.url, applicationName: 'musterd test', maxConnections: 1 });
    const name = new URL(database.url).pathname.slice(1);
    // It may do all that the owner may, but make temporary tables.
    const owner = (await rows(db.kysely, 'select current_user::text as me'))[0]?.['me'] as string;
    await rows(
      db.asTyped,
      `create role ${role}; grant ${owner} to ${role}; revoke temp on database ${name} from public, ${owner}`,
    );
  });
  afterAll(async () => {
    await rows(db.asTyped, `drop role ${role}`);
    await db.close();
  });

  const publish = (tx: Transaction, listed: readonly ListedRow[]) =>
    withSpool(tableOf(tagsListed), listed, (spool) => publishListing(tx, run, spool));
  const asMusterd = (tx: Transaction) => rows(tx, `select set_config('musterd.writing', 'on', true)`);
  /** As musterd writes, in a transaction that leaves nothing behind. */
  const asideHere = <R>(work: (tx: Transaction) => Promise<R>) =>
    aside(db, async (tx) => {
      await asMusterd(tx);
      return await work(tx);
    });
  const isTemporary = async (tx: Transaction) =>
    (
      await rows(
        tx,
        `select count(*)::int as n from pg_locks l join pg_class c on c.oid = l.relation
      where l.pid = pg_backend_pid() and c.relpersistence = 't' and c.relkind = 'r'`,
      )
    )[0]?.['n'] !== 0;

  it.each([1, many])('stages %i rows in columns with reserved or mixed-case names', async (count) => {
    const shape: StageShape<bigint> = {
      name: 'odd',
      columns: [
        ['id', 'bigint'],
        ['order', 'text'],
        ['maxSize', 'bigint'],
      ],
      values: (id) => [id, `first ${id}`, id + 1n],
    };
    const all = Array.from({ length: count }, (_, at) => BigInt(at));
    const found = await asideHere((tx) =>
      withSpool(shape, all, async (spool) => {
        const staged = await stage(tx, spool);
        return (await sql`select s.* from ${staged} order by id limit 1`.execute(tx)).rows;
      }),
    );
    expect(found).toEqual([{ id: 0n, order: 'first 0', maxSize: 1n }]);
  });

  it('publishListing writes the same rows by COPY and, for a role that cannot create temporary tables, as JSON', async () => {
    const fill = tags(many);
    const state = fc.record({ before: listing, gone: listing, missing: listing, listed: listing });
    await fc.assert(
      fc.asyncProperty(state, async ({ before, gone, missing, listed }) => {
        const ids = (of: readonly ListedRow[]) => `'{${of.map(({ id }) => id).join(',')}}'::bigint[]`;
        const outcome = (temporary: boolean) =>
          asideHere(async (tx) => {
            await publish(
              tx,
              [...before, ...gone, tag(7n)].filter(
                ({ id }, at, all) => all.findLastIndex((one) => one.id === id) === at,
              ),
            );
            await rows(tx, `update mirror.tags set gone_at = '2026-01-01Z' where id = any (${ids(gone)})`);
            await rows(
              tx,
              `insert into sync.absences (team_id, resource, id, missing_since)
              select 41, 'tags', m, '2026-01-01Z' from unnest(${ids(missing)}) m`,
            );
            if (!temporary) await rows(tx, `set local role ${role}`);
            const result = await publish(tx, [...fill, ...listed]);
            expect(await isTemporary(tx)).toBe(temporary);
            return {
              result: {
                ...result,
                absent: result.absent.map(({ id, missingForMs }) => [id, missingForMs === undefined]),
              },
              tags: await rows(
                tx,
                `select id, tag, color, rev, created, updated, raw, gone_at is null as present from mirror.tags order by id`,
              ),
              absences: await rows(tx, 'select id from sync.absences order by id'),
            };
          });
        const copied = await outcome(true);
        expect(await outcome(false)).toEqual(copied);
        const stored = new Map(copied.tags.map((row) => [row['id'], row]));
        for (const { id, tag, color, created, updated, rev } of listed)
          expect(stored.get(id)).toMatchObject({ tag, color, created, updated, rev, present: true });
        const shown = new Set([...fill, ...listed].map(({ id }) => id));
        expect(copied.absences.map(({ id }) => id)).toEqual(
          missing
            .map(({ id }) => id)
            .filter((id) => !shown.has(id))
            .toSorted((a, b) => (a < b ? -1 : 1)),
        );
      }),
      { numRuns: 12 },
    );
  });

  it('compareListing counts, and publishListing writes, only the added and changed rows', async () => {
    const listed = tags(many);
    const publishNow = (wanted: readonly ListedRow[]): Promise<RefreshResult> =>
      db.transaction(async (tx) => {
        await asMusterd(tx);
        return publish(tx, wanted);
      });
    const compared = (wanted: readonly ListedRow[]) =>
      withSpool(tableOf(tagsListed), wanted, (spool) => compareListing(db, 41n, spool));
    const writers = () =>
      rows(
        db.kysely,
        `select xmin::text, count(*)::int, bool_or(xmax <> '0') as locked from mirror.tags group by 1 order by 2`,
      );
    const nothing = { added: 0, changed: 0, absent: [] };

    expect(await compared(listed)).toEqual({ ...nothing, added: many, population: 0 });
    expect(await writers()).toEqual([]);
    expect(await publishNow(listed)).toEqual({ ...nothing, added: many, population: 0 });
    const first = await writers();
    expect(first).toMatchObject([{ count: many, locked: false }]);
    // What is kept as it came is no news by itself.
    const same = listed.map((row) => ({ ...row, raw: { seen: row.id } }));
    expect(await publishNow(same)).toEqual({ ...nothing, population: many });
    expect(await writers()).toEqual(first);
    const moved = listed.map((row) => (row.id % 1000n === 0n ? { ...row, tag: null, raw: { n: 1 } } : row));
    const wanted = [...moved.slice(1), tag(9999)];
    const expected = {
      added: 1,
      changed: 2,
      absent: [{ id: 1n, missingForMs: undefined }],
      population: many,
    };
    expect(await compared(wanted)).toEqual(expected);
    expect(await writers()).toEqual(first);
    expect(await publishNow(wanted)).toEqual(expected);
    expect(await writers()).toMatchObject([{ count: 3 }, { count: many - 2 }]);
    expect(await rows(db.kysely, 'select id, raw from mirror.tags where tag is null order by id')).toEqual([
      { id: 1000n, raw: { n: 1 } },
      { id: 2000n, raw: { n: 1 } },
    ]);
    // One that had gone comes back, though nothing of it has changed.
    await db.transaction(async (tx) => {
      await asMusterd(tx);
      await rows(tx, 'update mirror.tags set gone_at = now() where id = 2');
    });
    expect(await publishNow(wanted)).toMatchObject({ added: 0, changed: 1, population: many });
    expect(await rows(db.kysely, 'select id from mirror.tags where gone_at is not null')).toEqual([]);
  });

  it('musterd empties the staging table after each transaction, and creates one staging table for each shape of rows', async () => {
    const shape = (type: 'text' | 'bigint'): StageShape<bigint> => ({
      name: 'numbers',
      columns: [
        ['id', 'bigint'],
        ['value', type],
      ],
      values: (id) => [id, String(id)],
    });
    const sums = async (type: 'text' | 'bigint') =>
      withSpool(
        shape(type),
        tags(many).map(({ id }) => id),
        (spool) =>
          db.transaction(async (tx) => {
            // Once more in the same transaction.
            await stage(tx, spool);
            const staged = await stage(tx, spool);
            const { rows: found } = await sql<{ n: number; kind: string }>`
            select count(*)::int as n, min(pg_typeof(s.value)::text) as kind from ${staged}`.execute(tx);
            return found[0];
          }),
      );
    for (const type of ['text', 'text', 'bigint', 'text'] as const)
      expect(await sums(type)).toEqual({ n: many, kind: type });
    const left = await rows(
      db.asTyped,
      `select pg_relation_size(c.oid)::int as size from pg_class c
      where c.relnamespace = pg_my_temp_schema() and c.relname like 'stage\\_%' and c.relkind = 'r'`,
    );
    expect(left.length).toBeGreaterThan(1);
    expect(new Set(left.map(({ size }) => size))).toEqual(new Set([0]));
  });

  it('a staged value that Postgres refuses fails the transaction, and the session still works', async () => {
    const shape: StageShape<string> = { name: 'odd', columns: [['id', 'bigint']], values: (id) => [id] };
    const spool = createSpool(shape);
    spool.add([...tags(many).map(({ id }) => String(id)), 'not a number']);
    await expect(db.transaction((tx) => stage(tx, spool))).rejects.toMatchObject({ code: '22P02' });
    spool.close();
    expect(await rows(db.kysely, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  it('each step of a plan reads at most four rows for each staged row, whatever the table statistics', async () => {
    const listed = tags(3 * many, 100_000);
    // Analysed when there was another team alone: then this one is believed to be empty.
    await db.transaction(async (tx) => {
      await asMusterd(tx);
      await rows(tx, 'delete from mirror.tags; delete from sync.absences');
      await rows(tx, `insert into mirror.tags (team_id, id) select 42, n from generate_series(1, 3000) n`);
      await rows(
        tx,
        `insert into sync.absences (team_id, resource, id, missing_since) select 42, 'tags', n, now() from generate_series(1, 3000) n`,
      );
    });
    await rows(
      db.asTyped,
      'analyze mirror.tags; analyze sync.absences; alter table mirror.tags set (autovacuum_enabled = off); alter table sync.absences set (autovacuum_enabled = off)',
    );
    const watched = await watchSession(database.url);
    for (const missing of [0, 0, 1])
      await watched.db.transaction(async (tx) => {
        await asMusterd(tx);
        if (missing > 0)
          await rows(
            tx,
            `insert into sync.absences (team_id, resource, id, missing_since)
              select 41, 'tags', id, now() from mirror.tags where team_id = 41`,
          );
        await publish(tx, listed.slice(0, missing === 0 ? undefined : many));
      });
    const seen = watched.take();
    expect(seen.filter(({ text: of }) => of.includes('full join'))).toHaveLength(3);
    const most = Math.max(...seen.flatMap(({ steps }) => steps.map((step) => step.rows)));
    expect(most).toBeGreaterThanOrEqual(listed.length);
    expect(most).toBeLessThan(listed.length * 4);
  });
});
