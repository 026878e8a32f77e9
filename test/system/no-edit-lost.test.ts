import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { parseFaults } from '../../src/emulator/faults.ts';
import type { LoggedRequest } from '../../src/emulator/request-log.ts';
import type { UserRecord } from '../../src/emulator/played-team.ts';
import { createStage, createStages, type Stage, type StageOptions } from './stage.ts';

const stages = createStages();
afterAll(() => stages.close());

/** Ids of the users that an update names. */
const idsOf = ({ body }: Pick<LoggedRequest, 'body'>) =>
  (body as { readonly users: readonly { readonly id: number }[] }).users.map(({ id }) => id);

/** What the service answers a request with that it cannot serve. */
const status = (statusCode: number) => Object.assign(new Error(`answers ${statusCode}`), { statusCode });

describe('no edit is lost and none is sent again', () => {
  let stage: Stage;
  afterEach(() => stage.close());

  const update = { path: '/v1/users/update' } as const;
  const always = { times: 'always' } as const;
  const play = (...faults: readonly string[]) => {
    for (const one of parseFaults(faults)) stage.emulator.addFault(one);
  };
  const onService = (id: number) => stage.emulator.team.user(id);
  const nameOf = ({ first, last }: UserRecord) => `${first} ${last}`;
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
  const ids = (users: readonly UserRecord[]) => users.map(({ id }) => id).join(', ');
  const set = (id: number, values: string) => stage.sql(`update mirror.users set ${values} where id = ${id}`);
  const newEmails = (users: readonly UserRecord[]) =>
    stage.sql(`update mirror.users set email = 'new' || id || '@example.com' where id in (${ids(users)})`);
  const held = () =>
    stage.sql('select user_id, field, reason, mirror_value from report.held order by user_id, field');
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

  it('a user whom the service answers with a 500 for ever does not starve the others, and is held in the end', async () => {
    await open();
    const [bad, ...others] = people(6);
    if (bad === undefined) throw new Error('nobody');
    stage.emulator.before({ ...update, ...always }, (request) => {
      if (idsOf(request).includes(bad.id)) throw status(500);
    });
    await newEmails([bad, ...others]);
    expect(await stage.run()).toMatchObject({ outcome: 'partial' });
    await stage.run();
    for (const { id } of others) expect(onService(id).email).toBe(`new${id}@example.com`);
    for (const _ of [1, 2]) await stage.run();
    expect(await held()).toEqual([[String(bad.id), 'email', 'ineffective', `new${bad.id}@example.com`]]);
    expect(await openPushes()).toEqual([['0']]);
    stage.emulator.clearRequests();
    expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 1 });
    expect(stage.updates()).toEqual([]);
  });

  const clearing: StageOptions = { emulator: { variants: { 'email-update': 'clears-name' } } };
  const keepsName = () =>
    stage.sql(`select value ->> 'keeps_name' from sync.learned where value ? 'keeps_name'`);

  it('a deployment that clears names is known by the first, and that one is put back', async () => {
    stage = await stages.open(clearing);
    const users = people(5);
    const names = users.map(nameOf);
    const lost = () => users.filter(({ id }, i) => nameOf(onService(id)) !== names[i]).map(({ id }) => id);
    await newEmails(users);
    expect(await stage.run()).toMatchObject({ outcome: 'partial', waiting: 0 });
    expect(lost()).toHaveLength(1);
    expect(await keepsName()).toEqual([['false']]);
    // The others are sent with their names from then on, and the one that was lost is put back.
    for (const pushed of [5, undefined]) {
      const { outcome, counts, waiting } = await stage.run();
      expect({ outcome, waiting, pushed: counts.pushed }).toEqual({
        outcome: 'complete',
        waiting: 0,
        pushed,
      });
      expect(lost()).toEqual([]);
    }
    for (const { id } of users) expect(onService(id).email).toBe(`new${id}@example.com`);
    // The name is right again, and the deployment is what it was all the same.
    const [first] = users;
    if (first === undefined) throw new Error('nobody');
    await set(first.id, `phone = '15550191'`);
    expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 0, counts: { pushed: 1 } });
    expect(lost()).toEqual([]);
    // An update that carries the name is none of those.
    await set(users[1]?.id ?? 0, `first_name = 'Robin', last_name = 'Doe'`);
    await stage.run();
    expect(onService(users[1]?.id ?? 0)).toMatchObject({ first: 'Robin', last: 'Doe' });
  });

  it('an edit that needs a name nobody can cut in two is held, until its split is accepted', async () => {
    stage = await createStage(clearing);
    const made = { first: 'Anne Marie', last: 'van den Berg', email: 'am@example.com' };
    const { id } = stage.emulator.team.addUser(made);
    await stage.run();
    await newEmails(people(2));
    for (const _ of [1, 2, 3]) await stage.run();
    await set(id, `email = 'berg@example.com'`);
    for (const heldAnew of [1, undefined]) {
      const { outcome, waiting, counts } = await stage.run();
      expect({ outcome, waiting, held: counts.held }).toEqual({
        outcome: 'complete',
        waiting: 1,
        held: heldAnew,
      });
      expect((await held()).at(-1)).toEqual([String(id), 'email', 'unsupported', 'berg@example.com']);
    }
    expect(await stage.sql(`select detail from report.held where user_id = ${id}`)).toEqual([
      [
        'an update without the name clears it on this service, and the split of "Anne Marie van den Berg" is a guess: ' +
          "set first_name and last_name, or name_split = 'known'",
      ],
    ]);
    expect(onService(id)).toMatchObject(made);
    await set(id, `first_name = 'Anne Marie', last_name = 'van den Berg'`);
    expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 0 });
    expect(onService(id)).toMatchObject({ ...made, email: 'berg@example.com' });
  });

  /** A service that does not take a name with this first half. */
  const refuseName = (bad: string) =>
    stage.emulator.before({ ...update, ...always }, ({ body }) => {
      const { users } = body as { readonly users: readonly { readonly first_name?: string }[] };
      if (users.some(({ first_name: first }) => first === bad)) throw status(422);
    });

  it('a name that the service refuses costs nobody the name they have', async () => {
    stage = await stages.open(clearing);
    const { id, first, last } = person();
    refuseName('Robin');
    await set(id, `first_name = 'Robin', last_name = 'Doe', email = 'robin@example.com'`);
    expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 1, counts: { pushed: 1 } });
    expect(onService(id)).toMatchObject({ first, last, email: 'robin@example.com' });
    expect(await stage.sql('select field, reason, service_value from report.held')).toEqual([
      ['name', 'refused', `${first} ${last}`],
    ]);
    // The email went with a name: nothing was learned of updates without one.
    expect(await keepsName()).toEqual([]);
  });

  it('what is left of a push that held the name is no evidence that names are kept', async () => {
    stage = await stages.open(clearing);
    const { id } = person();
    await set(id, `first_name = 'Robin', last_name = 'Doe', email = 'robin@example.com'`);
    const unhook = stage.emulator.rewrite({ ...update, ...always }, (body) =>
      body.replaceAll(/"email":"[^"]*",?/g, ''),
    );
    expect(await stage.run()).toMatchObject({ outcome: 'partial' });
    unhook();
    expect(await stage.run()).toMatchObject({ outcome: 'complete', counts: { pushed: 1 } });
    expect(await keepsName()).toEqual([]);
  });

  it('a deployment that begins to clear names is found out field by field as well', async () => {
    await open();
    expect(await keepsName()).toEqual([['true']]);
    stage.emulator.setVariants({ 'email-update': 'clears-name' });
    refuseName('Robin');
    const { id } = person();
    await set(id, `first_name = 'Robin', last_name = 'Doe', email = 'robin@example.com'`);
    const { outcome, reasons } = await stage.run();
    expect({ outcome, reasons }).toEqual({
      outcome: 'partial',
      reasons: [
        `an update of user ${id} changed a name that was not sent: pushing stopped, and the next run puts the name back`,
      ],
    });
    expect(await stage.sql('select field, reason, service_value from report.held')).toEqual([]);
    expect(await keepsName()).toEqual([['false']]);
  });

  it('nobody is called gone while the service refuses to look addresses up', async () => {
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

  it('a rename that somebody makes during a push is pulled, not held', async () => {
    await open();
    const { id } = person();
    await set(id, `email = 'new@example.com'`);
    stage.emulator.before(update, () => {
      stage.emulator.team.editUser(id, { first: 'Robin', last: 'Renamed' });
    });
    expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 0, counts: { pushed: 1 } });
    expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 0 });
    expect(await held()).toEqual([]);
    expect(await stage.sql(`select first_name, last_name, email from mirror.users where id = ${id}`)).toEqual(
      [['Robin', 'Renamed', 'new@example.com']],
    );
  });

  it('a value that the mirror wins with and the service refuses is pushed once, not in every run', async () => {
    await open({
      emulator: { variants: { 'phone-writes': 'checked' } },
      config: { policy: { phone: 'mirror-wins' } },
    });
    const { id } = person();
    stage.emulator.team.editUser(id, { phone: '15550101' });
    await set(id, `phone = '99'`);
    expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 1 });
    expect(stage.updates()).toHaveLength(1);
    for (const _ of [1, 2]) expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 1 });
    expect(stage.updates()).toHaveLength(1);
    expect(await held()).toEqual([[String(id), 'phone', 'refused', '99']]);
    expect(onService(id).phone).toBe('15550101');
  });

  it.each([
    'reset-before,path=/v1/users/update,times=1',
    'reset-after,path=/v1/users/update,times=1',
    'status,code=504,effect=none,path=/v1/users/update,times=1',
    'status,code=504,effect=applied,path=/v1/users/update,times=1',
  ])('a conflict that the mirror wins ends well after %s', async (fault) => {
    await open({ config: { policy: { email: 'mirror-wins' } } });
    const { id } = person();
    stage.emulator.team.editUser(id, { email: 'service@example.com' });
    await set(id, `email = 'mirror@example.com'`);
    play(fault);
    await stage.run();
    for (const _ of [1, 2]) await stage.run();
    expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 0 });
    expect(onService(id).email).toBe('mirror@example.com');
    expect(await stage.sql(`select email from mirror.users where id = ${id}`)).toEqual([
      ['mirror@example.com'],
    ]);
    expect(await held()).toEqual([]);
    expect(await openPushes()).toEqual([['0']]);
  });

  it('a conflict that the mirror wins ends well after a timeout where users are found by address alone', async () => {
    await open({
      emulator: { variants: { 'member-extras': 'email-phone' } },
      config: { policy: { email: 'mirror-wins' } },
    });
    stage.emulator.setVariants({ 'unfiltered-users': 'none', blank: 'null' });
    const { id } = person();
    stage.emulator.team.editUser(id, { phone: null, email: 'service@example.com' });
    await set(id, `email = 'mirror@example.com'`);
    play('reset-before,path=/v1/users/update,times=1');
    for (const _ of [1, 2, 3]) await stage.run();
    expect(onService(id).email).toBe('mirror@example.com');
    expect(await held()).toEqual([]);
    // No lookup by the agreed or the sent email finds the user: only one by what the service showed does.
    expect(
      await stage.sql(
        `select outcome from sync.changes where kind = 'push' and user_id = ${id} order by change_id`,
      ),
    ).toEqual([['{"email":"unanswered"}'], ['{"email":"confirmed"}']]);
  });

  it('an edit of case alone whose answer was lost is confirmed by what shows, at once', async () => {
    await open({ config: { push: { quietPeriodMs: 600_000 } } });
    const { id, email } = person();
    const upper = email?.toUpperCase() ?? '';
    await set(id, `email = '${upper}'`);
    play('reset-after,path=/v1/users/update,times=1');
    await stage.run();
    expect(await openPushes()).toEqual([['0']]);
    expect(onService(id).email).toBe(upper);
    expect(await stage.sql(`select email from sync.user_base where id = ${id}`)).toEqual([[upper]]);
  });

  it('an old edit of a user who came back is never pushed by itself', async () => {
    await open({ config: absentAtOnce });
    const { id } = person();
    await set(id, `email = 'pending@example.com'`);
    hide(id);
    for (const _ of [1, 2]) await stage.run();
    stage.emulator.team.showUser(id, { listed: true });
    await stage.run();
    stage.emulator.team.showUser(id, { answered: true });
    expect(await stage.run()).toMatchObject({ waiting: 1 });
    stage.emulator.team.editUser(id, { email: 'back@example.com', phone: '15550177' });
    for (const _ of [1, 2]) expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 1 });
    expect(stage.updates()).toEqual([]);
    expect(await held()).toEqual([[String(id), 'email', 'returned', 'pending@example.com']]);
    await set(id, `email = 'decided@example.com'`);
    for (const _ of [1, 2]) await stage.run();
    expect(stage.updates().map(({ email }) => email)).not.toContain('pending@example.com');
  });

  it('a service that refuses to look up anybody makes the run partial, and nothing is noted of it', async () => {
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

  it('a held field of a user who has left does not wait for a person any more', async () => {
    await open({ config: absentAtOnce });
    const { id } = person();
    stage.emulator.team.editUser(id, { email: 'service@example.com' });
    await set(id, `email = 'mirror@example.com'`);
    expect(await stage.run()).toMatchObject({ waiting: 1 });
    hide(id);
    await stage.run();
    expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 0, counts: { gone: 1 } });
    expect(await held()).toHaveLength(1);
    expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 0 });
  });

  it('a cleared phone is confirmed by a deployment that leaves blank fields out', async () => {
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
    'an open push of a user whose row is lost is closed: $lost',
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

  it('an editor who holds the row of a user that is due to go does not fail the run', async () => {
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

  it('a user who is found by phone alone is pushed', async () => {
    await open();
    stage.emulator.setVariants({ 'unfiltered-users': 'none' });
    // This deployment finds nobody by email.
    stage.emulator.rewrite({ path: '/v1/users/get', ...always }, (text, { body }) =>
      ((body as { readonly email?: readonly string[] }).email ?? []).length > 0 ? '{"memberships":[]}' : text,
    );
    const { id } = person();
    await set(id, `email = 'new@example.com'`);
    await stage.run();
    expect(onService(id).email).toBe('new@example.com');
    expect(await openPushes()).toEqual([['0']]);
  });

  it.each(['+1 555 010 0166', ' 15550166 '])(
    'a stored phone such as "%s" does not keep anybody from editing another column',
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
