import { sql } from 'kysely';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { createStages, type Stage } from './stage.ts';

const stages = createStages();
afterAll(() => stages.close());

/** `musterd undo <run>`: the inverse of what a run moved, where it still stands. */
describe('undoing a run', () => {
  let stage: Stage;
  afterEach(() => stage.close());

  const musterd = (...args: readonly string[]) => stage.musterd(...args);
  const undo = async (runId: bigint, ...args: readonly string[]) => {
    const { code, stdout, stderr } = await musterd('undo', String(runId), '--json', ...args);
    expect(stderr).toBe('');
    return { code, ...(JSON.parse(stdout) as { changes: unknown[]; left: unknown[] }) };
  };
  const open = async () => {
    stage = await stages.open();
    return stage.userAt();
  };
  const mirrored = async (id: number) =>
    (await stage.sql(`select first_name, last_name, email, phone from mirror.users where id = ${id}`))[0];

  it('shows what it would do, and writes nothing of it', async () => {
    const { id, email } = await open();
    await stage.sql(`update mirror.users set email = 'pushed@example.com' where id = ${id}`);
    const { runId } = await stage.run();
    const changes = [{ user_id: id, field: 'email', from: 'pushed@example.com', to: email }];
    expect(await undo(runId, '--exit-code')).toMatchObject({ code: 2, applied: false, changes, left: [] });
    expect(await undo(runId)).toMatchObject({ code: 0, changes });
    expect(await mirrored(id)).toContain('pushed@example.com');
    const { stdout, stderr } = await musterd('undo', String(runId));
    expect(stdout).toContain(`pushed@example.com\t${email}`);
    expect(stderr).toContain('--apply');
  });

  it('takes back pushes, names as pairs, through an ordinary run', async () => {
    const { id, first, last, email, phone } = await open();
    await stage.sql(
      `update mirror.users set first_name = 'Robin', last_name = 'of Locksley', email = 'robin@example.com', phone = null where id = ${id}`,
    );
    const { runId } = await stage.run();
    expect(stage.emulator.team.user(id)).toMatchObject({ first: 'Robin', last: 'of Locksley' });
    expect(await undo(runId, '--apply')).toMatchObject({ code: 0, applied: true, left: [] });
    expect(await mirrored(id)).toEqual([first, last, email, phone]);
    expect(await stage.sql(`select edited_by <> '' from mirror.users where id = ${id}`)).toEqual([['true']]);
    stage.emulator.clearRequests();
    expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 0, counts: { pushed: 3 } });
    expect(stage.updates()).toEqual([{ id, first_name: first, last_name: last, email, phone }]);
    expect(stage.emulator.team.user(id)).toMatchObject({ first, last, email, phone });
    expect(await undo(runId, '--exit-code')).toMatchObject({
      code: 0,
      changes: [],
      left: [{ reason: 'edited since' }, { reason: 'edited since' }, { reason: 'edited since' }],
    });
  });

  it('ends with 1 where somebody is editing one of the users, and takes back the others', async () => {
    await open();
    const [one, two] = [stage.userAt(0), stage.userAt(1)];
    await stage.sql(
      `update mirror.users set email = 'pushed' || id || '@example.com' where id in (${one.id}, ${two.id})`,
    );
    const { runId } = await stage.run();
    const done = await stage.db.transaction(async (tx) => {
      await sql`update mirror.users set phone = null where id = ${two.id}`.execute(tx);
      return await undo(runId, '--apply');
    });
    expect(done).toMatchObject({
      code: 1,
      changes: [{ user_id: one.id }],
      left: [{ user_id: two.id, reason: 'being edited' }],
    });
    expect([await mirrored(one.id), await mirrored(two.id)]).toEqual([
      expect.arrayContaining([one.email]),
      expect.arrayContaining([`pushed${two.id}@example.com`]),
    ]);
  });

  it('takes back a pull: the service gets its old value again', async () => {
    const { id, email, first, last } = await open();
    stage.emulator.team.editUser(id, { email: 'web@example.com', first: 'Web', last: 'Name' });
    const { runId } = await stage.run();
    expect(await mirrored(id)).toContain('web@example.com');
    expect(await undo(runId, '--apply')).toMatchObject({
      changes: [
        { field: 'email', from: 'web@example.com', to: email },
        { field: 'name', from: { first: 'Web', last: 'Name' }, to: { first, last } },
      ],
    });
    expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 0 });
    expect(stage.emulator.team.user(id)).toMatchObject({ first, last, email });
  });

  it('leaves alone what no longer stands, and says why', async () => {
    await open();
    const [edited, pushed, moved, held, gone, empty, stays] = stage.people().map(({ id }) => id);
    const all = [edited, pushed, moved, held, gone, empty, stays];
    expect(all).not.toContain(undefined);
    stage.emulator.team.editUser(empty ?? 0, { email: 'before@example.com' });
    await stage.run();
    await stage.sql(
      `update mirror.users set email = 'run' || id || '@example.com' where id in (${all.join(', ')})`,
    );
    const { runId } = await stage.run();
    await stage.sql(`update mirror.users set email = 'pushed@example.com' where id = ${pushed}`);
    stage.emulator.team.editUser(moved ?? 0, { email: 'moved@example.com' });
    await stage.run();
    await stage.sql(`update mirror.users set email = 'edited@example.com' where id = ${edited}`);
    await stage.sql(
      `insert into sync.held_fields (team_id, user_id, field, reason, until)
       select team_id, id, 'email', 'asked', now() + interval '1 day' from mirror.users where id = ${held}`,
    );
    await stage.db.transaction(async (tx) => {
      for (const text of [
        `select set_config('musterd.writing', 'on', true)`,
        `update mirror.users set gone_at = now() where id = ${gone}`,
        `update sync.changes set old = '{"email": null}' where run_id = ${runId} and user_id = ${empty}`,
      ])
        await tx.executeQuery({
          sql: text,
          parameters: [],
          query: { kind: 'RawNode', sqlFragments: [], parameters: [] },
          queryId: { queryId: text },
        });
    });
    const plan = await undo(runId, '--exit-code', '--apply');
    expect(plan).toMatchObject({ code: 0, changes: [{ user_id: stays, field: 'email' }] });
    const reasons = new Map(
      (plan.left as { user_id: number; reason: string }[]).map(({ user_id, reason }) => [user_id, reason]),
    );
    const offered = (plan.left as { user_id: number; offer: string | null }[]).filter(
      ({ offer }) => offer !== null,
    );
    expect(new Set(offered.map(({ user_id }) => user_id))).toEqual(new Set([edited, pushed, moved, held]));
    expect(reasons).toEqual(
      new Map([
        [edited, 'edited since'],
        [pushed, 'edited since'],
        [moved, 'changed on the service since'],
        [held, 'held: asked'],
        [gone, 'the user has gone'],
        [empty, expect.stringContaining('unsupported')],
      ]),
    );
  });

  it('clears a phone that was not there before', async () => {
    await open();
    const id = stage.emulator.team.users().find(({ phone }) => phone === null)?.id ?? 0;
    await stage.sql(`update mirror.users set phone = '15550177' where id = ${id}`);
    const { runId } = await stage.run();
    const changes = [{ user_id: id, field: 'phone', from: '15550177', to: null }];
    expect(await undo(runId)).toMatchObject({ changes, left: [] });
    expect(await stage.sql(`select old from sync.changes where run_id = ${runId}`)).toEqual([
      ['{"phone":null}'],
    ]);
    // As it was written down before.
    await stage.sql(`update sync.changes set old = '{"phone": ""}' where run_id = ${runId}`);
    expect(await undo(runId, '--apply')).toMatchObject({ changes, left: [] });
    expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 0, counts: { pushed: 1 } });
    expect(stage.emulator.team.user(id).phone).toBeNull();
  });

  it.each(['pulled', 'pushed'])('leaves a name that was %s over a guess of its halves', async (how) => {
    const { id } = await open();
    stage.emulator.team.editUser(id, { first: 'Anne', last: 'Marie Berg' });
    await stage.run();
    if (how === 'pulled') stage.emulator.team.editUser(id, { first: 'Web', last: 'Name' });
    else await stage.sql(`update mirror.users set first_name = 'Web', last_name = 'Name' where id = ${id}`);
    const { runId } = await stage.run();
    expect(stage.emulator.team.user(id)).toMatchObject({ first: 'Web', last: 'Name' });
    expect(await undo(runId, '--apply')).toMatchObject({
      changes: [],
      left: [
        {
          user_id: id,
          field: 'name',
          from: { first: 'Web', last: 'Name' },
          to: { first: 'Anne Marie', last: 'Berg' },
          reason: expect.stringContaining('is a guess'),
        },
      ],
    });
    await stage.run();
    expect(stage.emulator.team.user(id)).toMatchObject({ first: 'Web', last: 'Name' });
    // What was left is offered, for a person to look at.
    const { stderr } = await musterd('undo', String(runId));
    const offer = /^update mirror\.users .*;$/m.exec(stderr)?.[0] ?? '';
    expect(offer).toMatch(/^update mirror\.users set first_name = 'Anne Marie', last_name = 'Berg' where /);
    expect((await musterd('sql', '--write', offer)).code).toBe(0);
    await stage.run();
    expect(stage.emulator.team.user(id)).toMatchObject({ first: 'Anne Marie', last: 'Berg' });
    expect((await musterd('undo', String(runId))).stderr).not.toContain('update mirror.users');
  });

  it('takes a long name back where its halves were sent from here', async () => {
    const { id } = await open();
    const halves = `first_name = 'Anne Marie', last_name = 'Berg'`;
    await stage.sql(`update mirror.users set ${halves} where id = ${id}`);
    await stage.run();
    stage.emulator.team.editUser(id, { first: 'Web', last: 'Name' });
    const { runId } = await stage.run();
    expect(await undo(runId, '--apply')).toMatchObject({ changes: [{ field: 'name' }], left: [] });
    await stage.run();
    expect(stage.emulator.team.user(id)).toMatchObject({ first: 'Anne Marie', last: 'Berg' });
  });

  it('leaves what somebody else has set to the same value since', async () => {
    const { id } = await open();
    await stage.sql(`update mirror.users set email = 'same@example.com' where id = ${id}`);
    const { runId } = await stage.run();
    for (const email of ['web@example.com', 'same@example.com']) {
      stage.emulator.team.editUser(id, { email });
      await stage.run();
    }
    expect(await undo(runId)).toMatchObject({
      changes: [],
      left: [{ user_id: id, field: 'email', reason: 'set again on the service since' }],
    });
    for (const email of ['here@example.com', 'pushed@example.com', 'here@example.com']) {
      await stage.sql(`update mirror.users set email = '${email}' where id = ${id}`);
      await stage.run();
    }
    expect(await undo(runId + 3n)).toMatchObject({ changes: [], left: [{ reason: 'set again since' }] });
  });

  it('has nothing to do for a first run, and knows no others', async () => {
    await open();
    expect(await undo(1n, '--exit-code', '--apply')).toMatchObject({ code: 0, changes: [], left: [] });
    for (const run of ['99', 'last', '0']) {
      const { code, stdout, stderr } = await musterd('undo', run, '--apply');
      expect({ code, stdout }).toEqual({ code: 64, stdout: '' });
      expect(stderr).toContain(run);
    }
  });
});
