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
    // For a person to look at.
    expect((await musterd('undo', String(runId))).stderr).toMatch(/^update mirror\.users set email = .*;$/m);
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
