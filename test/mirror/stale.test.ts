import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { isOlder, noteStale } from '../../src/mirror/team/stale.ts';
import { readKnownTeam } from '../../src/mirror/team/known-team.ts';
import { readDifferingUsers } from '../support/differing-users.ts';
import type { ServiceUser } from '../../src/model/user.ts';
import { useDatabase } from '../support/use-database.ts';

const teamId = 41n;
const database = useDatabase();
beforeAll(() =>
  database.db.transaction(async (tx) => {
    await sql`select set_config('musterd.writing', 'on', true)`.execute(tx);
    await sql`insert into sync.teams (team, team_id) values ('north', ${teamId})`.execute(tx);
    await sql`insert into mirror.users (team_id, id, name, first_name, email, resolved, updated_at, user_updated_at)
      values (${teamId}, 1, 'Anne', 'Anne', 'anne@example.com', true, '2026-03-02', '2026-03-02')`.execute(
      tx,
    );
    await sql`insert into sync.user_base (team_id, id, name, first_name, last_name, email)
      values (${teamId}, 1, 'Anne', 'Anne', '', 'anne@example.com')`.execute(tx);
  }),
);

/** How two times stand to each other, the shown one first; `null` where one of them is not known. */
type Order = '<' | '=' | '>' | null;
const times: readonly (readonly [string | null, string | null, Order])[] = [
  ['2026-03-01', '2026-03-02', '<'],
  ['2026-03-02', '2026-03-02', '='],
  ['2026-03-03', '2026-03-02', '>'],
  [null, '2026-03-02', null],
  ['2026-03-01', null, null],
  [null, null, null],
];
const cases = times.flatMap((one) => times.map((other) => ({ one, other })));

describe('isOlder', () => {
  it.each(cases)(
    'returns true if one of two times is earlier and the other time is not later: $one.2, $other.2 (A27)',
    async ({ one, other }) => {
      const { rows } = await sql<{ older: boolean }>`
      select ${isOlder(sql`u`)} as older
      from (select ${one[0]}::timestamptz as updated_at, ${other[0]}::timestamptz as user_updated_at) s,
        (select ${one[1]}::timestamptz as updated_at, ${other[1]}::timestamptz as user_updated_at) u`.execute(
        database.db.kysely,
      );
      const orders = [one[2], other[2]];
      expect(rows).toEqual([{ older: orders.includes('<') && !orders.includes('>') }]);
    },
  );
});

describe('the state of a user', () => {
  const read = async (given: Partial<ServiceUser>) => {
    const user = { id: 1n, name: 'Anne', email: 'anne@example.com', phone: null, roleId: null, raw: {} };
    const [state] = await readDifferingUsers(database.db, teamId, [{ ...user, ...given }]);
    return state?.stale;
  };
  const [before, same, after] = ['2026-03-01T00:00:00Z', '2026-03-02T00:00:00Z', '2026-03-03T00:00:00Z'];

  it.each([
    ['an older version of other values', true, before, same, 'eva@example.com'],
    ['an older user version of other values', true, same, before, 'eva@example.com'],
    ['an older version of the same values', false, before, same, 'anne@example.com'],
    ['the same version of other values', false, same, same, 'eva@example.com'],
    ['one version older and one newer', false, before, after, 'eva@example.com'],
  ])(
    'the state is stale for an older version of other values: for %s, stale = %s',
    async (_, stale, updatedAt, userUpdatedAt, email) => {
      expect(await read({ updatedAt, userUpdatedAt, email })).toBe(stale);
    },
  );

  it('an older version of the same values makes the state stale while a field is held (N25)', async () => {
    await database.rows(
      `insert into sync.held_fields (team_id, user_id, field, reason) values (41, 1, 'email', 'conflict')`,
    );
    expect(await read({ updatedAt: before })).toBe(true);
    await database.rows('delete from sync.held_fields');
  });

  it('the state is not stale in the third run that reads an older version, half an hour after the first run (A27)', async () => {
    const older = { updatedAt: before, userUpdatedAt: before, email: 'eva@example.com' };
    const note = () => database.db.transaction((tx) => noteStale(tx, teamId, [1n]));
    const age = (minutes: number) =>
      sql`update sync.user_base set older_since = now() - ${minutes} * interval '1 minute'`.execute(
        database.db.kysely,
      );
    const isKnown = async () => (await readKnownTeam(database.db.kysely, 'north')).hasStale;
    expect(await isKnown()).toBe(false);
    await note();
    expect(await isKnown()).toBe(true);
    await age(31);
    expect(await read(older)).toBe(true);
    await note();
    await age(29);
    expect(await read(older)).toBe(true);
    await age(31);
    expect(await read(older)).toBe(false);
  });

  it('the state has stale = false for an older version if the user has no agreed values', async () => {
    await sql`delete from sync.user_base`.execute(database.db.kysely);
    expect(await read({ updatedAt: before, userUpdatedAt: before, email: 'eva@example.com' })).toBe(false);
  });
});
