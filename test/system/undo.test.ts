import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { useStages, type Stage } from './stage.ts';

const stages = useStages();

/** `musterd undo <run>`: the inverse of what a run moved, where it still stands. */
describe('musterd undo', () => {
  let stage: Stage;

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

  it('shows its plan and writes nothing without --apply', async () => {
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

  it('puts the old values of sent edits back into the mirror, and the next run sends the old values', async () => {
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

  it('exits 1 if an open transaction edits one of the users, and restores the other users', async () => {
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

  it('restores the first and last name that a pull replaced, if musterd had sent this name before', async () => {
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

  it('skips a value that was changed and set to the same value again after the run', async () => {
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

  it('changes nothing for the first run of a team, and exits 64 for an unknown run', async () => {
    await open();
    expect(await undo(1n, '--exit-code', '--apply')).toMatchObject({ code: 0, changes: [], left: [] });
    for (const run of ['99', 'last', '0']) {
      const { code, stdout, stderr } = await musterd('undo', run, '--apply');
      expect({ code, stdout }).toEqual({ code: 64, stdout: '' });
      expect(stderr).toContain(run);
    }
  });
});
