import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { runMusterd } from './run-musterd.ts';
import { createStages, type Stage } from './stage.ts';

const stages = createStages();
afterAll(() => stages.close());

/** Most people of a small team are others by now: no run ends in an error for ever, and none decides it by itself. */
describe('a team of which more than half was replaced', () => {
  let stage: Stage;
  afterEach(() => stage.close());
  const musterd = async (...args: readonly string[]) => {
    const ended = await runMusterd(args, {
      ...stage.emulator.environment,
      DATABASE_URL: stage.url,
      MUSTERD__rate__perMinute: '100000',
      MUSTERD__absence__confirmAfterMs: '0',
      MUSTERD__log__level: 'error',
    });
    return { ...ended, json: <T>() => JSON.parse(ended.stdout) as T };
  };
  const reconcile = () => musterd('reconcile', '--json');
  const present = async () =>
    (await stage.sql('select id from mirror.users where gone_at is null order by id')).map(([id]) =>
      Number(id),
    );
  /** Three people, of whom two leave and two others come. */
  const open = async () => {
    stage = await stages.open({ emulator: { users: 3, tags: 2, fields: 1 } });
    const [stays, ...left] = stage.emulator.team.users();
    if (stays === undefined) throw new Error('nobody');
    for (const { id } of left) stage.emulator.team.removeUser(id);
    const came = [1, 2].map((n) =>
      stage.emulator.team.addUser({ first: 'New', last: `N${n}`, email: `n${n}@example.com` }),
    );
    await stage.sql(`update mirror.users set phone = '15550188' where id = ${stays.id}`);
    stage.emulator.clearRequests();
    return { stays: stays.id, left: left.map(({ id }) => id), came: came.map(({ id }) => id) };
  };
  const state = () =>
    stage.sql(`select (select md5(string_agg(u::text || u.xmin, ',' order by id)) from mirror.users u),
      (select count(*) from mirror.tags), (select count(*) from sync.changes)`);

  it('waits for an approval, can be looked at meanwhile, and goes on after it', async () => {
    const { stays, left, came } = await open();
    const before = await state();
    const first = await reconcile();
    expect(first.code).toBe(4);
    const report = first.json<{
      refused_plan: string;
      outcome: string;
      reasons: string[];
      waiting: number;
    }>();
    const { refused_plan: hash } = report;
    expect(report).toMatchObject({ outcome: 'refused', waiting: 2 });
    expect(report.reasons).toEqual([expect.stringContaining(`musterd approve ${hash} --reason`)]);
    expect(stage.emulator.requests.map(({ path }) => path)).toEqual(['/v1/team']);
    for (const _ of [1, 2]) expect(await reconcile()).toMatchObject({ code: 3 });
    expect((await musterd('reconcile')).stdout).toContain('Nothing was read back, pulled or sent');

    expect((await musterd('status')).stdout).toContain(`musterd approve ${hash} --reason`);
    const plan = await musterd('plan', '--json');
    expect(plan.code).toBe(4);
    const planned = plan.json<{
      hash: string;
      refused: string[];
      changes: { user_id: number; change: string }[];
    }>();
    expect(planned).toMatchObject({ hash, refused: report.reasons });
    const kinds = Object.groupBy(planned.changes, ({ change }) => change);
    expect(kinds['adopt']?.map(({ user_id }) => user_id)).toEqual(came);
    expect(kinds['missing']?.map(({ user_id }) => user_id)).toEqual(left);
    expect((await musterd('plan')).stdout).toContain(`musterd approve ${hash} --reason`);
    expect((await musterd('plan', '--markdown')).stdout).toContain(`(\`${hash}\`)`);
    const verify = await musterd('verify', '--json');
    expect(verify.code).toBe(1);
    expect(verify.json()).toMatchObject({ only_on_one_side: { length: 4 } });
    expect((await musterd('why', String(stays))).code).toBe(0);
    const resync = await musterd('resync', '--adopt-service', '--json');
    expect(resync).toMatchObject({ code: 0 });
    expect(resync.json()).toMatchObject({ warnings: report.reasons });
    const { changes } = resync.json<{ changes: { user_id: number; change: string }[] }>();
    const adopted = changes.filter(({ change }) => change === 'adopt');
    expect(adopted.map(({ user_id }) => user_id)).toEqual(came);
    // It would take people of whom nobody has said yet that they are the team's.
    const applied = await musterd('resync', '--adopt-service', '--apply', '--json');
    expect(applied.code).toBe(3);
    expect(applied.json()).toMatchObject({ applied: false, refused: report.reasons, changes: [] });
    expect(await state()).toEqual(before);
    expect(stage.updates()).toEqual([]);

    expect((await musterd('approve', hash, '--reason', 'a new shift')).code).toBe(0);
    expect(await reconcile()).toMatchObject({ code: 0 });
    expect(stage.emulator.team.user(stays).phone).toBe('15550188');
    // They are called gone in two complete passes, as anybody.
    expect(await present()).toEqual([stays, ...left, ...came].toSorted((a, b) => a - b));
    expect(await reconcile()).toMatchObject({ code: 0 });
    expect(await present()).toEqual([stays, ...came].toSorted((a, b) => a - b));
    expect((await musterd('status', '--json')).json()).toMatchObject({ withheld: [] });
  });

  it('is asked about again when others are listed than those of whom somebody agreed', async () => {
    const { stays } = await open();
    const hash = (await stage.run()).refusal?.hash ?? '';
    expect((await musterd('approve', hash, '--reason', 'a new shift')).code).toBe(0);
    await stage.run();
    for (const { id } of stage.emulator.team.users()) stage.emulator.team.removeUser(id);
    for (const n of [1, 2, 3])
      stage.emulator.team.addUser({ id: 900_000 + n, first: `X${n}`, email: `x${n}@example.com` });
    const again = await stage.run();
    expect(again).toMatchObject({ outcome: 'refused', refusal: { isNews: true, what: 'departures' } });
    expect(again.refusal?.hash).not.toBe(hash);
    expect(await present()).toContain(stays);
  });

  it('lets some of them go first, and asks about the others', async () => {
    const { left } = await open();
    const hash = (await stage.run()).refusal?.hash ?? '';
    expect((await musterd('approve', hash, '--only', String(left[0]), '--reason', 'left')).code).toBe(0);
    // Of two who are counted on one side nothing can be told: the run goes on, and the other one waits.
    expect(await stage.run()).toMatchObject({
      outcome: 'partial',
      reasons: [expect.stringContaining('1 missing row was left out of an approval')],
    });
  });

  it('ends an approval that nobody needs any more when they are back', async () => {
    const { left, came } = await open();
    await stage.run();
    for (const id of came) stage.emulator.team.removeUser(id);
    for (const id of left) stage.emulator.team.addUser({ id, first: 'Back', last: String(id) });
    expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 0 });
    expect(await stage.sql('select count(*) from sync.absences')).toEqual([['0']]);
    expect((await musterd('status', '--json')).json()).toMatchObject({ withheld: [] });
  });
});
