import { afterEach, describe, expect, it } from 'vitest';
import type { UserRecord } from '../../src/emulator/played-team.ts';
import { runMusterd } from './run-musterd.ts';
import { createStage, type Stage, type StageOptions } from './stage.ts';

describe('a service that clears the name where an update leaves it out', () => {
  let stage: Stage;
  afterEach(() => stage.close());

  const update = { path: '/v1/users/update' } as const;
  const open = async (policy: 'hold' | 'service-wins' | 'mirror-wins', options: StageOptions = {}) => {
    stage = await createStage({
      emulator: { variants: { 'email-update': 'clears-name' } },
      config: { policy: { name: policy } },
      ...options,
    });
    await stage.run();
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

  it.each(['hold', 'service-wins', 'mirror-wins'] as const)(
    'an edit of the name after it was cleared is sent, with the policy %s',
    async (policy) => {
      await open(policy);
      const { id, first, last } = person();
      await set(id, `phone = '15550190'`);
      expect(await stage.run()).toMatchObject({ outcome: 'partial', waiting: 1 });
      expect(await held()).toEqual([[String(id), 'name', 'conflict', '']]);
      expect((await names(id))[0]?.slice(0, 2)).toEqual([first, last]);
      await set(id, `first_name = 'Robin', last_name = 'Doe'`);
      expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 0, counts: { pushed: 1 } });
      expect(onService(id)).toMatchObject({ first: 'Robin', last: 'Doe', phone: '15550190' });
      expect(await names(id)).toEqual([['Robin', 'Doe', 'Robin', 'Doe']]);
    },
  );

  it.each(['hold', 'service-wins', 'mirror-wins'] as const)(
    'so is one that is made while the name is being cleared, with the policy %s',
    async (policy) => {
      await open(policy);
      const { id } = person();
      await set(id, `phone = '15550190'`);
      stage.emulator.after(update, async () => {
        await set(id, `first_name = 'Robin', last_name = 'Doe'`);
      });
      expect(await stage.run()).toMatchObject({ outcome: 'partial' });
      expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 0, counts: { pushed: 1 } });
      expect(onService(id)).toMatchObject({ first: 'Robin', last: 'Doe', phone: '15550190' });
      expect(await names(id)).toEqual([['Robin', 'Doe', 'Robin', 'Doe']]);
    },
  );

  it('the name that was cleared is put back by the next run', async () => {
    await open('service-wins');
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

describe('a service that leaves names alone', () => {
  let stage: Stage;
  afterEach(() => stage.close());

  const set = (id: number, values: string) => stage.sql(`update mirror.users set ${values} where id = ${id}`);
  const held = () => stage.sql('select user_id, field from report.held order by 1, 2');
  const nameOf = (id: number) => stage.sql(`select first_name, last_name from mirror.users where id = ${id}`);
  /** Somebody takes the last name of the first of these users while that user's phone is being sent. */
  const suspect = async () => {
    stage = await createStage();
    await stage.run();
    const [one, two] = stage.emulator.team
      .users()
      .filter(({ first, last, email }) => /^[A-Za-z]+ [A-Za-z]+$/.test(`${first} ${last}`) && email !== null);
    if (one === undefined || two === undefined) throw new Error('nobody');
    await set(one.id, `phone = '15550190'`);
    stage.emulator.before({ path: '/v1/users/update' }, () => {
      stage.emulator.team.editUser(one.id, { last: '' });
    });
    expect(await stage.run()).toMatchObject({ outcome: 'partial', waiting: 1 });
    expect(await held()).toEqual([[String(one.id), 'name']]);
    stage.emulator.clearRequests();
    return [one, two] as const;
  };

  it('a name that somebody shortens during a push is pulled once another one is seen to be kept', async () => {
    const [one, two] = await suspect();
    await set(one.id, `phone = '15550191'`);
    expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 1, counts: { pushed: 1 } });
    await set(two.id, `phone = '15550192'`);
    expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 0, counts: { pushed: 1 } });
    // The one whose name may have been harmed is sent with what is left of it, the other without.
    expect(stage.updates()).toEqual([
      { id: one.id, phone: '15550191', first_name: one.first, last_name: '' },
      { id: two.id, phone: '15550192' },
    ]);
    expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 0, counts: { pulled: 1 } });
    expect(await nameOf(one.id)).toEqual([[one.first, '']]);
    stage.emulator.clearRequests();
    await set(two.id, `phone = '15550193'`);
    await stage.run();
    expect(stage.updates()).toEqual([{ id: two.id, phone: '15550193' }]);
  });

  it('so it is once "check --write-probe" says that names are kept', async () => {
    const [one, two] = await suspect();
    const env = { ...stage.emulator.environment, DATABASE_URL: stage.url };
    expect((await runMusterd(['check', '--write-probe', two.email ?? ''], env)).code).toBe(0);
    expect(await held()).toEqual([]);
    expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 0, counts: { pulled: 1 } });
    expect(await nameOf(one.id)).toEqual([[one.first, '']]);
  });
});
