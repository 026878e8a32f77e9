import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { readCredentials, writeCredentials } from '../../src/mirror/team/credentials.ts';
import { readLearned, writeLearned } from '../../src/mirror/team/learned.ts';
import { createListingMemory, digestRows, learnedOfListing } from '../../src/mirror/listings/listings.ts';
import { readKnownTeam } from '../../src/mirror/team/known-team.ts';
import { writeProbes } from '../../src/mirror/team/probes.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { nothingLearned } from '../../src/model/listing.ts';
import { useDatabase } from '../support/use-database.ts';

describe('stored facts about a team', () => {
  const database = useDatabase();
  beforeAll(() =>
    database.rows(`insert into sync.teams (team, team_id) values ('north', 41), ('south', 42)`),
  );
  afterEach(() => database.rows('truncate sync.learned'));

  const write = (...given: Parameters<typeof writeLearned> extends [unknown, ...infer Rest] ? Rest : never) =>
    database.db.transaction((tx) => writeLearned(tx, ...given));
  const read = async (team: string | bigint, topic: string) =>
    (await readLearned(database.db.kysely, team, topic))?.value;
  const writtenAt = () =>
    database.rows(
      `select topic, extract(epoch from learned_at)::float8 * 1000, xmin from sync.learned order by topic`,
    );

  it('writeLearned stores facts by team and topic, with the team given by name or by id', async () => {
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

  it('writeLearned ignores a team that has no row in sync.teams', async () => {
    await write(43n, [{ topic: 'a', value: 1 }]);
    expect(await writtenAt()).toEqual([]);
  });

  it('writeLearned keeps the time of a fact if an older time is written, and stores the present time by default', async () => {
    await write('north', [{ topic: 'a', value: 1, atMs: 2_000 }]);
    await write('north', [{ topic: 'a', value: 2, atMs: 1_000 }]);
    expect(await writtenAt()).toEqual([['a', 2_000, expect.anything()]]);
    await write('north', [{ topic: 'a', value: 2 }]);
    expect(await read('north', 'a')).toBe(2);
    const { ageMs } = (await readLearned(database.db.kysely, 'north', 'a')) ?? {};
    expect(ageMs).toBeGreaterThanOrEqual(0);
    expect(ageMs).toBeLessThan(3_600_000);
  });
});

describe('facts by topic', () => {
  const database = useDatabase();
  beforeAll(() => database.rows(`insert into sync.teams (team, team_id) values ('north', 41)`));

  it('readCredentials returns the latest acceptance time of each credential of the team', async () => {
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

  it('writeLearned stores limit and cursor of each listing separately', async () => {
    const { db } = database;
    const memory = { firstPage: 1, limit: 50, pages: null, cursor: 'date' } as const;
    await db.transaction((tx) => writeLearned(tx, 41n, [learnedOfListing('tags', memory)]));
    const known = await readKnownTeam(db.kysely, 'north');
    const read = createListingMemory(db.kysely, 41n, known);
    expect([await read('tags'), await read('contact_fields')]).toEqual([memory, nothingLearned]);
  });

  it('createListingMemory drops the stored answers of a listing whose rows have changed, but not of other listings', async () => {
    const { db } = database;
    const names = ['tags', 'contact_fields'];
    const digests = await digestRows(db.kysely, 41n, names);
    const memories = names.map((name) => {
      const agreed = { digests: [], count: 0, setup: '', atMs: 0, rows: digests.get(name) ?? 'none' };
      return learnedOfListing(name, { limit: 1, agreed });
    });
    await db.transaction((tx) => writeLearned(tx, 41n, memories));
    const known = await readKnownTeam(db.kysely, 'north');
    await runSqlText(
      db,
      `begin; set local musterd.writing = 'on'; insert into mirror.tags (team_id, id, tag) values (41, 1, 'a'); commit`,
    );
    const read = createListingMemory(db.kysely, 41n, known);
    expect([await read('tags'), await read('contact_fields')]).toEqual([{ limit: 1 }, memories[1]?.value]);
  });
});
