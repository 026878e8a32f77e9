import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { createTeams, type Team } from './people.ts';

const teams = createTeams();
afterAll(() => teams.close());

interface Together {
  readonly batch: string;
  readonly reason: string;
  readonly fields: number;
}

/** The fields of one change that are held one by one are decided about at once, by a hash that says what was seen. */
describe('held fields of one change', () => {
  let team: Team;
  afterEach(() => team.close());

  const together = async (): Promise<readonly Together[]> => {
    const { stdout } = await team.musterd('held', '--json');
    return (JSON.parse(stdout) as { readonly together: readonly Together[] }).together;
  };
  const resolve = (batch: string, ...args: readonly string[]) =>
    team.musterd('resolve', '--batch', batch, '--as', 'dora', ...args);
  const rolesOf = async () =>
    new Set((await team.sql(`select role_id from mirror.users where id in (${team.ids.join()})`)).flat());

  /** More roles than one run may change, edited by bob at once. */
  const openRoles = async (push: Parameters<typeof teams.open>[0] = {}) => {
    team = await teams.open({
      ...push,
      push: { approve: 'guarded', fourEyes: false, ...push.push },
      config: { guard: { maxRoleChanges: 2 } },
    });
    const ids = team.ids.slice(0, 4);
    await team.bob.sql(`update mirror.users set role_id = 17 where id in (${ids.join()})`);
    await team.run();
    expect(await team.held()).toEqual(ids.map((id) => [String(id), 'role_id', 'limit']));
    const [one, ...others] = await together();
    expect([one, others]).toEqual([{ batch: expect.any(String), reason: 'limit', fields: 4 }, []]);
    return { ids, batch: one?.batch ?? '' };
  };

  it('are sent where the mirror’s values are taken, in one run', async () => {
    const { ids, batch } = await openRoles();
    const { stderr } = await team.musterd('held');
    expect(stderr).toContain(`4 of them were edited at once (limit): musterd resolve --batch ${batch}`);
    const done = await resolve(batch.toUpperCase(), '--take', 'mirror', '--reason', 'agreed');
    expect([done.code, done.stderr]).toEqual([0, '']);
    const [[decision = ''] = []] = await team.sql(`select max(decision_id) from report.decisions`);
    expect(done.stdout.split('\n').slice(0, -1)).toEqual(
      ids.map((id) => expect.stringMatching(new RegExp(`^role_id of ${id} .* \\(decision ${decision}\\)$`))),
    );
    expect(
      await team.sql(`select count(distinct run_id) as runs, count(distinct decision_id) as decisions, count(*) as all, min(decided_by) as by, min(decided_why) as why
        from sync.changes where kind = 'resolve'`),
    ).toEqual([['1', '1', '4', 'dora', 'agreed']]);
    await team.run();
    expect(team.updates().map((one) => one['id'])).toEqual(expect.arrayContaining(ids));
    expect([await team.held(), await together()]).toEqual([[], []]);
  });

  it('end where the service’s values are taken', async () => {
    const { batch } = await openRoles();
    const before = await rolesOf();
    expect(before).toContain('17');
    const { code, stdout } = await resolve(batch, '--take', 'service', '--json');
    expect([code, JSON.parse(stdout)]).toMatchObject([
      0,
      { decision_id: expect.any(Number), resolved: { length: 4 } },
    ]);
    await team.run();
    expect([team.updates(), await team.held()]).toEqual([[], []]);
  });

  it('are decided about not at all where one of them is not as it was', async () => {
    const { ids, batch } = await openRoles();
    await team.bob.edit(ids[3] ?? 0, 'role_id = 23');
    const replaced = await resolve(batch, '--take', 'mirror');
    expect([replaced.code, replaced.stderr]).toEqual([
      64,
      expect.stringContaining(`No held fields are ${batch} now`),
    ]);
    // One role alone is within the limit.
    await team.run();
    expect(team.updates().map((one) => one['id'])).toEqual([ids[3]]);
    const now = await together();
    expect(now).toEqual([{ batch: expect.not.stringContaining(batch), reason: 'limit', fields: 3 }]);
    // What the service shows is a part of it.
    team.emulator.team.editUser(ids[1] ?? 0, { roleId: 23 });
    await team.run();
    expect((await resolve(now[0]?.batch ?? '', '--take', 'mirror')).code).toBe(64);
    expect(await team.sql(`select count(*) from sync.changes where kind = 'resolve'`)).toEqual([['0']]);
  });

  it('need other eyes where they are asked for, all of them', async () => {
    const { batch } = await openRoles({ push: { fourEyes: true } });
    const own = await team.musterd('resolve', '--batch', batch, '--take', 'mirror', '--as', team.bob.role);
    expect([own.code, own.stderr]).toEqual([64, expect.stringContaining('Somebody else has to approve it')]);
    expect(await team.sql(`select count(*) from sync.changes where kind = 'resolve'`)).toEqual([['0']]);
    expect((await resolve(batch, '--take', 'mirror')).code).toBe(0);
  });

  it('are named in full, and nothing else with them', async () => {
    const { ids, batch } = await openRoles();
    for (const [args, words] of [
      [['resolve', '--batch', batch, '--take', '17'], '--take mirror or --take service'],
      [['resolve', String(ids[0]), 'role_id', '--batch', batch, '--take', 'mirror'], 'leave out user'],
      [['resolve', '--batch', batch, '--take', 'mirror', '--if', '17'], 'leave out user'],
      [['resolve', '--take', 'mirror'], 'Name a user and a field, or a --batch'],
      [['resolve', String(ids[0]), '--take', 'mirror'], 'Name a user and a field, or a --batch'],
    ] as const)
      expect(await team.musterd(...args)).toMatchObject({ code: 64, stderr: expect.stringContaining(words) });
    expect((await team.musterd('approve', batch, '--reason', 'x')).code).toBe(64);
  });

  it('that the guard stopped as a whole are approved', async () => {
    team = await teams.open();
    await team.bob.edit(team.ids[0] ?? 0, `email = 'ada@example.com'`);
    await team.run();
    const batch = await team.batchOf(team.ids[0] ?? 0);
    expect(await resolve(batch, '--take', 'mirror')).toMatchObject({
      code: 64,
      stderr: expect.stringContaining(`musterd approve ${batch}`),
    });
  });
});
