import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { backUp } from './back-up.ts';
import { createTeams, editsOfEachField, type Team } from './people.ts';

const teams = createTeams();
afterAll(() => teams.close());

const update = { path: '/v1/users/update' } as const;

describe('an approved edit', () => {
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
  /** The next runs send nothing, and say why. */
  const expectHeld = async (id: number, field: string) => {
    const before = team.emulator.team.user(id);
    team.emulator.clearRequests();
    const [{ code }, again] = [await team.musterd('reconcile'), await team.musterd('reconcile')];
    expect(team.updates()).toEqual([]);
    expect([code, again.code]).toEqual([3, 3]);
    expect(await team.held()).toEqual([[String(id), field, expect.any(String)]]);
    expect(team.emulator.team.user(id)).toEqual(before);
  };

  describe.each(editsOfEachField)('of the $field', ({ field, values, other }) => {
    it('is held if its answer was lost and somebody took it back since', async () => {
      const { id, takeBack } = await openApproved(field, values);
      team.emulator.addFault({ kind: 'reset-after', ...update });
      team.emulator.after(update, takeBack);
      expect((await team.run()).outcome).toBe('partial');
      await expectHeld(id, field);
    });

    it('is held if the service took another value and the old one again since', async () => {
      const { id, takeBack } = await openApproved(field, values);
      team.emulator.team.editUser(id, other);
      takeBack();
      await expectHeld(id, field);
    });

    it('is held if it was approved while a run learned of another value and the old one again', async () => {
      team = await teams.open();
      const [id = 0] = team.ids;
      const { first, last, email, phone, roleId } = team.emulator.team.user(id);
      await team.bob.edit(id, values);
      await team.run();
      const batch = await team.batchOf(id, field);
      for (const one of [other, { first, last, email, phone, roleId }]) team.emulator.team.editUser(id, one);
      team.emulator.after({ path: '/v1/users/get' }, async () => void (await team.carol.approve(batch)));
      await team.run();
      await expectHeld(id, field);
    });

    it('is held if the service changes the user once the run has planned it', async () => {
      const { id } = await openApproved(field, values);
      const another = field === 'phone' ? { email: 'eva@example.com' } : { phone: '15550123' };
      // The first update without a name: the users are read again.
      team.emulator.before({ path: '/v1/users/get', at: 2 }, () => {
        team.emulator.team.editUser(id, another);
      });
      await team.run();
      expect(team.updates()).toEqual([]);
      await expectHeld(id, field);
    });

    it('is held in a restored backup if it was sent and taken back since', async () => {
      const { id, takeBack } = await openApproved(field, values);
      const restore = await backUp(team);
      await team.run();
      expect(team.updates().length).toBe(1);
      takeBack();
      await team.run();
      await restore();
      await expectHeld(id, field);
    });
  });

  it.each([
    ['approved', {}],
    ['within the limits', { push: { approve: 'guarded', fourEyes: false } }],
  ] as const)(
    'that was %s is held if the answer for it and another field was lost, and it alone was taken back',
    async (how, settings) => {
      team = await teams.open(settings);
      const [id = 0] = team.ids;
      const { phone } = team.emulator.team.user(id);
      await team.bob.edit(id, `email = 'ada@example.com', phone = '15550100'`);
      if (how === 'approved') {
        await team.run();
        await team.carol.approve(await team.batchOf(id));
      }
      team.emulator.addFault({ kind: 'reset-after', ...update });
      team.emulator.after(update, () => void team.emulator.team.editUser(id, { phone }));
      expect((await team.run()).outcome).toBe('partial');
      await expectHeld(id, 'phone');
      expect(team.emulator.team.user(id)).toMatchObject({ email: 'ada@example.com', phone });
    },
  );

  it('in a refused request is held if somebody took it back and changed another field of that', async () => {
    team = await teams.open();
    const [id = 0, other = 0, first = 0] = team.ids;
    const approveAll = async () => {
      for (const [batch = ''] of await team.sql('select distinct batch from report.held'))
        await team.carol.approve(batch);
    };
    // The first update without a name goes alone.
    await team.bob.edit(first, `phone = '15550177'`);
    await team.run();
    await approveAll();
    await team.run();
    await team.bob.edit(id, `email = 'ada@example.com', phone = '15550100'`);
    await team.bob.edit(other, `email = 'a@b@example.com'`);
    await team.run();
    await approveAll();
    team.emulator.clearRequests();
    const { email } = team.emulator.team.user(id);
    team.emulator.before({ path: '/v1/users/get', at: 3 }, () => {
      team.emulator.team.editUser(id, { email: 'eva@example.com', phone: '15550123' });
      team.emulator.team.editUser(id, { email });
    });
    await team.run();
    expect(team.updates().filter((one) => one['id'] === id)).toEqual([
      { id, email: 'ada@example.com', phone: '15550100' },
    ]);
    team.emulator.clearRequests();
    for (const _ of [1, 2]) await team.run();
    expect(team.updates()).toEqual([]);
    expect((await team.held()).filter(([user]) => user === String(id)).map(([, field]) => field)).toEqual([
      'email',
      'phone',
    ]);
  });

  it.each([
    ['waits for another field of a refused update', 'before', 4],
    ['is approved while a run sends another field', 'during', 2],
  ] as const)('that %s is held if somebody took it back meanwhile', async (_, when, at) => {
    team = await teams.open({
      push: { approve: 'guarded', fourEyes: false },
      config: { guard: { maxRows: 2, maxShare: 0.01 } },
    });
    const ids = team.ids.slice(0, 3);
    const [id = 0] = ids;
    await team.bob.sql(
      `update mirror.users set email = 'n' || id || '@example.com' where id in (${ids.join(', ')})`,
    );
    await team.run();
    await team.carol.sql(`begin; select sync.approve('${await team.batchOf(id)}', array[${id}])`);
    if (when === 'before') {
      await team.carol.sql('commit');
      team.emulator.addFault({ kind: 'status', code: 400, ...update });
    }
    await team.bob.edit(id, `phone = '15550100'`);
    team.emulator.clearRequests();
    const { email } = team.emulator.team.user(id);
    // The phone is read again before it goes. That the role moves too says that its edit is not overtaken.
    team.emulator.before({ path: '/v1/users/get', at }, async () => {
      if (when === 'during') await team.carol.sql('commit');
      team.emulator.team.editUser(id, { email: 'eva@example.com', roleId: 17 });
      team.emulator.team.editUser(id, { email });
    });
    for (const _run of [1, 2]) await team.run();
    const refused = when === 'before' ? [{ id, email: `n${id}@example.com`, phone: '15550100' }] : [];
    expect(team.updates()).toEqual([...refused, { id, phone: '15550100' }]);
    expect(await team.held()).toContainEqual([String(id), 'email', 'limit']);
  });

  it('of a plan that is applied is left if the service took another value and the old one again since', async () => {
    team = await teams.open({ push: { fourEyes: false } });
    const [id = 0] = team.ids;
    const { email } = team.emulator.team.user(id);
    const folder = mkdtempSync(join(tmpdir(), 'musterd-test-'));
    const files = ['edited', 'held'].map((name) => join(folder, name));
    await team.bob.edit(id, `email = 'ada@example.com'`);
    for (const file of files) {
      expect((await team.musterd('plan', '--out', file)).code).toBe(3);
      await team.run();
    }
    const before = await team.batchOf(id);
    // Another value moves as well: the edit is not overtaken by that.
    for (const value of ['eva@example.com', email]) team.emulator.team.editUser(id, { email: value });
    team.emulator.team.editUser(id, { phone: '15550199' });
    await team.run();
    expect(await team.batchOf(id)).not.toBe(before);
    for (const file of files) {
      const applied = await team.musterd('apply', file, '--reason', 'x', '--as', 'dora');
      expect([applied.code, applied.stderr + applied.stdout]).toEqual([
        3,
        expect.stringContaining('changed on the service since the plan was made'),
      ]);
    }
    rmSync(folder, { recursive: true });
    expect(team.updates()).toEqual([]);
  });

  it('of an import is held if the service took another value and the old one again since', async () => {
    team = await teams.open({ push: { fourEyes: false } });
    const [id = 0] = team.ids;
    const folder = mkdtempSync(join(tmpdir(), 'musterd-test-'));
    const file = join(folder, 'people.csv');
    writeFileSync(file, `id,email\n${id},ada@example.com\n`);
    expect(await team.musterd('import', file, '--yes', '--reason', 'HR', '--as', 'Dora')).toMatchObject({
      code: 0,
    });
    rmSync(folder, { recursive: true });
    const { email } = team.emulator.team.user(id);
    for (const value of ['eva@example.com', email]) team.emulator.team.editUser(id, { email: value });
    await expectHeld(id, 'email');
  });
});

describe('an edit', () => {
  let team: Team;
  afterEach(() => team.close());

  it('whose answer was lost is held if it was taken back and another value was changed too', async () => {
    team = await teams.open({ push: { approve: 'guarded', fourEyes: false } });
    const [id = 0] = team.ids;
    const { phone } = team.emulator.team.user(id);
    await team.bob.edit(id, `phone = '15550100'`);
    team.emulator.addFault({ kind: 'reset-after', ...update });
    team.emulator.after(
      update,
      () => void team.emulator.team.editUser(id, { phone, email: 'eva@example.com' }),
    );
    await team.run();
    team.emulator.clearRequests();
    for (const _ of [1, 2, 3]) await team.run();
    expect(team.updates()).toEqual([]);
    expect(await team.held()).toEqual([[String(id), 'phone', 'conflict']]);
    expect(team.emulator.team.user(id).phone).toBe(phone);
    await team.musterd(
      'resolve',
      String(id),
      'phone',
      '--take',
      'mirror',
      '--if',
      '15550100',
      '--as',
      'dora',
    );
    await team.run();
    expect(team.emulator.team.user(id).phone).toBe('15550100');
  });

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

  it.each([
    ['email', `email = 'ada@example.com'`, `phone = '15550100'`, { phone: '15550100' }],
    ['phone', `phone = '15550100'`, 'role_id = 17', { role_id: 17 }],
    ['name', `first_name = 'Ada'`, `email = 'ada@example.com'`, { email: 'ada@example.com' }],
  ])(
    'of the %s that the service has overtaken is not sent for a later one of another field',
    async (field, older, later, sent) => {
      team = await teams.open({ push: { approve: 'guarded', fourEyes: false } });
      const [id = 0] = team.ids;
      const aMinuteAgo = async () => {
        const [[ms] = []] = await team.sql(`select extract(epoch from clock_timestamp()) * 1000`);
        return Number(ms) - 60_000;
      };
      await team.bob.edit(id, older);
      // Clocks may differ by a minute. On the service's the user changes just less than one before this edit.
      team.emulator.clock.advance((await aMinuteAgo()) + 500 - team.emulator.clock.now());
      const { userUpdated } = team.emulator.team.editUser(id, {});
      await eventually(
        'the later edit is a minute after that',
        async () => (await aMinuteAgo()) > userUpdated.ms,
      );
      await team.bob.edit(id, later);
      for (const _ of [1, 2]) await team.run();
      expect(team.updates()).toEqual([{ id, ...sent }]);
      expect(await team.held()).toEqual([[String(id), field, 'conflict']]);
    },
  );

  it.each(editsOfEachField)(
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
