import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { parseFaults } from '../../src/emulator/faults/faults.ts';
import { createStages, type Stage, type StageOptions } from './stage.ts';

const stages = createStages();
afterAll(() => stages.close());

/** What the service answers a request with that it cannot serve. */
const status = (statusCode: number) => Object.assign(new Error(`answers ${statusCode}`), { statusCode });

describe('musterd', () => {
  let stage: Stage;
  afterEach(() => stage.close());

  const always = { times: 'always' } as const;
  const play = (...faults: readonly string[]) => {
    for (const one of parseFaults(faults)) stage.emulator.addFault(one);
  };
  const onService = (id: number) => stage.emulator.team.user(id);
  /** Users with every address and a name of two words, in the order of their ids. */
  const people = (count: number) => {
    const found = stage.emulator.team.users().filter(({ email, phone, first, last }) => {
      const names = /^[A-Za-z]+ [A-Za-z]+$/.test(`${first} ${last}`);
      return names && email !== null && phone !== null;
    });
    if (found.length < count) throw new Error(`the team has ${found.length} such users`);
    return found.slice(0, count);
  };
  const person = () => {
    const [one] = people(1);
    if (one === undefined) throw new Error('nobody');
    return one;
  };
  const set = (id: number, values: string) => stage.sql(`update mirror.users set ${values} where id = ${id}`);
  const openPushes = () => stage.sql(`select count(*) from sync.changes where state = 'open'`);

  /** Both sides are equal, and the deployment is known to leave names alone. */
  const open = async (options: StageOptions = {}) => {
    stage = await stages.open(options);
    const last = stage.emulator.team.users().at(-1);
    await set(last?.id ?? 0, `phone = '15550190'`);
    expect((await stage.run()).counts.pushed).toBe(1);
    stage.emulator.clearRequests();
  };
  const absentAtOnce = { absence: { confirmAfterMs: 0 } };
  const hide = (id: number) => stage.emulator.team.showUser(id, { listed: false, answered: false });

  it('marks no user as gone while the service refuses lookups', async () => {
    await open({ config: absentAtOnce });
    stage.emulator.setVariants({ 'unfiltered-users': 'refuse' });
    const { id, email } = person();
    stage.emulator.team.showUser(id, { listed: false });
    const unhook = stage.emulator.before({ path: '/v1/users/get', ...always }, ({ body }) => {
      const asked = body as { readonly email?: readonly string[]; readonly phone?: readonly string[] };
      if (asked.email?.includes(email ?? '') || (asked.phone ?? []).length > 0) throw status(422);
    });
    for (const _ of [1, 2, 3]) {
      const { counts, warnings } = await stage.run();
      expect(counts).not.toHaveProperty('gone');
      expect(warnings.join()).toMatch(/does not take \d+ of the addresses/);
      expect(warnings.join()).not.toContain(email);
    }
    expect(await stage.sql('select count(*) from mirror.users where gone_at is not null')).toEqual([['0']]);
    unhook();
    await stage.run();
    expect(await stage.sql(`select resolved, gone_at is null from mirror.users where id = ${id}`)).toEqual([
      ['true', 'true'],
    ]);
  });

  it('ends a run as partial and writes nothing if all lookups fail', async () => {
    await open();
    const rows = () =>
      stage.sql('select md5(string_agg(u::text || u.xmin, $$,$$ order by id)) from mirror.users u');
    const before = await rows();
    play('status,code=400,path=/v1/users/get,times=always');
    const { outcome, reasons } = await stage.run();
    expect(outcome).toBe('partial');
    expect(reasons.join()).toMatch(/no lookup answers any more for \d+ of 30 users/);
    expect(await rows()).toEqual(before);
    stage.emulator.clearFaults();
    expect(await stage.run()).toMatchObject({ outcome: 'complete' });
    expect(await rows()).toEqual(before);
  });

  it('confirms a cleared phone by an answer without blank fields', async () => {
    await open({ emulator: { variants: { blank: 'absent' } } });
    const { id } = person();
    await set(id, 'phone = null');
    expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 0, counts: { pushed: 1 } });
    expect(onService(id).phone).toBeNull();
    expect(await stage.sql(`select phone is null from sync.user_base where id = ${id}`)).toEqual([['true']]);
    stage.emulator.clearRequests();
    expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 0 });
    expect(stage.updates()).toEqual([]);
    expect(await openPushes()).toEqual([['0']]);
  });

  it.each([{ lost: 'mirror.users' }, { lost: 'mirror.users and sync.user_base' }])(
    'closes an open push after the row was lost: $lost',
    async ({ lost }) => {
      await open();
      const { id } = person();
      await set(id, `email = 'new@example.com'`);
      play('reset-before,path=/v1/users/update,times=1');
      await stage.run();
      expect(await openPushes()).toEqual([['1']]);
      await stage.sql(
        `do $$ begin perform set_config('musterd.writing', 'on', true); ${lost
          .split(' and ')
          .map((table) => `delete from ${table} where id = ${id};`)
          .join(' ')} end $$`,
      );
      await stage.run();
      expect(await openPushes()).toEqual([['0']]);
      expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 0 });
      expect(await stage.sql(`select email from mirror.users where id = ${id}`)).toEqual([
        [onService(id).email],
      ]);
    },
  );

  it('postpones a departure while an editor locks the row', async () => {
    await open({ config: absentAtOnce });
    const [one, two] = people(2);
    if (one === undefined || two === undefined) throw new Error('nobody');
    for (const { id } of [one, two]) hide(id);
    expect(await stage.run()).toMatchObject({ counts: { missing: 2 } });
    const gone = () => stage.sql('select id from mirror.users where gone_at is not null order by id');
    await stage.db.transaction(async (tx) => {
      await tx.executeQuery({
        sql: `select from mirror.users where id = ${one.id} for update`,
        parameters: [],
        query: { kind: 'RawNode', sqlFragments: [], parameters: [] },
        queryId: { queryId: 'held' },
      });
      expect(await stage.run()).toMatchObject({ outcome: 'partial', counts: { missing: 1, gone: 1 } });
      expect(await gone()).toEqual([[String(two.id)]]);
    });
    expect(await stage.run()).toMatchObject({ outcome: 'complete', counts: { gone: 1 } });
    expect(await gone()).toEqual([[String(one.id)], [String(two.id)]]);
    expect(await stage.sql(`select count(*) from sync.changes where kind = 'tombstone'`)).toEqual([['2']]);
  });

  it.each(['+1 555 010 0166', ' 15550166 '])(
    'lets an editor change another column beside the stored phone "%s"',
    async (phone) => {
      await open({ emulator: { variants: { 'phone-writes': 'kept' } } });
      const { id } = person();
      stage.emulator.team.editUser(id, { phone });
      await stage.run();
      const stored = await stage.sql(`select phone from mirror.users where id = ${id}`);
      stage.emulator.clearRequests();
      await set(id, `email = 'new@example.com'`);
      expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 0, counts: { pushed: 1 } });
      expect(stage.updates()).toEqual([{ id, email: 'new@example.com' }]);
      expect(onService(id)).toMatchObject({ phone, email: 'new@example.com' });
      expect(await stage.sql(`select phone from mirror.users where id = ${id}`)).toEqual(stored);
    },
  );
});
