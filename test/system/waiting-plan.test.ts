import { afterAll, afterEach, describe, expect, it } from 'vitest';
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
    ...stage.env,
    MUSTERD__policy__email: stage.config.policy.email,
  });
/** Users with a name of two words and an email. */
const people = () =>
  stage.emulator.team
    .users()
    .filter(({ first, last, email }) => /^\S+$/.test(first) && /^\S+$/.test(last) && email !== null);
const edit = (ids: readonly number[], word = 'new') =>
  stage.sql(
    `update mirror.users set email = '${word}' || id || '@example.com' where id in (${ids.join(', ')})`,
  );
const idsOf = (count: number, from = 0) =>
  people()
    .slice(from, from + count)
    .map(({ id }) => id);
const inOrder = (ids: readonly number[]) => ids.toSorted((a, b) => a - b);
/** Who was sent to the service, in order of id. */
const updated = () => inOrder(stage.updates().map(({ id }) => id as number));
const mirrorWins = {
  config: { policy: { name: 'hold', email: 'mirror-wins', phone: 'hold', roleId: 'hold' } },
} as const;

describe('a plan of which a part was approved', () => {
  it('holds the users who were not approved, however few they are', async () => {
    await open();
    const ids = idsOf(40);
    await edit(ids);
    const { batches } = await stage.run();
    const some = ids.slice(0, 25);
    await musterd('approve', batches.at(-1) ?? '', '--only', some.join(','), '--reason', 'these');
    const left = await stage.run();
    expect(left).toMatchObject({ outcome: 'complete', waiting: 15, refusal: { users: 15, stopped: false } });
    expect(updated()).toEqual(inOrder(some));
    // Another edit goes its way, and the plan stays the one that was shown.
    const [other = 0] = idsOf(1, 41);
    await edit([other]);
    expect(await stage.run()).toMatchObject({ waiting: 15, batches: left.batches });
    expect(updated()).toContain(other);
    stage.emulator.clearRequests();
    expect((await musterd('approve', left.batches.at(-1) ?? '', '--reason', 'and these')).code).toBe(0);
    expect(await stage.run()).toMatchObject({ waiting: 0, refusal: null });
    expect(updated()).toEqual(inOrder(ids.slice(25)));
  });
});

describe('a plan under mirror-wins', () => {
  it('shows the values of the service and holds rejected edits', async () => {
    await open(mirrorWins);
    const ids = idsOf(30);
    await edit(ids);
    for (const id of ids) stage.emulator.team.editUser(id, { email: `web${id}@example.com` });
    const { batches } = await stage.run();
    const { changes } = JSON.parse((await musterd('plan', '--json')).stdout) as {
      changes: readonly Record<string, unknown>[];
    };
    expect(changes[0]).toMatchObject({
      change: 'hold',
      state: 'held',
      reason: 'limit',
      mirror: `new${ids[0]}@example.com`,
      service: `web${ids[0]}@example.com`,
    });
    const rejected = ids.slice(0, 5);
    await musterd('reject', batches.at(-1) ?? '', '--only', rejected.join(','), '--reason', 'these not');
    await musterd('approve', batches.at(-1) ?? '', '--reason', 'the others');
    expect(await stage.run()).toMatchObject({ waiting: 0, counts: { pushed: 25 } });
    for (const id of rejected) expect(stage.emulator.team.user(id).email).toBe(`web${id}@example.com`);
    expect(await stage.run()).toMatchObject({ waiting: 0 });
    expect(updated()).toEqual(inOrder(ids.slice(5)));
  });
});

describe('a refusal', () => {
  it('is named by the run and by status as a batch of users', async () => {
    await open();
    await edit(idsOf(30));
    const { refusal, batches } = await stage.run();
    const run = await musterd('reconcile');
    expect(run.code).toBe(3);
    expect(run.stdout).toContain('Pushes to 30 users need a decision; the run went on with everything else');
    expect(run.stdout).toContain(`musterd approve ${batches.at(-1)}`);
    expect(run.stdout).not.toContain('report.held');
    expect(run.stdout).not.toContain('not complete');
    const status = await musterd('status');
    expect(status.stdout).toMatch(/held in a batch\s+pushes to 30 users need a decision since/);
    expect(status.stdout).toContain(`musterd approve ${batches.at(-1)} --as <person> --reason`);
    const told = JSON.parse((await musterd('status', '--json')).stdout) as { batches: unknown };
    expect(told.batches).toEqual([
      {
        hash: batches.at(-1),
        reasons: refusal?.reasons,
        users: 30,
        made_at: expect.stringMatching(/^\d{4}-/),
      },
    ]);
    await stage.sql('update mirror.users u set email = b.email from sync.user_base b where b.id = u.id');
    await stage.run();
    expect(JSON.parse((await musterd('status', '--json')).stdout)).toMatchObject({ batches: [] });
  });

  it('counts a partly confirmed push among those of the day', async () => {
    await open({ emulator: { users: 20, tags: 1, fields: 1 }, config: { guard: { maxRows: 10 } } });
    const ids = idsOf(11);
    const [[run = ''] = []] = await stage.sql('select max(run_id) from sync.runs');
    for (const id of ids.slice(0, 10))
      await stage.sql(`insert into sync.changes (team_id, user_id, run_id, kind, outcome, closed_at)
        select team_id, id, ${run}, 'push', '{"email": "confirmed", "phone": "unsent"}', now() from mirror.users where id = ${id}`);
    await edit(ids.slice(10));
    expect(await stage.run()).toMatchObject({ outcome: 'refused' });
    // What was refused waits for a person all the same; another edit is within the limit of the day again.
    await stage.sql(`update sync.changes set outcome = '{"email": "unsent"}' where kind = 'push'`);
    await edit(idsOf(1, 11));
    expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 1, counts: { pushed: 1 } });
  });
});

describe('what nobody has decided', () => {
  /** A refused plan of the emails of 30 users. */
  const refuse = async (options: StageOptions = {}) => {
    await open(options);
    const ids = idsOf(30);
    await edit(ids);
    const { refusal, batches } = await stage.run();
    expect(refusal).toMatchObject({ users: 30, stopped: true });
    return { ids, hash: batches.at(-1) ?? '' };
  };
  const webEdit = (ids: readonly number[]) => {
    for (const id of ids) stage.emulator.team.editUser(id, { email: `web${id}@example.com` });
  };
  const setBack = (ids: readonly number[], emails: ReadonlyMap<number, string | null>) => {
    for (const id of ids) stage.emulator.team.editUser(id, { email: emails.get(id) ?? null });
  };
  const emailsNow = () => new Map(stage.emulator.team.users().map(({ id, email }) => [id, email]));

  it.each(['hold', 'mirror-wins'] as const)(
    'rejected edits stay unsent whatever the service changes (policy %s)',
    async (policy) => {
      await open(policy === 'hold' ? {} : mirrorWins);
      const ids = idsOf(30);
      await edit(ids);
      const { batches } = await stage.run();
      const [one = 0] = ids;
      const before = emailsNow();
      await musterd('reject', batches.at(-1) ?? '', '--only', String(one), '--reason', 'never');
      await musterd('approve', batches.at(-1) ?? '', '--reason', 'the others');
      await stage.run();
      stage.emulator.clearRequests();
      const held = () => stage.sql('select user_id, state, detail from report.held');
      const rejected = [[String(one), 'rejected', 'never']];
      for (const change of [() => webEdit([one]), () => setBack([one], before), () => webEdit([one])]) {
        change();
        expect(await stage.run()).toMatchObject({ held: 0, waiting: 0 });
        expect(await held()).toEqual(rejected);
      }
      expect(stage.updates()).toEqual([]);
      expect((await musterd('why', String(one))).stdout).toContain(
        "Email stays held until the mirror's value changes or somebody decides.",
      );
      await edit([one], 'better');
      setBack([one], before);
      expect(await stage.run()).toMatchObject({ held: 0, waiting: 0 });
      expect(stage.emulator.team.user(one).email).toBe(`better${one}@example.com`);
    },
  );

  it('keeps an edit rejected after the user left and returned', async () => {
    await open({ config: { absence: { confirmAfterMs: 0 } } });
    const ids = idsOf(30);
    await edit(ids);
    const { batches } = await stage.run();
    const [one = 0] = ids;
    await musterd('reject', batches.at(-1) ?? '', '--only', String(one), '--reason', 'never');
    await musterd('approve', batches.at(-1) ?? '', '--reason', 'the others');
    await stage.run();
    stage.emulator.team.showUser(one, { listed: false, answered: false });
    for (let pass = 0; pass < 3; pass += 1) await stage.run();
    stage.emulator.team.showUser(one, { listed: true, answered: true });
    await stage.run();
    expect(await stage.sql('select state, detail from report.held')).toEqual([['rejected', 'never']]);
    const holds = `select outcome from report.changes where user_id = ${one} and kind = 'hold' and field = 'email'`;
    expect(await stage.sql(holds)).toEqual([['limit']]);
    const seen = `new${one}@example.com`;
    expect((await musterd('resolve', String(one), 'email', '--take', 'mirror', '--if', seen)).code).toBe(0);
    expect(await stage.run()).toMatchObject({ held: 0, counts: { pushed: 1 } });
    expect(stage.emulator.team.user(one).email).toBe(`new${one}@example.com`);
  });

  it('reports a refusal and an earlier push that the same run confirmed', async () => {
    await open({ config: { push: { quietPeriodMs: 600_000 } } });
    const [open1 = 0] = idsOf(1, 40);
    stage.emulator.addFault({ kind: 'status', path: '/v1/users/update', code: 503, times: 1 });
    await edit([open1]);
    await stage.run();
    stage.emulator.team.editUser(open1, { email: `new${open1}@example.com` });
    await edit(idsOf(30));
    const run = await musterd('reconcile');
    expect(run.code).toBe(4);
    expect(run.stdout).toContain('1 pushed');
    expect(run.stdout).toContain('the run ended there: nothing was pulled, and nothing new was sent');
    expect(run.stdout).not.toContain('nothing was written');
  });

  it('asks again about an approved value that arrived late and was reverted', async () => {
    const { ids, hash } = await refuse();
    const before = emailsNow();
    await musterd('approve', hash, '--reason', 'the new domain');
    for (const id of ids) stage.emulator.team.editUser(id, { email: `new${id}@example.com` });
    expect(await stage.run()).toMatchObject({ counts: { settled: 30 } });
    setBack(ids, before);
    expect(await stage.run()).toMatchObject({ counts: { pulled: 30 } });
    stage.emulator.clearRequests();
    await edit(ids);
    expect(await stage.run()).toMatchObject({ outcome: 'refused' });
    expect(updated()).toEqual([]);
  });
});
