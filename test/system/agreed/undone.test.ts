import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { createTeams, editsOfEachField, type Team } from './people.ts';

const teams = createTeams();
afterAll(() => teams.close());

/** `musterd undo --decision`: what became of a decision is taken back as far as nothing has moved since. */
describe('a decision that is taken back', () => {
  let team: Team;
  afterEach(() => team.close());

  const json = async (...args: readonly string[]) => {
    const { code, stdout, stderr } = await team.musterd(...args, '--json');
    const said = (stdout === '' ? {} : JSON.parse(stdout)) as { readonly decision_id?: number };
    return { code, stderr, ...said };
  };
  const decide = async (verb: 'approve' | 'reject', batch: string, ...args: readonly string[]) =>
    String((await json(verb, batch, '--as', 'carol', ...args)).decision_id);
  const undo = (decision: string, ...args: readonly string[]) =>
    json('undo', '--decision', decision, '--as', 'dora', ...args);
  const apply = (decision: string, ...args: readonly string[]) => undo(decision, '--apply', ...args);
  const sent = async () => {
    await team.run();
    const all = team.updates();
    team.emulator.clearRequests();
    return all;
  };
  /** The edits of bob that wait in one batch. */
  const openBatch = async (count: number, ...given: Parameters<typeof teams.open>) => {
    team = await teams.open(...given);
    const ids = team.ids.slice(0, count);
    await team.bob.sql(
      `update mirror.users set email = 'ada' || id || '@example.com' where id = any ('{${ids.join(',')}}')`,
    );
    await team.run();
    return { ids, batch: await team.batchOf(ids[0] ?? 0) };
  };
  const became = (decision: string) =>
    team.sql(
      `select user_id, decision, state from report.decisions where decision_id = ${decision} order by 1, 2`,
    );
  const mirrored = async (id: number) =>
    (await team.sql(`select email from mirror.users where id = ${id}`))[0]?.[0];

  it.each(editsOfEachField)(
    'lets the approved $field wait again, which is not sent',
    async ({ field, values, sent: as }) => {
      team = await teams.open();
      const [id = 0] = team.ids;
      await team.bob.edit(id, values);
      await team.run();
      const batch = await team.batchOf(id, field);
      const decision = await decide('approve', batch);
      const undecided = [{ user_id: id, field, name: expect.any(String) as string }];
      expect(await undo(decision, '--exit-code')).toMatchObject({
        code: 2,
        applied: false,
        undone_by: null,
        undecided,
      });
      expect(await became(decision)).toEqual([[String(id), 'approve', 'waiting']]);
      expect(await apply(decision)).toMatchObject({
        code: 0,
        applied: true,
        undecided,
        changes: [],
        left: [],
      });
      expect(await sent()).toEqual([]);
      expect([await team.batchOf(id, field), await became(decision)]).toEqual([
        batch,
        [[String(id), 'approve', 'held']],
      ]);
      expect(await apply(decision)).toMatchObject({
        undecided: [],
        left: [{ reason: expect.stringContaining('needs a decision') as string }],
      });
      await decide('approve', batch);
      expect(await sent()).toEqual([{ id, ...as }]);
    },
  );

  it('is one number for all that was decided at once, and leaves what has moved since', async () => {
    const { ids, batch } = await openBatch(3);
    const [a = 0, b = 0, c = 0] = ids;
    const decision = await decide('approve', batch);
    await team.bob.edit(b, `email = 'ina@example.com'`);
    await team.bob.edit(c, `email = '${team.emulator.team.user(c).email}'`);
    const { stdout, stderr } = await team.musterd('undo', '--decision', decision, '--apply', '--as', 'dora');
    expect(stdout).toContain(`${a}\t`);
    expect(stdout).toContain('no longer wanted: somebody has edited the field again');
    expect(stdout).toContain('no longer wanted: it was taken back here');
    expect(stderr).toMatch(
      /1 field undecided again, 0 fields to set back, 2 left as they are \(decision \d+\)/,
    );
    expect(await sent()).toEqual([]);
    expect((await team.held()).map(([id]) => id)).toEqual([a, b].map(String));
  });

  it('lets what was rejected wait in its batch again, and approves nothing', async () => {
    const { ids, batch } = await openBatch(2);
    const decision = await decide('reject', batch);
    expect(await became(decision)).toEqual(ids.map((id) => [String(id), 'reject', 'rejected']));
    expect(await apply(decision, '--reason', 'too soon')).toMatchObject({ changes: [], left: [] });
    expect(await sent()).toEqual([]);
    expect(await team.held()).toEqual(ids.map((id) => [String(id), 'email', 'review']));
    expect(await team.carol.approve(batch)).toEqual(['approved', 'approved']);
    expect(await sent()).toHaveLength(2);
  });

  it('sets the values again that a rejection took back, as edits of whoever does so', async () => {
    const { ids, batch } = await openBatch(2);
    const [a = 0, b = 0] = ids;
    const decision = await decide('reject', batch, '--revert');
    await team.bob.edit(b, `email = 'ina@example.com'`);
    expect(await apply(decision, '--reason', 'right after all')).toMatchObject({
      undecided: [],
      changes: [{ user_id: a, field: 'email', to: `ada${a}@example.com` }],
      left: [{ user_id: b, reason: 'edited since' }],
    });
    expect([await mirrored(a), await mirrored(b)]).toEqual([`ada${a}@example.com`, 'ina@example.com']);
    expect(await sent()).toEqual([]);
    const again = await team.batchOf(a);
    expect((await team.musterd('approve', again, '--only', String(a), '--as', 'Dora')).code).toBe(64);
    await decide('approve', again, '--only', String(a));
    expect(await sent()).toEqual([{ id: a, email: `ada${a}@example.com` }]);
  });

  it('approves nothing that was rejected, whatever the reason is for taking that back', async () => {
    const { ids, batch } = await openBatch(1, { push: { fourEyes: false } });
    const decision = await decide('reject', batch, '--revert');
    expect(await apply(decision, '--reason', 'right after all')).toMatchObject({ changes: [{}], left: [] });
    expect(await sent()).toEqual([]);
    expect(await team.held()).toEqual([[String(ids[0]), 'email', 'review']]);
  });

  it.each([
    ['waits for somebody else to agree', true, 0, 'held: review'],
    ['is sent where no other eyes are asked for', false, 1, 'edited since'],
  ])('edits back what has arrived, which %s', async (_, fourEyes, requests, reason) => {
    const { ids, batch } = await openBatch(1, { push: { fourEyes } });
    const [id = 0] = ids;
    const before = team.emulator.team.user(id).email;
    const decision = await decide('approve', batch);
    expect(await sent()).toHaveLength(1);
    expect(await became(decision)).toEqual([[String(id), 'approve', 'confirmed']]);
    const changes = [{ user_id: id, field: 'email', from: `ada${id}@example.com`, to: before }];
    expect(await apply(decision, '--reason', 'wrong list')).toMatchObject({
      undecided: [],
      changes,
      left: [],
    });
    expect(await mirrored(id)).toBe(before);
    expect(await sent()).toHaveLength(requests);
    expect((await team.held()).length).toBe(1 - requests);
    expect(await apply(decision)).toMatchObject({ changes: [], left: [{ reason }] });
  });

  it('edits back nothing that was changed on the service since', async () => {
    const { ids, batch } = await openBatch(1);
    const [id = 0] = ids;
    const decision = await decide('approve', batch);
    await sent();
    team.emulator.team.editUser(id, { email: 'eva@example.com' });
    await sent();
    expect(await apply(decision)).toMatchObject({
      changes: [],
      left: [{ reason: 'changed on the service since' }],
    });
    expect(await mirrored(id)).toBe('eva@example.com');
  });

  it('says what is on its way, and leaves it', async () => {
    const { ids, batch } = await openBatch(1);
    const decision = await decide('approve', batch);
    team.emulator.addFault({ kind: 'late', answer: '504', requests: 1000, path: '/v1/users/update' });
    await team.run();
    expect(await became(decision)).toEqual([[String(ids[0]), 'approve', 'unknown']]);
    expect(await apply(decision)).toMatchObject({
      undecided: [],
      changes: [],
      left: [{ reason: expect.stringContaining('sent') as string }],
    });
    team.emulator.applyLateWrites();
    await team.run();
    expect(await became(decision)).toEqual([[String(ids[0]), 'approve', 'confirmed']]);
  });

  it.each([
    ['not answered and is not there', async () => {}],
    ['not sent', () => team.sql(`update sync.changes set sent_at = null where state = 'open'`)],
  ])('lets wait again what was on its way and was %s', async (_, become) => {
    const { ids, batch } = await openBatch(1);
    const decision = await decide('approve', batch);
    team.emulator.addFault({ kind: 'reset-before', path: '/v1/users/update' });
    await team.run();
    await become();
    await apply(decision);
    team.emulator.clearRequests();
    for (const _run of [1, 2]) expect(await sent()).toEqual([]);
    expect(await team.held()).toEqual([[String(ids[0]), 'email', 'review']]);
    expect(await became(decision)).toEqual([[String(ids[0]), 'approve', 'held']]);
    expect(await team.carol.approve(batch)).toEqual(['approved']);
    expect(await sent()).toHaveLength(1);
  });

  describe.each(editsOfEachField)('about a conflict of the $field', ({ field, values, words, other }) => {
    const openConflict = async (take: string) => {
      team = await teams.open({ push: { fourEyes: false, approve: 'guarded' } });
      const [id = 0] = team.ids;
      team.emulator.team.editUser(id, other);
      await team.bob.edit(id, values);
      await team.run();
      expect(await team.held()).toEqual([[String(id), field, 'conflict']]);
      const done = await json('resolve', String(id), field, '--take', take, '--if', words, '--as', 'carol');
      return [id, String(done.decision_id)] as const;
    };

    it('that the mirror has won is held again', async () => {
      const [id, decision] = await openConflict('mirror');
      expect(await apply(decision)).toMatchObject({
        undecided: [{ user_id: id, field }],
        changes: [],
        left: [],
      });
      expect(await sent()).toEqual([]);
      expect(await sent()).toEqual([]);
      expect(await team.held()).toEqual([[String(id), field, 'conflict']]);
      await team.musterd('resolve', String(id), field, '--take', 'mirror', '--if', words, '--as', 'carol');
      expect(await sent()).toHaveLength(1);
    });

    it('that the service has won gives the mirror its value again', async () => {
      const [id, decision] = await openConflict('service');
      expect(await became(decision)).toEqual([[String(id), 'resolve', 'confirmed']]);
      expect(await apply(decision, '--reason', 'theirs was wrong')).toMatchObject({
        undecided: [],
        changes: [{ user_id: id, field }],
        left: [],
      });
      expect(await sent()).toHaveLength(1);
    });
  });

  it('needs the right to decide, and is about teams that one sees', async () => {
    const { batch } = await openBatch(1);
    const decision = await decide('approve', batch);
    const call = `select outcome from sync.undecide(${decision}, 'no')`;
    await expect(team.bob.sql(call)).rejects.toThrow('permission denied');
    expect(await team.bob.sql(`select state from report.decisions where decision_id = ${decision}`)).toEqual([
      ['waiting'],
    ]);
    await expect(team.carol.sql(`select * from sync.undecide(1)`)).rejects.toThrow('no decision 1');
    expect(await team.carol.sql(call)).toEqual([['undecided']]);
    expect(await sent()).toEqual([]);
    expect(
      await team.sql(
        `select decision, decided_role, decided_why from report.decisions order by change_id desc limit 1`,
      ),
    ).toEqual([['undo', team.carol.role, 'no']]);
  });

  it('that was one’s own rejection is not approved by that', async () => {
    team = await teams.open();
    const [id = 0] = team.ids;
    await team.mallory.edit(id, `email = 'ada@example.com'`);
    await team.run();
    const batch = await team.batchOf(id);
    await team.mallory.reject(batch);
    await team.mallory.sql(`select sync.undecide((select max(decision_id) from report.decisions))`);
    expect(await sent()).toEqual([]);
    await expect(team.mallory.approve(batch)).rejects.toThrow('edited what is to be approved');
    expect(await team.carol.approve(batch)).toEqual(['approved']);
    expect(await sent()).toHaveLength(1);
  });

  it('is named by a number that there is', async () => {
    await openBatch(0);
    expect(await team.musterd('undo', '--decision', '77')).toMatchObject({
      code: 64,
      stderr: expect.stringContaining('There is no decision 77') as string,
    });
    expect((await team.musterd('undo', '--decision', 'x')).code).toBe(64);
    expect((await team.musterd('undo')).code).toBe(64);
    expect((await team.musterd('undo', '1', '--decision', '1')).code).toBe(64);
  });
});
