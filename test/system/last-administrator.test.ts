import pg from 'pg';
import { afterEach, describe, expect, it } from 'vitest';
import type { Fault } from '../../src/emulator/faults/faults.ts';
import { createLog } from '../../src/log.ts';
import { runReconcile } from '../../src/runs/sync/reconcile-team.ts';
import { createStage, type Stage } from './stage.ts';

let stage: Stage;
afterEach(() => stage.close());

const users = () => stage.emulator.team.users();
const admins = () => users().flatMap(({ id, roleId }) => (roleId === 1 ? [id] : []));
const held = () => stage.sql('select user_id, field, reason from report.held order by 1, 2');
const setRole = (roleId: number, id: number) =>
  stage.sql(`update mirror.users set role_id = ${roleId} where id = ${id}`);
const pushEdits = () =>
  runReconcile(stage.db, stage.config, 'daemon', { log: createLog({ level: 'silent' }), groups: ['edits'] });
const waitForAll = [expect.stringMatching(/^1 demotions wait for a run that reads all users: /)];

/** A mirror that agrees with a team of so many administrators; their ids, and those of others who are none. */
async function open(count: number): Promise<{ readonly all: readonly number[]; readonly others: number[] }> {
  stage = await createStage({ emulator: { users: 30, tags: 1, fields: 1 } });
  const all = admins().slice(0, count);
  for (const id of admins().slice(count)) stage.emulator.team.editUser(id, { roleId: 4 });
  await stage.run();
  stage.emulator.clearRequests();
  const others = users().filter(
    ({ roleId, email, phone }) => roleId !== 1 && email !== null && phone !== null,
  );
  return { all, others: others.map(({ id }) => id) };
}

async function swap(): Promise<{ readonly one: number; readonly other: number }> {
  const { all, others } = await open(1);
  const [one = 0, other = 0] = [all[0], others[0]];
  await setRole(4, one);
  await setRole(1, other);
  return { one, other };
}

describe('a swap of the only administrator', () => {
  it('leaves the administrator when the service refuses the promotion, and then holds the demotion', async () => {
    const { one, other } = await swap();
    const refuse: Fault = { kind: 'status', code: 422, path: '/v1/users/update', times: 'always' };
    stage.emulator.addFault(refuse);
    await stage.run();
    expect(admins()).toEqual([one]);
    await stage.run();
    expect(admins()).toEqual([one]);
    const both = [
      [String(one), 'role_id', 'limit'],
      [String(other), 'role_id', 'refused'],
    ];
    expect(new Set(await held())).toEqual(new Set(both));
  });

  it('sends no demotion while the promoted row is locked', async () => {
    const { one, other } = await swap();
    // Something is to be written to the row before its promotion is sent.
    stage.emulator.team.editUser(other, { phone: '15550133' });
    const editor = new pg.Client({ connectionString: stage.url });
    await editor.connect();
    try {
      await editor.query('begin');
      await editor.query(`select from mirror.users where id = ${other} for update`);
      expect(await stage.run()).toMatchObject({ outcome: 'partial', counts: { deferred: 1 } });
      expect(admins()).toEqual([one]);
      await editor.query('commit');
    } finally {
      await editor.end();
    }
    await stage.run();
    await stage.run();
    expect(admins()).toEqual([other]);
  });
});

describe('a demotion that goes the short way', () => {
  it('postpones a demotion after the other was demoted on the service, and a whole run holds it', async () => {
    const { all } = await open(2);
    const [one = 0, other = 0] = all;
    stage.emulator.team.editUser(other, { roleId: 4 });
    await setRole(4, one);
    expect(await pushEdits()).toMatchObject({ outcome: 'complete', warnings: waitForAll });
    expect(admins()).toEqual([one]);
    expect(await held()).toEqual([]);
    expect(await stage.run()).toMatchObject({ waiting: 1 });
    expect(admins()).toEqual([one]);
    expect(await held()).toEqual([[String(one), 'role_id', 'limit']]);
  });
});
