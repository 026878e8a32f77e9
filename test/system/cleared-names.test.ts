import fc from 'fast-check';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { UserRecord } from '../../src/emulator/rules/played-team.ts';
import { backUp } from './agreed/back-up.ts';
import { createStage, createStages, type Stage } from './stage.ts';

const stages = createStages();
afterAll(() => stages.close());

describe('a service that clears the name if an update omits it', () => {
  let stage: Stage;
  afterEach(() => stage.close());

  const update = { path: '/v1/users/update' } as const;
  /** Where the service wins, it must not win with the name that it has cleared. */
  const open = async () => {
    stage = await stages.open({
      emulator: { variants: { 'email-update': 'clears-name' } },
      config: { policy: { name: 'service-wins' } },
    });
  };
  const onService = (id: number) => stage.emulator.team.user(id);
  /** Users with a phone and a name of two words. */
  const people = (count: number): readonly UserRecord[] => {
    const found = stage.emulator.team
      .users()
      .filter(({ first, last, phone }) => /^[A-Za-z]+ [A-Za-z]+$/.test(`${first} ${last}`) && phone !== null);
    if (found.length < count) throw new Error(`the team has ${found.length} such users`);
    return found.slice(0, count);
  };
  const person = () => {
    const [one] = people(1);
    if (one === undefined) throw new Error('nobody');
    return one;
  };
  const set = (id: number, values: string) => stage.sql(`update mirror.users set ${values} where id = ${id}`);
  const names = (id: number) =>
    stage.sql(`
      select u.first_name, u.last_name, b.first_name as agreed_first, b.last_name as agreed_last from mirror.users u
      join sync.user_base b using (team_id, id) where id = ${id}`);
  const held = () => stage.sql('select user_id, field, reason, service_value from report.held order by 1, 2');

  it('musterd sends an edit of the name after the service cleared the name (A16)', async () => {
    await open();
    const { id, first, last } = person();
    await set(id, `phone = '15550190'`);
    expect(await stage.run()).toMatchObject({ outcome: 'partial', waiting: 0 });
    expect(await held()).toEqual([]);
    expect((await names(id))[0]?.slice(0, 2)).toEqual([first, last]);
    await set(id, `first_name = 'Robin', last_name = 'Doe'`);
    expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 0, counts: { pushed: 1 } });
    expect(onService(id)).toMatchObject({ first: 'Robin', last: 'Doe', phone: '15550190' });
    expect(await names(id)).toEqual([['Robin', 'Doe', 'Robin', 'Doe']]);
  });

  it('musterd sends an edit of the name that a person made while the service cleared the name', async () => {
    await open();
    const { id } = person();
    await set(id, `phone = '15550190'`);
    stage.emulator.after(update, async () => {
      await set(id, `first_name = 'Robin', last_name = 'Doe'`);
    });
    expect(await stage.run()).toMatchObject({ outcome: 'partial' });
    expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 0, counts: { pushed: 1 } });
    expect(onService(id)).toMatchObject({ first: 'Robin', last: 'Doe', phone: '15550190' });
    expect(await names(id)).toEqual([['Robin', 'Doe', 'Robin', 'Doe']]);
  });

  it('musterd restores a cleared name in the next run (A16)', async () => {
    await open();
    const { id, first, last } = person();
    await set(id, `phone = '15550190'`);
    await stage.run();
    expect(onService(id)).toMatchObject({ first: '', last: '' });
    expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 0, counts: { pushed: 1 } });
    expect(onService(id)).toMatchObject({ first, last, phone: '15550190' });
    expect(await names(id)).toEqual([[first, last, first, last]]);
    stage.emulator.clearRequests();
    expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 0 });
    expect(stage.updates()).toEqual([]);
  });
});

/** What people and runs do on a service that clears names. */
const step = fc.record({
  at: fc.nat(5),
  field: fc.constantFrom('phone', 'role_id', 'email', 'first_name', 'service name', 'nothing'),
  value: fc.nat(3),
});

const edit = (at: number, field: 'phone' | 'first_name') => ({ at, field, value: at % 2 });

describe('random edits on a service that clears names', () => {
  let stage: Stage;
  afterEach(() => stage.close());
  const heldFor = async (reason: 'conflict' | 'unsupported') =>
    (await stage.sql(`select user_id from report.held where field = 'name' and reason = '${reason}'`)).map(
      ([id]) => Number(id),
    );

  it('the service clears at most one name, which the next run restores unless the name is held (A16)', async () => {
    const rounds = Number(process.env['CLEARED_NAMES'] ?? 2);
    stage = await createStage({
      emulator: { users: 6, variants: { 'email-update': 'clears-name' } },
      config: { guard: { maxRows: 100, maxShare: 1, maxRoleChanges: 100 } },
    });
    const users = stage.emulator.team.users();
    for (const [at, { id }] of users.entries())
      stage.emulator.team.editUser(id, {
        first: at === 0 ? 'Anne Marie' : `First${at}`,
        last: `Last${at}`,
        email: `user${at}@example.com`,
        phone: `1555010${at}`,
        roleId: 4,
      });
    await stage.run();
    const initial = stage.emulator.team.users();
    const putBack = await backUp(stage);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(step, { maxLength: 4 }), { minLength: 2, maxLength: 5 }),
        async (runs) => {
          for (const record of initial) stage.emulator.team.showUser(record.id, record);
          await putBack();
          const cleared = new Set<number>();
          const disputed = new Set<number>();
          for (const steps of [...runs, [], []]) {
            for (const { at, field, value } of steps) {
              const id = initial[at]?.id ?? 0;
              if (field === 'service name')
                stage.emulator.team.editUser(id, { first: `Web${value}`, last: 'Name' });
              const sets = {
                phone: `phone = '1555020${value}'`,
                role_id: `role_id = ${[4, 17, 23, 1042][value]}`,
                email: `email = 'new${value}.${id}@example.com'`,
                first_name: `first_name = 'New${value}', last_name = 'Name'`,
              };
              const set = sets[field as keyof typeof sets] as string | undefined;
              if (set !== undefined) await stage.sql(`update mirror.users set ${set} where id = ${id}`);
            }
            const without = stage.emulator.team.users().filter(({ first, last }) => `${first}${last}` === '');
            for (const { id } of without) cleared.add(id);
            await stage.run();
            const back = stage.emulator.team.users();
            // A person is asked where nobody knows the halves of the name, or which of two names counts.
            const asked = await heldFor('unsupported');
            for (const id of await heldFor('conflict')) disputed.add(id);
            for (const { id } of without)
              if (!disputed.has(id) && !(id === initial[0]?.id && asked.includes(id)))
                expect(back.find((user) => user.id === id)).not.toMatchObject({ first: '', last: '' });
          }
          expect(cleared.size).toBeLessThanOrEqual(1);
          const ledger = async () => await stage.sql('select count(*) from sync.changes');
          const before = await ledger();
          await stage.run();
          expect(await ledger()).toEqual(before);
        },
      ),
      // The name that was cleared is to go back while the edits of everybody are stopped by the limits.
      {
        numRuns: rounds,
        examples: [
          [
            [
              [edit(3, 'phone'), edit(5, 'first_name'), edit(1, 'phone')],
              [edit(0, 'phone'), edit(4, 'phone'), edit(2, 'phone')],
            ],
          ],
        ],
      },
    );
  });
});
