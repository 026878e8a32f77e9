import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createDatabase, type Database } from '../../src/mirror/db/database.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { addLookups } from '../../src/mirror/users/addresses.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { servers } from '../support/servers.ts';
import { rowsLookedAt, watchStatements } from '../support/watched-statements.ts';

const most = 200_000;

describe.each(servers())('addresses to look users up by, on $name:', (server) => {
  let database: TestDatabase;
  const run = async (text: string) => (await runSqlText(database.db, text)).rows;
  const email = (name: string | number) => ({ email: `${name}@example.com`, phone: null });
  const kept = () => run('select team_id, email, phone from mirror.user_lookups order by 1, 2, 3');
  beforeAll(async () => {
    database = await createTestDatabase({ server });
  });
  beforeEach(() => run('truncate mirror.user_lookups'));
  afterAll(() => database.close());

  it('what is known of this team is added once, whatever others have', async () => {
    const add = (team: bigint, ...lookups: Parameters<typeof addLookups>[2]) =>
      addLookups(database.db, team, lookups);
    const phone = { email: null, phone: '15550100' };
    expect(await add(42n, email('a'))).toBe(1);
    expect(await add(41n, email('a'), phone, email('a'), { ...email('a'), phone: '15550100' })).toBe(3);
    expect(await add(41n, email('a'), phone, email('b'))).toBe(1);
    expect(await kept()).toEqual([
      [41n, 'a@example.com', '15550100'],
      [41n, 'a@example.com', null],
      [41n, 'b@example.com', null],
      [41n, null, '15550100'],
      [42n, 'a@example.com', null],
    ]);
  });

  it('no new one is compared with all that are known', async () => {
    const many = (name: string) => Array.from({ length: 1000 }, (_, n) => email(`${name}${n}`));
    await addLookups(database.db, 41n, many('known'));
    const watch = await watchStatements(database.url);
    const watched: Database = createDatabase({ url: watch.url, applicationName: 'musterd test' });
    onTestFinished(async () => {
      await watched.close();
      await watch.close();
    });
    expect(await addLookups(watched, 41n, many('new'))).toBe(1000);
    expect(rowsLookedAt(watch.take(), 'insert into mirror.user_lookups')).toBeLessThan(20 * 1000);
  });

  it('a team has a bounded number of them, and an error says so', async () => {
    const insert = (team: number, count: number) =>
      run(
        `insert into mirror.user_lookups (team_id, email) select ${team}, n::text from generate_series(1, ${count}) n`,
      );
    await insert(42, 5);
    await insert(41, most);
    const more = addLookups(database.db, 41n, [email('more')]);
    await expect(more).rejects.toMatchObject({
      code: 'usage',
      message: 'Team 41 has at most 200,000 addresses in mirror.user_lookups',
      hint: 'mirror.forget_lookups() removes those that are no longer needed.',
    });
    await expect(insert(41, 1)).rejects.toMatchObject({ code: '54000' });
    await insert(42, 5);
    expect(await run(`select mirror.forget_lookups(41, array['7'])`)).toEqual([[1n]]);
    await insert(41, 1);
    expect(await run('select team_id, count(*)::int from mirror.user_lookups group by 1 order by 1')).toEqual(
      [
        [41n, most],
        [42n, 10],
      ],
    );
  });
});
