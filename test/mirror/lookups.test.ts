import { describe, expect, it } from 'vitest';
import { oldestServer } from '../support/servers.ts';
import { useDatabase } from '../support/use-database.ts';

const most = 200_000;

describe.each([oldestServer()])('mirror.user_lookups on $name', (server) => {
  const database = useDatabase({ server });
  const { rows: run } = database;

  it('accepts at most 200,000 addresses of a team, and rejects one more', async () => {
    const insert = (team: number, count: number) =>
      run(
        `insert into mirror.user_lookups (team_id, email) select ${team}, n::text from generate_series(1, ${count}) n`,
      );
    await insert(42, 5);
    await insert(41, most);
    await expect(insert(41, 1)).rejects.toMatchObject({
      code: '54000',
      message: 'Team 41 would have more than 200,000 addresses in mirror.user_lookups',
      hint: 'Use mirror.forget_lookups() to remove addresses that nobody needs.',
    });
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
