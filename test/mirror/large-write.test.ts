import { nothingLearned } from '../../src/model/listing.ts';
import listed from '../../src/model/listed/tags.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { takeLease } from '../../src/mirror/team/lease.ts';
import { createMirror } from '../../src/mirror/mirror.ts';
import type { ServiceUser } from '../../src/model/user.ts';
import { readDifferingUsers } from '../support/differing-users.ts';
import { beginRun, useDatabase } from '../support/use-database.ts';

/** D8: one more row than a statement of Postgres can have parameters. */
const many = 65_536;
const numbers = Array.from({ length: many }, (_, index) => index + 1);

describe('more rows than a statement has parameters', () => {
  const database = useDatabase();
  const { rows: sql } = database;
  let mirror: ReturnType<typeof createMirror>;
  let release: () => Promise<void>;
  beforeAll(async () => {
    const lease = await takeLease(database.db, 'large', { ttlMs: 60_000 });
    release = () => lease.release();
    mirror = createMirror(database.db, lease, 41n, await beginRun(database, 'large', null));
  });
  afterAll(() => release());

  it('applyListing publishes 65,536 tags in one transaction (D8)', async () => {
    const tags = numbers.map((number) => ({
      id: BigInt(number),
      teamId: 41n,
      tag: `tag ${number}`,
      color: '#808080',
      rev: 1n,
      created: null,
      updated: null,
      raw: {},
    }));
    const publish = async (rows: typeof tags) => {
      const gathered = mirror.gatherListing(listed);
      gathered.add(rows);
      const about = { rejected: [], memory: nothingLearned, answers: null };
      return await mirror.applyListing(gathered, about).finally(() => gathered.close());
    };
    expect(await publish(tags)).toMatchObject({ added: many, changed: 0, absent: [], population: 0 });
    expect(
      await sql('select count(*), count(distinct xmin::text) as writers, max(id) from mirror.tags'),
    ).toEqual([[BigInt(many), 1n, BigInt(many)]]);
    expect(await publish(tags)).toMatchObject({ added: 0, changed: 0, absent: [] });
    expect(await publish(tags.slice(1))).toMatchObject({ absent: [{ id: 1n }] });
  });

  it('readDifferingUsers compares 65,536 users, and readAddresses accepts 65,536 ids (D8)', async () => {
    const users = numbers.map(
      (number): ServiceUser => ({
        id: BigInt(number),
        name: `Given${number} Family`,
        email: `user${number}@example.com`,
        phone: null,
        roleId: 2n,
        raw: {},
      }),
    );
    expect(await readDifferingUsers(database.db, 41n, users)).toHaveLength(many);
    const ids = users.map(({ id }) => id);
    expect((await mirror.readAddresses(ids)).ofUsers).toEqual([]);
  });
});
