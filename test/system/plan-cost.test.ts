import { describe, expect, it } from 'vitest';
import { paceOf } from '../../src/model/pace.ts';
import { useStages, type Stage, type StageOptions } from './stage.ts';

const stages = useStages();

/** What a plan says that pushing takes, and what it takes. */
describe('the cost of a plan', () => {
  let stage: Stage;

  const open = async ({ config = {}, ...options }: StageOptions = {}) => {
    stage = await stages.open({
      ...options,
      config: { guard: { maxRows: 1_000, maxShare: 1 }, ...config },
    });
    const { requests } = await stage.run();
    return requests;
  };
  const twenty = 'id in (select id from mirror.users order by id limit 20)';
  const edit = () =>
    stage.sql(`update mirror.users set last_name = last_name || 'x', name_split = 'known' where ${twenty}`);
  const editPhones = (where: string) =>
    stage.sql(`update mirror.users set phone = '1555' || lpad((id % 10000)::text, 4, '0') where ${where}`);
  const emulator = { users: 60 };

  it('predicts the number of requests of a run that pushes to three users at a time', async () => {
    const idle = await open({ emulator, config: { push: { batchSize: 3, quietPeriodMs: 0 } } });
    for (const { id, email } of stage.emulator.team.users())
      if (email === null) stage.emulator.team.editUser(id, { email: `user${id}@example.com` });
    await stage.run();
    await edit();
    const { cost } = await stage.plan();
    expect(cost).toMatchObject({ users: 20, requests: 14 });
    const run = await stage.run();
    expect(run).toMatchObject({ outcome: 'complete', counts: { pushed: 20 } });
    expect(run.requests - idle).toBe(14);
  });

  it('predicts the number of requests for 20 phone edits, although the first update is sent alone', async () => {
    const idle = await open({
      emulator,
      config: { push: { batchSize: 10, quietPeriodMs: 0 } },
    });
    await editPhones(twenty);
    const { cost } = await stage.plan();
    expect(cost.users).toBe(20);
    const run = await stage.run();
    expect(run).toMatchObject({ outcome: 'complete', counts: { pushed: 20 } });
    expect(run.requests - idle).toBe(cost.requests);
  });

  it('computes the seconds that pushing takes from the number of requests and the rate limit', async () => {
    const rate = { perMinute: 2_400, share: 0.5 };
    await open({ emulator, config: { push: { batchSize: 1, quietPeriodMs: 0 }, rate } });
    await edit();
    const { cost } = await stage.plan();
    const { periodMs } = paceOf(stage.config.rate);
    expect(cost.perMinute).toBe(1_200);
    expect(cost.seconds).toBe(Math.ceil((cost.requests * periodMs) / 1_000));
  });
});
