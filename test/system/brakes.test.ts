import pg from 'pg';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { parseFaults } from '../../src/emulator/faults.ts';
import { runMusterd } from './run-musterd.ts';
import { createStages, type Stage, type StageOptions } from './stage.ts';

const stages = createStages();
afterAll(() => stages.close());

let stage: Stage;
afterEach(() => stage.close());

async function open(options: StageOptions = {}) {
  stage = await stages.open({ emulator: { users: 100, tags: 1, fields: 1 }, ...options });
  stage.emulator.clearRequests();
}

const musterd = (...args: readonly string[]) =>
  runMusterd(args, {
    ...stage.emulator.environment,
    DATABASE_URL: stage.url,
    MUSTERD__rate__perMinute: '100000',
  });
const users = () => stage.emulator.team.users();
const admins = () => users().filter(({ roleId }) => roleId === 1);
/** Users with a name of two words, an email and a phone, who are no administrators. */
const people = () =>
  users().filter(
    ({ first, last, email, phone, roleId }) =>
      /^\S+$/.test(first) && /^\S+$/.test(last) && email !== null && phone !== null && roleId !== 1,
  );
const held = () =>
  stage.sql(`select user_id, field, reason, mirror_value from report.held h where exists (
    select from sync.held_fields f where f.user_id = h.user_id and f.field = h.field and (f.alone or f.reason not in ('limit', 'review')))
    order by 1, 2`);
const setRole = (roleId: number, ids: readonly number[]) =>
  stage.sql(`update mirror.users set role_id = ${roleId} where id in (${ids.join(', ')})`);

/** Leaves so many administrators on both sides, and answers their ids. */
async function keepAdmins(count: number): Promise<readonly number[]> {
  const ids = admins().map(({ id }) => id);
  for (const id of ids.slice(count)) stage.emulator.team.editUser(id, { roleId: 4 });
  await stage.run();
  stage.emulator.clearRequests();
  return ids.slice(0, count);
}

const late = () => {
  for (const fault of parseFaults(['late,answer=504,requests=40,path=/v1/users/update,times=1']))
    stage.emulator.addFault(fault);
};
const quiet = { config: { push: { quietPeriodMs: 600_000 } } };

describe('a braked field', () => {
  it('stays held when it is given a second value that is braked too, whatever else is edited', async () => {
    await open();
    const [admin = 0] = await keepAdmins(1);
    await setRole(4, [admin]);
    await stage.run();
    await stage.sql(`update mirror.users set role_id = 17, email = 'x@example.com' where id = ${admin}`);
    expect(await stage.run()).toMatchObject({ waiting: 1, counts: { pushed: 1 } });
    expect(await held()).toEqual([[String(admin), 'role_id', 'limit', '17']]);
    await stage.run();
    expect(stage.emulator.team.user(admin)).toMatchObject({ roleId: 1, email: 'x@example.com' });
  });

  it('is sent by the next run once nothing limits it any more, and not while something does', async () => {
    await open();
    const [one, other] = people();
    const [id, its] = [one?.id ?? 0, other?.id ?? 0];
    const phoneOf = (user: number) => stage.emulator.team.user(user).phone;
    const [before, wanted] = [phoneOf(id), phoneOf(its)];
    await stage.sql(`update mirror.users set phone = '${wanted}' where id = ${id}`);
    for (const _ of [1, 2]) expect(await stage.run()).toMatchObject({ waiting: 1, counts: {} });
    expect([phoneOf(id), await held()]).toEqual([before, [[String(id), 'phone', 'limit', wanted]]]);
    stage.emulator.team.editUser(its, { phone: '15550999' });
    expect(await stage.run()).toMatchObject({ waiting: 0, counts: { pulled: 1, pushed: 1 } });
    expect([phoneOf(id), await held()]).toEqual([wanted, []]);
  });

  it('is held where a hold that somebody asked for has just ended', async () => {
    await open();
    const [admin = 0] = await keepAdmins(1);
    await setRole(4, [admin]);
    await musterd('hold', String(admin), 'role_id', '--until', '1d', '--reason', 'not yet');
    await stage.sql(`update sync.held_fields set until = clock_timestamp() - interval '1 s'`);
    await stage.sql(`update mirror.users set email = 'x@example.com' where id = ${admin}`);
    expect(await stage.run()).toMatchObject({ waiting: 1 });
    expect(await held()).toEqual([[String(admin), 'role_id', 'limit', '4']]);
    expect(stage.emulator.team.user(admin).roleId).toBe(1);
  });

  it('is not sent when its row is locked while the holds are written', async () => {
    await open();
    const [admin = 0] = await keepAdmins(1);
    await stage.sql(`update mirror.users set email = 'x@example.com', role_id = 4 where id = ${admin}`);
    stage.emulator.team.editUser(admin, { phone: '15550133' });
    const editor = new pg.Client({ connectionString: stage.url });
    await editor.connect();
    let reads = 0;
    stage.emulator.before({ path: '/v1/users/get', times: 'always' }, async () => {
      reads += 1;
      if (reads === 1) {
        await editor.query('begin');
        await editor.query(`select from mirror.users where id = ${admin} for update`);
      } else if (reads === 2) await editor.query('commit');
    });
    expect(await stage.run()).toMatchObject({ outcome: 'partial', counts: { deferred: 1 } });
    await editor.end();
    expect(stage.emulator.team.user(admin).roleId).toBe(1);
    expect(await stage.run()).toMatchObject({ waiting: 1 });
    expect(stage.emulator.team.user(admin)).toMatchObject({ roleId: 1, email: 'x@example.com' });
  });

  it('that is resolved passes, whatever else of the user is edited meanwhile', async () => {
    await open();
    const [one, two] = people();
    await stage.sql(`update mirror.users set phone = '${two?.phone}' where id = ${one?.id}`);
    await stage.run();
    const seen = ['--if', two?.phone ?? ''];
    await musterd('resolve', String(one?.id), 'phone', '--take', 'mirror', ...seen, '--reason', 'one desk');
    await stage.sql(`update mirror.users set email = 'z@example.com' where id = ${one?.id}`);
    expect(await stage.run()).toMatchObject({ waiting: 0, counts: { pushed: 2 } });
    expect(stage.emulator.team.user(one?.id ?? 0)).toMatchObject({
      email: 'z@example.com',
      phone: two?.phone,
    });
    // It is used up: the same value later is asked about again.
    stage.emulator.team.editUser(one?.id ?? 0, { phone: one?.phone ?? null });
    await stage.run();
    await stage.sql(`update mirror.users set phone = '${two?.phone}' where id = ${one?.id}`);
    expect(await stage.run()).toMatchObject({ waiting: 1 });
  });
});

describe('a mass change', () => {
  it('that is approved demotes no last administrator and gives nobody another’s phone', async () => {
    await open();
    const [admin = 0] = await keepAdmins(1);
    const [shared, ...others] = people().slice(0, 40);
    const ids = [...others.map(({ id }) => id), admin];
    await stage.sql(
      `update mirror.users set email = 'new' || id || '@example.com' where id in (${ids.join(', ')})`,
    );
    await setRole(4, [admin]);
    await stage.sql(`update mirror.users set phone = '${shared?.phone}' where id = ${others[0]?.id}`);
    const refused = await stage.run();
    expect(refused).toMatchObject({ outcome: 'refused', refusal: { users: 40, stopped: true } });
    expect(refused.refusal?.reasons.at(-1)).toContain(
      `phone of ${others[0]?.id}: user ${shared?.id} has or is to get the same phone`,
    );
    expect(refused.refusal?.reasons.at(-1)).toContain(`role_id of ${admin}: no administrator would be left`);
    expect((await held()).map(([, field]) => field)).toEqual(['phone', 'role_id']);
    // What a limit on one field holds is in the batch, too; those who approve leave it out.
    const all = [...ids, admin].map((id) => `${id}.email`).join(',');
    const approve = ['approve', refused.batches.at(-1) ?? '', '--only', all];
    const { stdout } = await musterd(...approve, '--reason', 'the new domain');
    expect(stdout).toContain('40 users approved');
    expect(await stage.run()).toMatchObject({ waiting: 2, counts: { pushed: 40 } });
    expect(admins().map(({ id }) => id)).toEqual([admin]);
    expect(users().filter(({ phone }) => phone === shared?.phone).length).toBe(1);
    expect(await stage.sql('select field, reason from report.held order by field')).toEqual([
      ['phone', 'limit'],
      ['role_id', 'limit'],
    ]);
  });

  it('of which a part is held waits for a person still when the rest is below the limit', async () => {
    await open();
    const [shared, ...others] = people().slice(0, 31);
    await stage.sql(
      `update mirror.users set email = 'new' || id || '@example.com' where id in (${others.map(({ id }) => id).join(', ')})`,
    );
    const braked = others.slice(0, 6).map(({ id }) => id);
    await stage.sql(`update mirror.users set email = '${shared?.email}' where id in (${braked.join(', ')})`);
    const first = await stage.run();
    expect(first).toMatchObject({ outcome: 'refused', refusal: { users: 24 } });
    for (const waiting of [30, 30, 30])
      expect(await stage.run()).toMatchObject({
        outcome: 'complete',
        waiting,
        held: 6,
        batches: first.batches,
        refusal: { users: 24, stopped: false },
      });
    expect(stage.updates()).toEqual([]);
  });

  it('in which everything is held leaves nothing to approve', async () => {
    await open();
    await stage.sql(`update mirror.users set phone = '15550100'`);
    const refused = await musterd('reconcile', '--json');
    expect(refused.code).toBe(4);
    expect(JSON.parse(refused.stdout)).toMatchObject({ batch: null, held: 100, waiting: 100 });
    expect(await stage.run()).toMatchObject({ outcome: 'complete', held: 100 });
    expect(await stage.run()).toMatchObject({ outcome: 'complete', held: 100, refusal: null });
    expect(stage.updates()).toEqual([]);
  });
});

describe('brakes see what is on its way', () => {
  it('to another administrator whose demotion was resolved', async () => {
    await open();
    const [one = 0, two = 0] = await keepAdmins(2);
    const members = people()
      .slice(0, 3)
      .map(({ id }) => id);
    await setRole(17, [one, ...members]);
    expect(await stage.run()).toMatchObject({ waiting: 4 });
    await musterd('resolve', String(one), 'role_id', '--take', 'mirror', '--if', '17', '--reason', 'retires');
    await setRole(17, [two]);
    await stage.run();
    expect(admins().map(({ id }) => id)).toEqual([two]);
    expect(await held()).toContainEqual([String(two), 'role_id', 'limit', '17']);
  });

  it('to another user whose address was resolved', async () => {
    await open();
    const [one, two, three] = people();
    await stage.sql(`update mirror.users set email = '${three?.email}' where id = ${one?.id}`);
    await stage.run();
    stage.emulator.team.editUser(three?.id ?? 0, { email: 'left@example.com' });
    const seen = ['--if', three?.email ?? ''];
    await musterd('resolve', String(one?.id), 'email', '--take', 'mirror', ...seen, '--reason', 'hers now');
    await stage.sql(`update mirror.users set email = '${three?.email}' where id = ${two?.id}`);
    expect(await stage.run()).toMatchObject({ waiting: 1, counts: { pushed: 1 } });
    expect(
      users()
        .filter(({ email }) => email === three?.email)
        .map(({ id }) => id),
    ).toEqual([one?.id]);
  });

  it('with a demotion whose outcome is not known', async () => {
    await open(quiet);
    const [one = 0, two = 0] = await keepAdmins(2);
    await setRole(17, [one]);
    late();
    expect(await stage.run()).toMatchObject({ outcome: 'partial' });
    await setRole(17, [two]);
    await stage.run();
    stage.emulator.applyLateWrites();
    await stage.run();
    expect(admins().map(({ id }) => id)).toEqual([two]);
  });

  it('with an address whose outcome is not known', async () => {
    await open(quiet);
    const [one, two] = people();
    await stage.sql(`update mirror.users set email = 'same@example.com' where id = ${one?.id}`);
    late();
    await stage.run();
    await stage.sql(`update mirror.users set email = 'same@example.com' where id = ${two?.id}`);
    expect(await stage.run()).toMatchObject({ waiting: 1 });
    stage.emulator.applyLateWrites();
    await stage.run();
    expect(users().filter(({ email }) => email === 'same@example.com').length).toBe(1);
  });

  it('and what the service leaves out: the role of the last administrator', async () => {
    await open();
    const [admin = 0] = await keepAdmins(1);
    stage.emulator.rewrite({ path: '/v1/users/get', times: 'always' }, (body) =>
      body.replace(/"role_id":1,/g, '').replace(/,"role_id":1\}/g, '}'),
    );
    await setRole(4, [admin]);
    // What is not shown is not written over, so nothing is left for a brake to hold.
    const { warnings, counts } = await stage.run();
    expect(warnings.join()).toContain("is left out of the service's answers");
    expect(counts.pushed).toBeUndefined();
    expect(stage.emulator.team.user(admin).roleId).toBe(1);
  });

  it('and whom no lookup answers: the address of a member', async () => {
    await open();
    const [one, two] = people();
    stage.emulator.team.showUser(two?.id ?? 0, { answered: false });
    await stage.run();
    await stage.sql(`update mirror.users set email = '${two?.email}' where id = ${one?.id}`);
    expect(await stage.run()).toMatchObject({ waiting: 1 });
    expect(stage.emulator.team.user(one?.id ?? 0).email).toBe(one?.email);
  });
});

describe('an edit that is committed between the plan and the push', () => {
  it('waits for the next run, and for its guard', async () => {
    await open();
    const [admin = 0] = await keepAdmins(1);
    await stage.sql(`update mirror.users set email = 'x@example.com' where id = ${admin}`);
    stage.emulator.before({ path: '/v1/users/get', at: 2 }, () => setRole(4, [admin]).then(() => {}));
    expect(await stage.run()).toMatchObject({ outcome: 'complete', counts: { pushed: 1 } });
    expect(stage.emulator.team.user(admin)).toMatchObject({ roleId: 1, email: 'x@example.com' });
    expect(await stage.run()).toMatchObject({ waiting: 1 });
    expect(stage.emulator.team.user(admin).roleId).toBe(1);
  });

  it('is not sent to users of a batch: no new administrators, no common phone', async () => {
    await open();
    const ids = people()
      .slice(0, 25)
      .map(({ id }) => id);
    await stage.sql(
      `update mirror.users set email = 'new' || id || '@example.com' where id in (${ids.join(', ')})`,
    );
    stage.emulator.before({ path: '/v1/users/get', at: 2 }, () =>
      stage.sql(`update mirror.users set role_id = 1, phone = '15550100'`).then(() => {}),
    );
    const before = admins().length;
    expect(await stage.run()).toMatchObject({ counts: { pushed: 25 } });
    expect(admins().length).toBe(before);
    expect(users().some(({ phone }) => phone === '15550100')).toBe(false);
  });

  it('does not ride on an approval: only what was shown is sent', async () => {
    await open();
    const ids = people()
      .slice(0, 40)
      .map(({ id }) => id);
    await stage.sql(
      `update mirror.users set email = 'new' || id || '@example.com' where id in (${ids.join(', ')})`,
    );
    const { batches } = await stage.run();
    await musterd('approve', batches.at(-1) ?? '', '--reason', 'as shown');
    stage.emulator.before({ path: '/v1/users/get', at: 2 }, () =>
      stage
        .sql(
          `update mirror.users set email = 'unseen' || id || '@example.com' where id in (${ids.join(', ')})`,
        )
        .then(() => {}),
    );
    await stage.run();
    expect(JSON.stringify(stage.updates())).not.toContain('unseen');
    expect(await stage.run()).toMatchObject({ outcome: 'refused' });
    expect(JSON.stringify(stage.updates())).not.toContain('unseen');
  });
});

describe('a value that a workflow of the service puts back', () => {
  it('is held the fourth time as a conflict, alone, in the name of who edits it, until a person lets it pass once', async () => {
    await open();
    const [one] = people();
    const [id, phone] = [one?.id ?? 0, one?.phone ?? ''];
    const nightly = async () => {
      await stage.sql(`update mirror.users set phone = '15550999' where id = ${id} and phone <> '15550999'`);
      return stage.run();
    };
    for (let night = 0; night < 3; night += 1) {
      await nightly();
      stage.emulator.team.editUser(id, { phone });
      await stage.run();
    }
    expect(stage.updates()).toHaveLength(3);
    stage.emulator.clearRequests();
    await stage.sql(`update mirror.users set email = 'new@example.com' where id = ${id}`);
    await nightly();
    expect(stage.updates()).toEqual([{ id, email: 'new@example.com' }]);
    for (let night = 0; night < 2; night += 1) await nightly();
    expect(await stage.sql('select reason, detail from report.held')).toEqual([
      [
        'conflict',
        expect.stringMatching(
          /^changed back 3 times since 20\S+Z: the service puts back what musterd edits$/,
        ),
      ],
    ]);
    expect(stage.updates()).toHaveLength(1);
    expect((await musterd('resolve', String(id), 'phone', '--take', 'mirror', '--if', '15550999')).code).toBe(
      0,
    );
    await stage.run();
    expect(stage.updates().at(-1)).toEqual({ id, phone: '15550999' });
  });
});
