import pg from 'pg';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { parseFaults } from '../../src/emulator/faults/faults.ts';
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

const musterd = (...args: readonly string[]) => runMusterd(args, stage.env);
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

describe('a field that a limit on one field holds', () => {
  it('sends it in the next run once the limit no longer applies', async () => {
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

  it('sends no field if its row was locked when holds were written', async () => {
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
});

describe('a mass change', () => {
  it('approves a mass change without demoting the last administrator or sharing a phone', async () => {
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

  it('makes no batch if single-field limits hold every field', async () => {
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

describe('limits on one field', () => {
  it('count a demotion whose outcome is unknown as done', async () => {
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
});

describe('an edit that is committed between the plan and the push', () => {
  it('leaves an edit that is committed during a push to the next run and its limits', async () => {
    await open();
    const [admin = 0] = await keepAdmins(1);
    await stage.sql(`update mirror.users set email = 'x@example.com' where id = ${admin}`);
    stage.emulator.before({ path: '/v1/users/get', at: 2 }, () => setRole(4, [admin]).then(() => {}));
    expect(await stage.run()).toMatchObject({ outcome: 'complete', counts: { pushed: 1 } });
    expect(stage.emulator.team.user(admin)).toMatchObject({ roleId: 1, email: 'x@example.com' });
    expect(await stage.run()).toMatchObject({ waiting: 1 });
    expect(stage.emulator.team.user(admin).roleId).toBe(1);
  });
});

describe('a value that a workflow of the service puts back', () => {
  it('holds a value as a conflict after the service put it back three times, until a person resolves it', async () => {
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
