import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTeams, type Team } from './people.ts';

const teams = createTeams();
afterAll(() => teams.close());

const cookbook = readFileSync('docs/sql-cookbook.md', 'utf8');
const recipe = (title: string) =>
  new RegExp(`### ${title}\\n[^#]*?\`{3}sql\\n([^\`]*)\`{3}`).exec(cookbook)?.[1] ?? '';

/**
 * A history that is known: Bob edits three users; one edit arrives, two meet a change on the service, of which Carol gives
 * one to the service and one to the mirror. Then the service gives somebody another role. All times are set afterwards.
 */
describe('the history of three edits, two holds and two decisions', () => {
  let team: Team;
  let ids: readonly [number, number, number, number];
  const day = (n: number, time: string) => `(current_date - ${n} + time '${time}')`;
  const dayOf = async (n: number) =>
    (await team.sql(`select (date_trunc('week', current_date - ${n}))::date`))[0]?.[0];
  beforeAll(async () => {
    team = await teams.open({ push: { approve: 'guarded' } });
    const [a = 0, b = 0, c = 0, d = 0] = team.ids;
    ids = [a, b, c, d];
    await team.bob.edit(a, `phone = '15550101'`);
    await team.run();
    for (const id of [b, c]) {
      await team.bob.edit(id, `email = 'bob${id}@example.com'`);
      team.emulator.team.editUser(id, { email: `web${id}@example.com` });
    }
    await team.run();
    for (const [id, take] of [
      [b, 'service'],
      [c, 'mirror'],
    ])
      await team.carol.sql(
        `select from sync.resolve(team_id => 41, user_id => ${id}, field => 'email', take => '${take}', reason => 'asked them')`,
      );
    await team.run();
    team.emulator.team.editUser(d, { roleId: 1042 });
    await team.run();
    await team.sql(`
      update sync.edits set edited_at = case user_id when ${a} then ${day(10, '8:00')} when ${b} then ${day(10, '9:00')} else ${day(10, '9:30')} end;
      update sync.changes set closed_at = case user_id when ${a} then ${day(10, '8:00:10')} else ${day(10, '12:00:30')} end where kind = 'push';
      update sync.changes set opened_at = ${day(10, '10:00')} where kind = 'hold';
      update sync.changes set opened_at = case user_id when ${b} then ${day(10, '11:00')} else ${day(10, '12:00')} end where kind = 'resolve';
      update sync.user_periods set valid_from = ${day(20, '0:00')} where valid_from = (select min(p.valid_from) from sync.user_periods p);
      update sync.user_periods set valid_to = ${day(10, '13:00')} where user_id = ${d} and valid_to < 'infinity';
      update sync.user_periods set valid_from = ${day(10, '13:00')} where user_id = ${d} and valid_to = 'infinity'`);
  });
  afterAll(() => team.close());

  it('report.changes and the recipe "Who changed what" return the same editor and decider of each change', async () => {
    const [a, b, c] = ids;
    const rows = await team.sql(
      `select q.user_id, q.kind, q.old_text, q.new_text, q.edited_by, q.decided_by, q.outcome from report.changes q
       where q.user_id in (${a}, ${b}, ${c}) and q.kind <> 'adopt' order by q.change_id`,
    );
    const [bob, carol] = [team.bob.role, team.carol.role];
    const [wasB, wasC] = await Promise.all([b, c].map(async (id) => `web${id}@example.com`));
    expect(rows).toEqual([
      [String(a), 'push', expect.any(String), '15550101', bob, '', 'confirmed'],
      [String(b), 'hold', expect.any(String), `bob${b}@example.com`, bob, '', 'conflict'],
      [String(c), 'hold', expect.any(String), `bob${c}@example.com`, bob, '', 'conflict'],
      [String(b), 'discard', `bob${b}@example.com`, wasB, bob, carol, 'withdrawn'],
      [String(c), 'resolve', wasC, `bob${c}@example.com`, bob, carol, ''],
      [String(c), 'push', wasC, `bob${c}@example.com`, bob, carol, 'confirmed'],
    ]);
    const numbers = await team.sql(
      `select concat_ws(' ', count(distinct decision_id), 'of', count(decision_id)) from report.changes where user_id = ${c} and kind in ('push', 'resolve')`,
    );
    expect(numbers).toEqual([['1 of 2']]);
    const told = await team.sql(recipe('Who changed what, as a table for people'));
    expect(told.map((row) => row.slice(5, 7))).toEqual(rows.map((row) => row.slice(4, 6)).toReversed());
  });

  it('the recipe "From edit to arrival" returns how long the two pushed edits took', async () => {
    expect(await team.sql(recipe('From edit to arrival'))).toEqual([
      [
        await dayOf(10),
        team.bob.role,
        '2',
        '{"hours":1,"minutes":15,"seconds":20}',
        '{"hours":2,"minutes":30,"seconds":30}',
      ],
    ]);
  });

  it('the recipe "From hold to decision" returns the duration of each decision and the side that it chose', async () => {
    expect(await team.sql(recipe('From hold to decision'))).toEqual([
      [team.carol.role, 'mirror', '1', '{"hours":2}', '{"hours":2}'],
      [team.carol.role, 'service', '1', '{"hours":1}', '{"hours":1}'],
    ]);
  });

  it('the recipe "Why edits were held" counts past holds by reason, although no field is held any more', async () => {
    expect(await team.held()).toEqual([]);
    const rows = await team.sql(recipe('Why edits were held'));
    expect(rows.map((row) => row.slice(1))).toEqual([['conflict', '2', '2']]);
  });

  it('the recipe "Users by role over time" returns the number of users of each role in each week', async () => {
    const rows = await team.sql(recipe('Users by role over time'));
    const all = rows.reduce((sum, [, , users]) => sum + Number(users), 0);
    expect(all).toBe(3 * 30);
    const [[was] = []] = await team.sql(
      `select role from report.roster_as_of(current_date - 14) where user_id = ${ids[3]}`,
    );
    const of = (role: string | undefined) =>
      rows.filter((row) => row[1] === role).map((row) => Number(row[2]));
    const [then = 0] = of(was);
    expect(of(was)).toEqual([then, then - 1, then - 1]);
  });

  it('musterd records a hold with its editor and batch if the service refuses an edit', async () => {
    const id = team.ids[4] ?? 0;
    await team.bob.edit(id, `phone = '99'`);
    await team.run();
    const rows = await team.sql(
      `select kind, outcome, new_text, edited_by, batch from report.changes where user_id = ${id} and kind <> 'adopt' order by change_id`,
    );
    const bob = team.bob.role;
    expect(rows).toEqual([
      ['push', 'refused', '99', bob, ''],
      ['hold', 'refused', '99', bob, await team.batchOf(id, 'phone')],
    ]);
  });

  it.each([
    ['approve', `'approve', '{}', 1`, 'approve', '10:00:00'],
    ['reject', `'reject', '{}', 1`, 'reject', '10:00:00'],
    ['reject and restore the mirror', `'reject', '{"phone": "withdrawn"}', 1`, 'withdraw', '10:00:00'],
    ['resolve for the mirror', `'resolve', '{}', 1`, 'mirror', '10:00:00'],
    ['resolve for the service', `'resolve', '{"phone": "withdrawn"}', 1`, 'service', '10:00:00'],
    ['resolve with a new value', `'resolve', '{"phone": "edited"}', 2`, 'value', '10:00:00'],
    ['resolve an edit that the service refused', `'resolve', '{}', 3`, 'mirror', '11:30:00'],
    ['approve an edit that was never held', `'approve', '{}', 4`, 'approve', ''],
  ])(
    'report.decisions returns for the decision to %s its deed, and the start of the hold or null',
    async (_, decision, deed, since) => {
      await team.sql(`delete from sync.changes where user_id = 9;
      insert into sync.changes (team_id, user_id, kind, outcome, edits, new, opened_at, closed_at)
      select 41, 9, k.kind, k.outcome::jsonb, jsonb_build_object('phone', -k.edit), '{"phone": "1"}', now_at, now_at + interval '30 min'
      from (values ('hold', '{"phone": "limit"}', 1, timestamptz '2026-03-01 10:00Z'), ('push', '{"phone": "refused"}', 3, '2026-03-01 11:00Z'),
        (${decision}, '2026-03-01 12:00Z')) k (kind, outcome, edit, now_at)`);
      expect(
        await team.sql(
          `select deed, coalesce((held_since at time zone 'UTC')::time::text, ''), coalesce(state, '') as state from report.decisions where user_id = 9`,
        ),
      ).toEqual([[deed, since, deed === 'service' ? 'ended' : '']]);
    },
  );
});
