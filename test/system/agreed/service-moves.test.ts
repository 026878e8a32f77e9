import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { backUp } from './back-up.ts';
import { createTeams, editsOfEachKind, type Team } from './people.ts';

const teams = createTeams();
afterAll(() => teams.close());

const update = { path: '/v1/users/update' } as const;

describe('musterd and an approved edit', () => {
  let team: Team;
  afterEach(() => team.close());
  /** An edit that is approved, and how somebody takes it back on the service. */
  const openApproved = async (field: string, values: string) => {
    team = await teams.open();
    const [id = 0] = team.ids;
    const { first, last, email, phone, roleId } = team.emulator.team.user(id);
    await team.bob.edit(id, values);
    await team.run();
    await team.carol.approve(await team.batchOf(id, field));
    const takeBack = () => void team.emulator.team.editUser(id, { first, last, email, phone, roleId });
    return { id, takeBack };
  };
  /** Somebody has approved it: the next runs send it, and nothing waits any more. */
  const expectSent = async (id: number, field: string) => {
    const before = JSON.stringify(team.emulator.team.user(id));
    team.emulator.clearRequests();
    for (const _ of [1, 2, 3]) await team.run();
    expect(team.updates()).toHaveLength(1);
    expect(JSON.stringify(team.emulator.team.user(id))).not.toBe(before);
    expect(await team.held()).toEqual([]);
    expect(
      await team.sql(
        `select outcome ->> '${field}' from sync.changes where kind = 'push' order by change_id desc limit 1`,
      ),
    ).toEqual([['confirmed']]);
  };

  describe.each(editsOfEachKind)('of the $field', ({ field, values, other }) => {
    it('holds it if the service has another value', async () => {
      const { id } = await openApproved(field, values);
      team.emulator.team.editUser(id, other);
      const before = team.emulator.team.user(id);
      const [{ code }, again] = [await team.musterd('reconcile'), await team.musterd('reconcile')];
      expect([code, again.code, team.updates()]).toEqual([3, 3, []]);
      expect(await team.held()).toEqual([[String(id), field, expect.any(String)]]);
      expect(team.emulator.team.user(id)).toEqual(before);
    });

    it('sends it if the service changed its value and changed it back', async () => {
      const { id, takeBack } = await openApproved(field, values);
      team.emulator.team.editUser(id, other);
      takeBack();
      await expectSent(id, field);
    });

    it('sends it again after a lost answer and a revert on the service', async () => {
      const { id, takeBack } = await openApproved(field, values);
      team.emulator.addFault({ kind: 'reset-after', ...update });
      team.emulator.after(update, takeBack);
      expect((await team.run()).outcome).toBe('partial');
      await expectSent(id, field);
    });

    it('sends it alone if the service changes another field after the plan', async () => {
      const { id } = await openApproved(field, values);
      const another = { phone: '15550123' };
      // The first update without a name: the users are read again.
      team.emulator.before({ path: '/v1/users/get', at: 2 }, () => {
        team.emulator.team.editUser(id, another);
      });
      await team.run();
      await team.run();
      expect(team.updates()).toHaveLength(1);
      expect(team.emulator.team.user(id)).toMatchObject(another);
      expect(await team.held()).toEqual([]);
    });

    it('sends it again from a restored backup after a revert on the service', async () => {
      const { id, takeBack } = await openApproved(field, values);
      const restore = await backUp(team);
      await team.run();
      takeBack();
      await team.run();
      await restore();
      await expectSent(id, field);
    });
  });
});

describe('an edit', () => {
  let team: Team;
  afterEach(() => team.close());

  it('whose answer was lost is sent again if it never arrived, whatever the service showed before', async () => {
    team = await teams.open({ push: { approve: 'guarded', fourEyes: false } });
    const [id = 0] = team.ids;
    team.emulator.team.editUser(id, { email: 'eva@example.com' });
    await team.bob.edit(id, `phone = '15550100'`);
    team.emulator.addFault({ kind: 'reset-before', ...update });
    for (const _ of [1, 2, 3]) await team.run();
    expect(team.emulator.team.user(id).phone).toBe('15550100');
    expect(await team.held()).toEqual([]);
  });

  it.each(editsOfEachKind)(
    'of the $field that was rejected and then resolved is a conflict when the service moves',
    async ({ field, values, words, other }) => {
      team = await teams.open({ push: { fourEyes: false } });
      const [id = 0] = team.ids;
      await team.bob.edit(id, values);
      await team.run();
      await team.carol.reject(await team.batchOf(id, field));
      const take = ['resolve', String(id), field, '--take', 'mirror', '--if', words, '--as', 'Dora'];
      expect(await team.musterd(...take)).toMatchObject({ code: 0 });
      team.emulator.team.editUser(id, other);
      expect(await team.musterd('reconcile')).toMatchObject({ code: 3 });
      const [[, , reason] = []] = await team.held();
      expect(['conflict', 'review']).toContain(reason);
      expect(team.updates()).toEqual([]);
    },
  );
});
