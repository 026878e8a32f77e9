import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { createTeams, editsOfEachKind, type Person, type Team } from './people.ts';

const teams = createTeams();
afterAll(() => teams.close());

const update = { path: '/v1/users/update' } as const;
const refusal = /approve|decide|edit/i;

describe('musterd with fourEyes', () => {
  let team: Team;
  afterEach(() => team.close());
  const open = async (...given: Parameters<typeof teams.open>) => {
    team = await teams.open(...given);
    return team.ids[0] ?? 0;
  };
  /** In SQL, as it was before. */
  const before = (id: number, field: string) => {
    const { first, last, roleId } = team.emulator.team.user(id);
    return field === 'name' ? `first_name = '${first}', last_name = '${last}'` : `role_id = ${roleId}`;
  };
  /** The next run holds the edit, which `person` may not approve. */
  const expectNotApprovedBy = async (person: Person, id: number, field: string) => {
    await team.run();
    expect(team.updates()).toEqual([]);
    const batch = await team.batchOf(id, field);
    expect(batch).not.toBe('');
    await expect(person.approve(batch)).rejects.toThrow(refusal);
    await team.run();
    expect(team.updates()).toEqual([]);
  };

  describe.each(editsOfEachKind)('for an edit of the $field', ({ field, values, sent, later }) => {
    it('refuses the approver who made it again after a withdrawal', async () => {
      const id = await open();
      const { bob, mallory } = team;
      await bob.edit(id, values);
      await team.run();
      await mallory.approve(await team.batchOf(id, field));
      await bob.edit(id, before(id, field));
      await mallory.edit(id, values);
      await expectNotApprovedBy(mallory, id, field);
    });

    it('refuses the approver who restored it after a later edit', async () => {
      const id = await open();
      const { bob, mallory, carol } = team;
      await bob.edit(id, values);
      await team.run();
      await carol.approve(await team.batchOf(id, field));
      await bob.edit(id, later[0]);
      await mallory.edit(id, values);
      await expectNotApprovedBy(mallory, id, field);
    });

    it('sends no reverted edit along with a later one', async () => {
      const id = await open();
      const { bob, mallory, carol } = team;
      await bob.edit(id, values);
      await team.run();
      const batch = await team.batchOf(id, field);
      await carol.approve(batch);
      team.emulator.addFault({ kind: 'late', answer: '504', requests: 1000, ...update });
      await team.run();
      await mallory.reject(batch, { revert: true });
      team.emulator.applyLateWrites();
      await bob.edit(id, `phone = '15550177'`);
      await team.run();
      team.emulator.clearRequests();
      const batches = await team.sql('select distinct batch from report.held where batch is not null');
      for (const [one = ''] of batches) await mallory.approve(one).catch(() => []);
      await team.run();
      expect(team.updates().filter((one) => Object.keys(sent).some((key) => key in one))).toEqual([]);
    });

    it('refuses editors as approvers if the author is unknown', async () => {
      const id = await open();
      const { bob, mallory, carol } = team;
      await bob.edit(id, `phone = '15550177'`);
      await team.sql(`alter table mirror.users disable trigger user`);
      await team.sql(`update mirror.users set ${values} where id = ${id}`);
      await team.sql(`alter table mirror.users enable trigger user`);
      await team.run();
      const batch = await team.batchOf(id, field);
      await expect(mallory.approve(batch)).rejects.toThrow(refusal);
      expect(await carol.approve(batch)).toContain('approved');
    });
  });

  it.each([
    ['nobody knows who made that', ''],
    ['they made that', 'Anna'],
  ])('let nobody approve what took the place of an edit where %s', async (_, actor) => {
    const id = await open();
    const { bob, mallory, carol } = team;
    const pastTriggers = () =>
      team.sql(`begin; set local musterd.writing = 'on';
        update mirror.users set email = 'past@example.com' where id = ${id}; commit`);
    if (actor !== '') await bob.edit(id, `email = 'ada@example.com'`, actor);
    await pastTriggers();
    if (actor === '') await bob.edit(id, `email = 'ada@example.com'`);
    await team.run();
    const batch = await team.batchOf(id);
    const decided = actor === '' ? mallory.approve(batch) : carol.approve(batch, { actor });
    await expect(decided).rejects.toThrow(refusal);
    expect(await carol.approve(batch)).toEqual(['approved']);
  });

  it.each([
    ['email', `email = 'anna@example.com'`, 'anna@example.com', 'ANNA@example.com'],
    ['phone', `phone = '15550100'`, '15550100', '+15550100'],
    ['name', `first_name = 'Zo\u00EB', last_name = 'Berg'`, 'Zo\u00EB|Berg', 'Zoe\u0308|Berg'],
  ])(
    'see a conflict of the %s whose editor writes the same value otherwise, which somebody else has to approve',
    async (field, values, words, otherwise) => {
      const id = await open({ push: { approve: 'guarded' } });
      team.emulator.team.editUser(id, { first: 'Eva', email: 'eva@example.com', phone: '15550123' });
      await team.bob.edit(id, values, 'Anna');
      await team.run();
      expect(await team.held()).toEqual([[String(id), field, 'conflict']]);
      const take = ['resolve', String(id), field, '--take', otherwise, '--if', words];
      const { code, stderr } = await team.musterd(...take, '--as', 'Anna');
      await team.run();
      expect(team.updates()).toEqual([]);
      expect([code, stderr]).toEqual([3, '']);
      expect(await team.held()).toEqual([[String(id), field, 'limit']]);
    },
  );
});
