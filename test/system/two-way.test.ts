import { describe, expect, it } from 'vitest';
import { createLog } from '../../src/log.ts';
import { runResync } from '../../src/runs/sync/resync-team.ts';
import { useStages, type Stage, type StageOptions } from './stage.ts';

/** What a run sends is tried on the oldest version of Postgres in `test/mirror`. */
describe('a two-way run', () => {
  const stages = useStages();
  let stage: Stage;
  /** After a first run. */
  const openEqual = async (options: StageOptions = {}) => {
    stage = await stages.open(options);
  };

  const versions = async () => [
    await stage.versions(
      'mirror.users',
      'sync.user_base',
      'mirror.tags',
      'mirror.contact_fields',
      'mirror.teams',
      'sync.changes',
      'sync.held_fields',
    ),
    await stage.sql(`select topic, case jsonb_typeof(value) when 'object' then value - 'agreed' else value end
      from sync.learned where topic ~ '^listing ' order by topic`),
  ];
  const expectSilence = async () => {
    const before = await versions();
    stage.emulator.clearRequests();
    const report = await stage.run();
    expect(stage.updates()).toEqual([]);
    expect(await versions()).toEqual(before);
    return report;
  };

  /** Who has which role on the service. */
  const rolesThere = () => {
    const { roles } = stage.emulator.team;
    const members = Map.groupBy(stage.emulator.team.users(), ({ roleId }) => roleId);
    return [...members]
      .toSorted(([a], [b]) => a - b)
      .map(([id, { length }]) => [String(id), roles.get(id) ?? `role ${id}`, String(length)]);
  };

  it('marks a user as gone after two runs without the user, and holds old edits if the user returns (A30)', async () => {
    await openEqual({ config: { absence: { confirmAfterMs: 0 } } });
    const { id } = stage.userAt();
    await stage.sql(`update mirror.users set email = 'pending@example.com' where id = ${id}`);
    stage.emulator.team.showUser(id, { listed: false, answered: false });
    expect(await stage.run()).toMatchObject({ counts: { missing: 1 } });
    expect(await stage.sql(`select gone_at is null from mirror.users where id = ${id}`)).toEqual([['true']]);
    expect(await stage.run()).toMatchObject({ counts: { gone: 1 } });
    expect(await stage.sql(`select gone_at is null from mirror.users where id = ${id}`)).toEqual([['false']]);
    await expectSilence();
    stage.emulator.team.showUser(id, { listed: true, answered: true });
    stage.emulator.clearRequests();
    expect(await stage.run()).toMatchObject({ waiting: 1, counts: { returned: 1 } });
    expect(stage.updates()).toEqual([]);
    expect(await stage.sql('select field, reason, mirror_value from report.held')).toEqual([
      ['email', 'returned', 'pending@example.com'],
    ]);
    await expectSilence();
  });

  it('report.roles counts the members of each role like the service, even after a failed run or a resync', async () => {
    await openEqual({ config: { absence: { confirmAfterMs: 0 } } });
    const [one, two, three] = [stage.userAt(0), stage.userAt(1), stage.userAt(2)];
    const next = (id: number) => 1 + (id % 4);
    stage.emulator.team.editUser(one.id, { roleId: next(one.roleId) });
    stage.emulator.team.removeUser(two.id);
    const shown = rolesThere();
    await stage.sql(`update mirror.users set role_id = ${next(three.roleId)} where id = ${three.id}`);
    await stage.run();
    await stage.run();
    await stage.run();
    const roles = () =>
      stage.sql('select role_id, role, members from report.roles where present order by role_id');
    expect(await roles()).toEqual(rolesThere());
    expect(rolesThere()).not.toEqual(shown);
    // As if the run had ended before it came to them.
    await stage.sql(`begin; select set_config('musterd.writing', 'on', true); delete from mirror.roles;
      update sync.runs set outcome = 'failed' where run_id = (select max(run_id) from sync.runs); commit`);
    stage.emulator.team.editUser(one.id, { email: 'one@example.com' });
    await stage.run();
    expect(await roles()).toEqual(rolesThere());
    // Taken outside a run of the users: the next one finds everybody equal, and the answer as it was.
    await stage.run();
    stage.emulator.team.editUser(one.id, { roleId: next(next(next(one.roleId))) });
    const log = createLog({ level: 'silent' });
    expect((await runResync(stage.db, stage.config, { log })).run?.outcome).toBe('complete');
    await stage.run();
    expect(await roles()).toEqual(rolesThere());
  });
});
