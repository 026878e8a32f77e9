import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createLog } from '../../src/log.ts';
import { runReconcile } from '../../src/runs/sync/reconcile-team.ts';
import { createStage, type Stage } from './stage.ts';

const log = createLog({ level: 'silent' });

const noLimits = { guard: { maxRows: 1_000, maxShare: 1 } };

describe('a run that may skip unchanged users', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await createStage({ config: noLimits });
    await settle();
  });
  afterAll(() => stage.close());

  const pastTriggers = (text: string) =>
    stage.sql(`begin; set local session_replication_role = replica; ${text}; commit`);
  const mark = () => pastTriggers(`update mirror.users set updated_at = '2001-01-01'`);
  /** Only a run that compares everybody puts these times right. */
  const isCompared = async (more = {}) => {
    await mark();
    await stage.run(more);
    const [[left] = []] = await stage.sql(
      `select count(*) from mirror.users where updated_at = '2001-01-01'`,
    );
    return Number(left) === 0;
  };
  /** Until a run has found nothing to do, and has recorded that. */
  async function settle() {
    for (let nr = 0; nr < 3; nr += 1) await stage.run();
  }
  const one = () => stage.emulator.team.users().find(({ email }) => email !== null)?.id ?? 0;
  const inMirror = async () =>
    await stage.sql('select id, name, phone from mirror.users where gone_at is null order by id');
  const onService = () =>
    stage.emulator.team
      .users()
      .map(({ id, first, last, phone }) => [String(id), `${first} ${last}`.trim(), phone ?? ''])
      .toSorted(([a = ''], [b = '']) => Number(a) - Number(b));

  it('compares no user if neither the answers of the service nor the mirror have changed', async () => {
    await settle();
    stage.emulator.clearRequests();
    expect(await isCompared()).toBe(false);
    const asked = stage.emulator.requests.map(({ path }) => path);
    expect(asked.filter((path) => /team|users/.test(path))).toEqual(['/v1/team', '/v1/users/get']);
    const report = await stage.run();
    expect(report).toMatchObject({ outcome: 'complete', counts: { users_read: 30 } });
  });

  it.each<readonly [string, () => unknown]>([
    [
      'a user joined',
      () => stage.emulator.team.addUser({ first: 'New', last: 'Comer', email: 'new@example.com' }),
    ],
    ['a rename of the team', () => stage.emulator.team.rename('Another name')],
    ['a change on the service', () => stage.emulator.team.editUser(one(), { phone: '15550199' })],
    [
      'an edit past the triggers',
      () => pastTriggers(`update mirror.users set phone = '15550197' where id = ${one()}`),
    ],
    [
      'a day',
      () =>
        stage.sql(
          `update sync.learned set learned_at = now() - interval '24 hours' where topic = 'answers that agree'`,
        ),
    ],
    [
      'a run that failed',
      () =>
        stage.sql(
          `update sync.runs set outcome = 'failed' where run_id = (select max(run_id) from sync.runs)`,
        ),
    ],
  ])('compares all users after %s', async (_, disturb) => {
    await settle();
    expect(await isCompared()).toBe(false);
    await disturb();
    expect(await isCompared()).toBe(true);
    await settle();
    expect(await inMirror()).toEqual(onService());
    expect(await isCompared()).toBe(false);
  });

  it('compares all users after a setting changed', async () => {
    await settle();
    expect(await isCompared({ policy: { phone: 'service-wins' } })).toBe(true);
  });

  it('pulls a value that the service changed back without a newer version time', async () => {
    const stuck = await createStage({ config: noLimits, emulator: { variants: { 'updated-at': 'stuck' } } });
    onTestFinished(() => stuck.close());
    let before = '';
    const keep = (body: string) => (before = body);
    const release = stuck.emulator.rewrite({ path: '/v1/users/get', times: 'always' }, keep);
    for (let nr = 0; nr < 3; nr += 1) await stuck.run();
    release();
    const user = stuck.emulator.team.users().find(({ phone }) => phone !== null);
    const id = user?.id ?? 0;
    const phone = user?.phone ?? '';
    await stuck.sql(`update mirror.users set phone = '15550195' where id = ${id}`);
    await runReconcile(stuck.db, stuck.config, 'reconcile', { log, groups: ['edits'] });
    expect(stuck.emulator.team.user(id).phone).toBe('15550195');
    stuck.emulator.team.editUser(id, { phone });
    // The same bytes as before the edit.
    stuck.emulator.rewrite({ path: '/v1/users/get', times: 'always' }, () => before);
    await stuck.run();
    expect(await stuck.sql(`select phone from mirror.users where id = ${id}`)).toEqual([[phone]]);
  });

  it('does not record the answers of a partial run as unchanged', async () => {
    await stage.sql(`delete from sync.learned where topic = 'answers that agree'`);
    stage.emulator.addFault({ kind: 'status', code: 400, path: '/v1/tags', times: 'always' });
    await stage.run();
    stage.emulator.clearFaults();
    expect(await stage.sql(`select from sync.learned where topic = 'answers that agree'`)).toEqual([]);
  });
});
