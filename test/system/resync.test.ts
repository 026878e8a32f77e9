import { describe, expect, it } from 'vitest';
import { holdRequest } from '../support/hold-request.ts';
import { runMusterd, startMusterd } from './run-musterd.ts';
import { useStages, onService, type Stage } from './stage.ts';

const stages = useStages();

/** `musterd resync --adopt-service`: everything from the service; what was edited here waits. */
describe('musterd resync', () => {
  let stage: Stage;

  const environment = (env: Readonly<Record<string, string>> = {}) => ({
    ...stage.env,
    ...env,
  });
  const resync = async (...args: readonly string[]) => {
    const { code, stdout, stderr } = await runMusterd(
      ['resync', '--adopt-service', '--json', ...args],
      environment({ MUSTERD__log__level: 'error' }),
    );
    expect(stderr).toBe('');
    return { code, ...(JSON.parse(stdout) as { changes: Readonly<Record<string, unknown>>[] }) };
  };
  const dump = () =>
    stage.versions('mirror.users', 'sync.user_base', 'sync.runs', 'sync.changes', 'sync.held_fields');
  /** One user edited here, one on both sides, one on the service alone. */
  const open = async () => {
    stage = await stages.open();
    const [edited, both, moved] = [stage.userAt(0), stage.userAt(1), stage.userAt(2)];
    await stage.sql(`update mirror.users set email = 'here@example.com' where id = ${edited.id}`);
    await stage.sql(`update mirror.users set first_name = 'Here', last_name = 'Both' where id = ${both.id}`);
    stage.emulator.team.editUser(both.id, { first: 'There', last: 'Both', phone: '15550101' });
    stage.emulator.team.editUser(moved.id, { email: 'there@example.com' });
    stage.emulator.clearRequests();
    return { edited, both, moved };
  };

  it('exits 64 without --adopt-service', async () => {
    stage = await stages.open();
    const { code, stdout, stderr } = await runMusterd(['resync', '--apply'], environment());
    expect({ code, stdout }).toEqual({ code: 64, stdout: '' });
    expect(stderr).toContain('--adopt-service');
    expect(stderr).toContain('held');
  });

  it('shows its plan and writes nothing without --apply', async () => {
    const { edited, both, moved } = await open();
    const before = await dump();
    const plan = await resync();
    expect(plan).toMatchObject({ code: 0, applied: false, run_id: null, complete: true });
    expect(plan.changes.map(({ user_id, change, field }) => [user_id, change, field])).toEqual([
      [edited.id, 'hold', 'email'],
      [both.id, 'pull', 'phone'],
      [both.id, 'hold', 'name'],
      [moved.id, 'pull', 'email'],
    ]);
    expect(await dump()).toEqual(before);
    expect(stage.updates()).toEqual([]);
  });

  it('pulls with --apply all changes of the service, and holds all edits of the mirror', async () => {
    const { edited, both, moved } = await open();
    stage.emulator.team.addUser({
      first: 'New',
      last: 'Comer',
      email: 'new@example.com',
      roleId: moved.roleId,
    });
    expect(await resync('--apply')).toMatchObject({ code: 3, applied: true, waiting: 2 });
    expect(stage.updates()).toEqual([]);
    // A newcomer's role is counted at once.
    expect(await stage.sql('select role_id, members from mirror.roles order by 1')).toEqual(
      await stage.sql('select role_id, count(*) from sync.user_base group by 1 order by 1'),
    );
    expect(
      await stage.sql(
        `select user_id, field, reason, detail like 'resync: %', mirror_value, service_value from report.held order by user_id`,
      ),
    ).toEqual([
      [String(edited.id), 'email', 'review', 'true', 'here@example.com', edited.email],
      [String(both.id), 'name', 'conflict', 'true', '{"last":"Both","first":"Here"}', 'There Both'],
    ]);
    expect(
      await stage.sql(
        `select id, phone, email from mirror.users where id in (${both.id}, ${moved.id}) order by id`,
      ),
    ).toEqual([
      [String(both.id), '15550101', both.email],
      [String(moved.id), moved.phone, 'there@example.com'],
    ]);
    expect(await stage.sql(`select email from mirror.users where id = ${edited.id}`)).toEqual([
      ['here@example.com'],
    ]);
    const [[command, outcome] = []] = await stage.sql(
      'select command, outcome from sync.runs order by run_id desc limit 1',
    );
    expect([command, outcome]).toEqual(['resync', 'complete']);
    // The base of everybody is what the service says now.
    const bases = await stage.sql(
      `select id, concat_ws(' ', first_name, nullif(last_name, '')), email, phone, role_id from sync.user_base order by id`,
    );
    const service = [...onService(stage)].map(([id, [first, last, ...rest]]) => [
      String(id),
      [first, last].filter(Boolean).join(' '),
      ...rest,
    ]);
    expect(bases).toEqual(service);
    const held = await stage.sql('select * from sync.held_fields order by user_id');
    expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 2 });
    expect(stage.updates()).toEqual([]);
    expect(await stage.sql('select * from sync.held_fields order by user_id')).toEqual(held);
  });

  it('exits 1 with a partial run and changes no user if no lookup finds a user', async () => {
    await open();
    stage.emulator.addFault({ kind: 'empty', path: '/v1/users/get', times: 'always' });
    const resolved = () => stage.sql('select resolved, count(*) from mirror.users group by 1');
    const before = await resolved();
    const plan = await resync();
    expect(plan).toMatchObject({
      code: 1,
      complete: false,
      reasons: ['users: lookups no longer find 30 of 30 users'],
    });
    expect(await resync('--apply')).toMatchObject({ code: 1, complete: false });
    expect(await resolved()).toEqual(before);
    expect(await stage.sql('select outcome from sync.runs order by run_id desc limit 1')).toEqual([
      ['partial'],
    ]);
  });

  /** A push that is killed before it has its effect: the intent stays open. */
  const leaveAnIntentOpen = async () => {
    stage = await stages.open();
    const edited = stage.userAt();
    await stage.sql(`update mirror.users set email = 'here@example.com' where id = ${edited.id}`);
    const held = holdRequest(stage.emulator, '/v1/users/update');
    const running = startMusterd(['reconcile'], environment());
    await held.reached();
    running.process.kill('SIGKILL');
    await running.ended;
    stage.emulator.clearRequests();
    return { edited };
  };
  const intents = () =>
    stage.sql(`select state, outcome ->> 'email' from sync.changes where kind = 'push' order by change_id`);

  it('holds the edit of a push whose outcome is unknown, and never sends the push again', async () => {
    const { edited } = await leaveAnIntentOpen();
    expect(await resync()).toMatchObject({ open_pushes: 1 });
    expect(await intents()).toEqual([['open', '']]);
    // Not seen, and still within the quiet period: it may yet take effect.
    expect(await resync('--apply')).toMatchObject({ code: 1, waiting: 1 });
    expect(await stage.sql('select field, reason, mirror_value, service_value from report.held')).toEqual([
      ['email', 'review', 'here@example.com', edited.email],
    ]);
    // The quiet period of these runs is over at once: what was not seen was not applied.
    expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 1 });
    expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 1 });
    expect((await intents()).map(([state]) => state)).toEqual(['closed']);
    expect(stage.updates()).toEqual([]);
    expect(stage.emulator.team.user(edited.id).email).toBe(edited.email);
  });

  it('exits 75 during another run, and status does not list a resync as the last successful run', async () => {
    await open();
    const success = () =>
      runMusterd(['status', '--json'], environment()).then(
        ({ stdout }) => (JSON.parse(stdout) as { last_success: { run_id: number } }).last_success.run_id,
      );
    await resync('--apply');
    expect(await success()).toBe(1);
    const held = holdRequest(stage.emulator, '/v1/tags');
    const run = runMusterd(['reconcile'], environment());
    await held.reached();
    const { code } = await runMusterd(['resync', '--adopt-service', '--apply', '--wait', '0'], environment());
    expect(code).toBe(75);
    held.letGo();
    await run;
  });
});
