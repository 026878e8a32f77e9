import { copyFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { readCredentials, writeCredentials } from '../../src/mirror/credentials.ts';
import { readLearned, writeLearned } from '../../src/mirror/learned.ts';
import { learnedOfListing, readListingMemory } from '../../src/mirror/listings.ts';
import { migrate } from '../../src/mirror/migrations.ts';
import { writeProbes } from '../../src/mirror/probes.ts';
import { learnedOfRate, readLesson } from '../../src/mirror/rate-limits.ts';
import { runSqlText } from '../../src/mirror/sql-text.ts';
import { nothingLearned } from '../../src/model/listing.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

describe('what was learned of a deployment', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
    await runSqlText(
      database.db,
      `insert into sync.teams (team, team_id) values ('north', 41), ('south', 42)`,
    );
  });
  afterEach(() => runSqlText(database.db, 'truncate sync.learned'));
  afterAll(() => database.close());

  const write = (...given: Parameters<typeof writeLearned> extends [unknown, ...infer Rest] ? Rest : never) =>
    database.db.transaction((tx) => writeLearned(tx, ...given));
  const read = async (team: string | bigint, topic: string) =>
    (await readLearned(database.db.kysely, team, topic))?.value;
  const writtenAt = async () =>
    (
      await runSqlText(
        database.db,
        `select topic, extract(epoch from learned_at)::float8 * 1000, xmin from sync.learned order by topic`,
      )
    ).rows;

  it('is kept by team and topic, whichever way the team is named', async () => {
    await write('north', [
      { topic: 'a', value: { of: 'north', id: 2n ** 62n } },
      { topic: 'b', value: false },
    ]);
    await write(42n, [{ topic: 'a', value: 'of the south' }]);
    expect(await read(41n, 'a')).toEqual({ of: 'north', id: 2n ** 62n });
    expect(await read('north', 'b')).toBe(false);
    expect([await read('south', 'a'), await read(42n, 'a')]).toEqual(['of the south', 'of the south']);
    expect([await read('south', 'b'), await read('west', 'a'), await read(43n, 'a')]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('keeps its hashes until there are others', async () => {
    const hashes = async () =>
      (await runSqlText(database.db, 'select topic, hashes from sync.learned order by 1')).rows;
    await write(41n, [
      { topic: 'a', value: 1 },
      { topic: 'b', value: 1, hashes: Buffer.from('one') },
    ]);
    await write(41n, [{ topic: 'b', value: 2 }]);
    expect(await hashes()).toEqual([
      ['a', null],
      ['b', Buffer.from('one')],
    ]);
    await write(41n, [{ topic: 'b', value: 3, hashes: Buffer.from('two') }]);
    expect((await hashes())[1]).toEqual(['b', Buffer.from('two')]);
  });

  it('is nothing of a team that no run has met', async () => {
    await write(43n, [{ topic: 'a', value: 1 }]);
    expect(await writtenAt()).toEqual([]);
  });

  it('takes the place of what was known, and its time never goes back', async () => {
    await write('north', [{ topic: 'a', value: 1, atMs: 2_000 }]);
    await write('north', [{ topic: 'a', value: 2, atMs: 1_000 }]);
    expect(await writtenAt()).toEqual([['a', 2_000, expect.anything()]]);
    await write('north', [{ topic: 'a', value: 2 }]);
    expect(await read('north', 'a')).toBe(2);
    const { ageMs } = (await readLearned(database.db.kysely, 'north', 'a')) ?? {};
    expect(ageMs).toBeGreaterThanOrEqual(0);
    expect(ageMs).toBeLessThan(3_600_000);
  });

  it('is written again only if it is news, where that is asked for', async () => {
    const known = { first: 1, second: [null, 450.5] };
    await write('north', [{ topic: 'a', value: known }], true);
    await write('north', [{ topic: 'b', value: 'other' }], true);
    await write('south', [{ topic: 'a', value: 'other' }], true);
    const before = await writtenAt();
    await write('north', [{ topic: 'a', value: { second: [null, 450.5], first: 1 } }], true);
    expect(await writtenAt()).toEqual(before);
    await write('north', [{ topic: 'a', value: 'other' }], true);
    expect(await read('north', 'a')).toBe('other');
    expect(await writtenAt()).not.toEqual(before);
  });
});

describe('of what was learned', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
    await runSqlText(database.db, `insert into sync.teams (team, team_id) values ('north', 41)`);
  });
  afterAll(() => database.close());
  const grow = (hours: number) =>
    runSqlText(database.db, `update sync.learned set learned_at = learned_at - interval '${hours} h'`);

  it('credentials are known by when they were last accepted, and by nothing else', async () => {
    const { db } = database;
    await writeProbes(db, 'north', [{ probe: 'users/get without a filter', answer: 'all' }]);
    await writeCredentials(db, 'north', []);
    await writeCredentials(db, 'north', [
      { fingerprint: 'aaaa', acceptedAtMs: 1_000 },
      { fingerprint: 'bbbb', acceptedAtMs: 5_000 },
    ]);
    await writeCredentials(db, 'south', [{ fingerprint: 'cccc', acceptedAtMs: 1_000 }]);
    await writeCredentials(db, 'north', [
      { fingerprint: 'aaaa', acceptedAtMs: 2_000 },
      { fingerprint: 'bbbb', acceptedAtMs: 4_000 },
    ]);
    expect(await readCredentials(db, 'north')).toEqual(
      new Map([
        ['aaaa', new Date(2_000)],
        ['bbbb', new Date(5_000)],
      ]),
    );
  });

  it('the pace that the service stands counts for a day', async () => {
    const { db } = database;
    await db.transaction((tx) =>
      writeLearned(tx, 'north', [learnedOfRate({ burst: 4, perMinute: 450.5 })], true),
    );
    await grow(23);
    expect(await readLesson(db, 'north')).toEqual({ burst: 4, perMinute: 450.5 });
    await db.transaction((tx) =>
      writeLearned(tx, 'north', [learnedOfRate({ burst: 4, perMinute: 450.5 })], true),
    );
    await grow(1);
    expect(await readLesson(db, 'north')).toBeUndefined();
    expect(await readLesson(db, 'south')).toBeUndefined();
  });

  it('how a listing is read is kept for each of them', async () => {
    const { db } = database;
    const memory = { firstPage: 1, limit: 50, pages: null, cursor: 'date' } as const;
    const write = () =>
      db.transaction((tx) => writeLearned(tx, 41n, [learnedOfListing('tags', memory)], true));
    const versions = () => runSqlText(db, 'select topic, xmin from sync.learned order by topic');
    await write();
    const before = await versions();
    await write();
    expect(await versions()).toEqual(before);
    expect(await readListingMemory(db.kysely, 41n, 'tags')).toEqual(memory);
    expect(await readListingMemory(db.kysely, 41n, 'contact_fields')).toEqual(nothingLearned);
    expect(await readListingMemory(db.kysely, 42n, 'tags')).toEqual(nothingLearned);
  });
});

describe('an upgrade', () => {
  let database: TestDatabase;
  let folder: string;
  beforeAll(async () => {
    database = await createTestDatabase({ empty: true });
    folder = mkdtempSync(join(tmpdir(), 'musterd-migrations-'));
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await database.close();
  });

  it('keeps all that was learned in the tables of earlier versions', async () => {
    const sql = async (text: string) => (await runSqlText(database.db, text)).rows;
    const all = readdirSync('migrations').filter((name) => name.endsWith('.sql'));
    const take = (names: readonly string[]) => {
      for (const name of names) copyFileSync(join('migrations', name), join(folder, name));
    };
    take(all.filter((name) => name < '0021'));
    await migrate(database.db, { folder });
    await sql(`
      insert into sync.teams (team, team_id) values ('north', 41), ('south', 42);
      insert into sync.probes values ('north', 'an email alone keeps the name', '{"keeps_name": false, "suspect": 7}', 'epoch'),
        ('south', 'users/get without a filter', '{"answer": "all"}', 'epoch');
      insert into sync.credentials values ('north', '0123456789abcdef', '2026-01-02Z'), ('south', '0123456789abcdef', '2026-01-03Z');
      insert into sync.listings values (41, 'tags', 1, 50, 3, 'page', '2026-01-04Z'),
        (42, 'contact_fields', null, null, null, 'date', '2026-01-05Z'), (43, 'tags', 1, 50, 3, 'page', now());
      insert into sync.scopes values (41, 'users', '0a1b2c3d4e5f', '2026-01-07Z'), (42, 'tags', 'f5e4d3c2b1a0', '2026-01-08Z');
      insert into sync.rate_limits values ('north', 'epoch', 4, 450.5, '2026-01-06Z'), ('south', 'epoch', null, null, null)`);
    await sql('create role test_learned_daemon');
    try {
      await sql('grant select, insert, update, delete on sync.probes to test_learned_daemon');
      take(all.filter((name) => name < '0070'));
      expect((await migrate(database.db, { folder })).applied).toContain('0021_learned');
      // Of what an earlier version took for at rest nothing is left.
      await sql(
        `insert into sync.learned (team, topic, value, rows) values ('north', 'users at rest', '{}', '')`,
      );
      take(all);
      await migrate(database.db, { folder });
      const learned = await sql(
        `select team, topic, value, to_char(learned_at at time zone 'UTC', 'YYYY-MM-DD') from sync.learned order by 1, 2`,
      );
      expect(learned).toEqual([
        ['north', 'an email alone keeps the name', { keeps_name: false, suspect: 7 }, '1970-01-01'],
        ['north', 'credential 0123456789abcdef', true, '2026-01-02'],
        ['north', 'listing tags', { firstPage: 1, limit: 50, pages: 3, cursor: 'page' }, '2026-01-04'],
        ['north', 'rate', { burst: 4, perMinute: 450.5 }, '2026-01-06'],
        ['north', 'scope users', '0a1b2c3d4e5f', '2026-01-07'],
        ['south', 'credential 0123456789abcdef', true, '2026-01-03'],
        [
          'south',
          'listing contact_fields',
          { firstPage: null, limit: null, pages: null, cursor: 'date' },
          '2026-01-05',
        ],
        ['south', 'scope tags', 'f5e4d3c2b1a0', '2026-01-08'],
        ['south', 'users/get without a filter', { answer: 'all' }, '1970-01-01'],
      ]);
      expect(await sql('select team, next_at from sync.rate_limits order by team')).toEqual([
        ['north', new Date(0)],
        ['south', new Date(0)],
      ]);
      expect(
        await sql(`select has_table_privilege('test_learned_daemon', 'sync.learned', p) as daemon, has_table_privilege('musterd_reader', 'sync.learned', p) as reader
          from unnest('{select,insert,update,delete}'::text[]) p`),
      ).toEqual(Array.from({ length: 4 }, () => [true, false]));
    } finally {
      await sql('drop owned by test_learned_daemon; drop role test_learned_daemon');
    }
  });
});
