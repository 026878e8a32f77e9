import { describe, expect, it } from 'vitest';
import { runMusterd } from './run-musterd.ts';
import { useStages, type Stage, type StageOptions } from './stage.ts';

const stages = useStages();

describe('the guard', () => {
  let stage: Stage;
  const open = async (options: StageOptions = {}) => {
    stage = await stages.open({ emulator: { users: 100, tags: 3, fields: 2 }, ...options });
    stage.emulator.clearRequests();
  };
  const musterd = (args: readonly string[]) => runMusterd(args, stage.env);
  const edit = (where: string) =>
    stage.sql(`update mirror.users set email = 'new' || id || '@example.com' where ${where}`);
  const dump = () => stage.versions('mirror.users', 'sync.user_base', 'mirror.tags', 'mirror.contact_counts');

  it('reconcile exits 4 after an edit of all users, then sends only the edits of three approved users (O1, S11)', async () => {
    await open();
    await edit('true');
    stage.emulator.team.addTag('meanwhile');
    const before = await dump();
    const refused = await musterd(['reconcile', '--json']);
    expect(refused.code).toBe(4);
    expect(await dump()).toEqual(before);
    expect(stage.updates()).toEqual([]);
    const { batch: hash } = JSON.parse(refused.stdout) as { batch: string };
    expect(hash).toMatch(/^[0-9a-f]{12}$/);
    expect((await musterd(['plan'])).code).toBe(4);
    expect((await musterd(['plan', '--markdown'])).stdout).toContain('**Held by the guard**');

    const [one, two, three] = stage.emulator.team.users().filter(({ email }) => email !== null);
    const ids = [one?.id, two?.id, three?.id];
    expect((await musterd(['approve', 'ffffffffffff', '--reason', 'no'])).code).toBe(64);
    expect((await musterd(['approve', hash, '--only', '1', '--reason', 'no'])).code).toBe(64);
    expect((await musterd(['approve', hash, '--only', ids.join(','), '--reason', 'these moved'])).code).toBe(
      0,
    );
    expect((await musterd(['reconcile'])).code).toBe(3);
    expect(stage.updates().map(({ id }) => id)).toEqual(ids);
    expect(stage.emulator.team.user(one?.id ?? 0).email).toBe(`new${one?.id}@example.com`);
    // The rest still waits; what else there is goes on.
    expect(await stage.sql('select count(*) from mirror.tags')).toEqual([['4']]);
    expect((await musterd(['reconcile'])).code).toBe(3);
    expect(stage.updates().length).toBe(3);
    expect(await stage.sql(`select distinct decided_why from sync.changes where kind = 'approve'`)).toEqual([
      ['these moved'],
    ]);
  });

  it('musterd reconcile and status print a held batch and the command that approves the batch', async () => {
    await open();
    await edit('id in (select id from mirror.users where email is not null order by id limit 30)');
    const { refusal, batches } = await stage.run();
    const hash = batches.at(-1);
    // What waits is counted in the cost of a plan.
    expect((await stage.plan()).cost).toMatchObject({ users: 30 });
    const run = await musterd(['reconcile']);
    expect(run.code).toBe(3);
    expect(run.stdout).toContain('Pushes to 30 users need a decision; the run continued with other changes');
    expect(run.stdout).toContain(`musterd approve ${hash}`);
    expect(run.stdout).not.toMatch(/report\.held|not complete/);
    const status = await musterd(['status']);
    expect(status.stdout).toMatch(/held in a batch\s+pushes to 30 users need a decision since/);
    expect(status.stdout).toContain(`musterd approve ${hash} --as <person> --reason`);
    const batchesTold = async () =>
      (JSON.parse((await musterd(['status', '--json'])).stdout) as { batches: unknown }).batches;
    expect(await batchesTold()).toEqual([
      { hash, reasons: refusal?.reasons, users: 30, made_at: expect.stringMatching(/^\d{4}-/) },
    ]);
    await stage.sql('update mirror.users u set email = b.email from sync.user_base b where b.id = u.id');
    await stage.run();
    expect(await batchesTold()).toEqual([]);
  });

  it('musterd reconcile exits 4 for a newly held batch, and still reports an earlier, now confirmed push', async () => {
    await open({ config: { push: { quietPeriodMs: 600_000 } } });
    const ids = stage.emulator.team.users().flatMap(({ id, email }) => (email === null ? [] : id));
    const [early = 0, ...many] = ids.slice(0, 31);
    stage.emulator.addFault({ kind: 'status', path: '/v1/users/update', code: 503, times: 1 });
    await edit(`id = ${early}`);
    await stage.run();
    stage.emulator.team.editUser(early, { email: `new${early}@example.com` });
    await edit(`id in (${many.join()})`);
    const run = await musterd(['reconcile']);
    expect(run.code).toBe(4);
    expect(run.stdout).toContain('1 pushed');
    expect(run.stdout).toContain('the run stopped: nothing was pulled, and nothing new was sent');
    expect(run.stdout).not.toContain('nothing was written');
  });

  it('musterd adds the new members if the service replaces a whole team, and marks no old member as gone (O3, O7, S5)', async () => {
    await open();
    const before = stage.emulator.team.users().map(({ id }) => id);
    await stage.sql(`update mirror.users set phone = '15550188' where id = ${before[0]}`);
    for (const id of before) stage.emulator.team.removeUser(id);
    for (let i = 0; i < 10; i += 1)
      stage.emulator.team.addUser({ id: 900_000 + i, first: `X${i}`, email: `x${i}@example.com` });
    for (const _ of [1, 2, 3]) await stage.run({ absence: { confirmAfterMs: 0 } });
    expect(
      await stage.sql(`select count(*) from mirror.users where first_name ~ '^X[0-9]$' and gone_at is null`),
    ).toEqual([['10']]);
    expect(
      await stage.sql(`select count(*) from mirror.users where first_name !~ '^X[0-9]$' and gone_at is null`),
    ).toEqual([[String(before.length)]]);
    expect(await stage.sql('select count(*) from sync.absences where batch is not null')).toEqual([
      [String(before.length)],
    ]);
    expect(stage.updates()).toEqual([]);
  });
});
