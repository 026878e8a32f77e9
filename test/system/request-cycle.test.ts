import { afterEach, describe, expect, it } from 'vitest';
import { runMusterd } from './run-musterd.ts';
import { createStage, type Stage, type StageOptions } from './stage.ts';

/** From what a person types to what the service has, and back. */
describe('messages, tags and conversations by command', () => {
  let stage: Stage;
  afterEach(() => stage.close());
  const open = async (options: StageOptions = {}) => {
    stage = await createStage(options);
    await musterd('reconcile');
  };
  const as = (who: string, ...args: readonly string[]) =>
    runMusterd(args, {
      ...stage.emulator.environment,
      DATABASE_URL: stage.url,
      MUSTERD_ACTOR: who,
      MUSTERD__rate__perMinute: '100000',
      MUSTERD__push__quietPeriodMs: '0',
      MUSTERD__write__tags: 'true',
      MUSTERD__write__schedule: 'true',
      MUSTERD__write__conversations: 'true',
      MUSTERD__write__timezone: 'Europe/Berlin',
    });
  const musterd = (...args: readonly string[]) => as('anna', ...args);
  const requests = async (...args: readonly string[]) => {
    const { stdout } = await musterd(...args, '--json');
    return (JSON.parse(stdout) as { readonly requests: readonly Readonly<Record<string, unknown>>[] })
      .requests;
  };
  const create = async (): Promise<string> => {
    const [[inbox = ''] = []] = await stage.sql(
      'select inbox_id from mirror.inbox_members order by 1 limit 1',
    );
    const [created] = await requests(
      'schedule',
      'create',
      '--inbox',
      inbox,
      '--phone',
      '15550100',
      '--text',
      'Hello\tthere',
      '--at',
      '2031-12-01 09:15',
    );
    return String(created?.['local_id']);
  };
  const batch = async () => (await stage.sql('select batch from report.held'))[0]?.[0] ?? '';
  const onService = () =>
    stage.emulator.team.schedules().map(({ state, request }) => [state, request['local_id']]);

  it('a message is planned, held, approved by somebody else, sent, and cancelled by undo', async () => {
    await open();
    const id = await create();
    const plan = await musterd('plan');
    expect(plan.code).toBe(3);
    expect(plan.stdout).toMatch(
      new RegExp(
        `^create\\t${id}\\twaiting\\t2031-12-01 09:15 Europe/Berlin\\t.*\\t15550100\\tHello there\\ta run holds it`,
        'm',
      ),
    );
    expect(await requests('plan')).toMatchObject([{ local_id: id, needs_approval: true }]);
    expect((await musterd('plan', '--markdown')).stdout).toContain(`what \`create\`, local_id \`${id}\``);

    expect((await musterd('reconcile')).code).toBe(3);
    expect((await musterd('plan')).stdout).toContain(`musterd approve ${await batch()} --reason …`);
    expect((await musterd('status')).stdout).toMatch(/^messages {10}1 held$/m);
    expect((await musterd('approve', await batch(), '--reason', 'mine')).code).toBe(64);
    expect((await as('ben', 'approve', await batch(), '--reason', 'as agreed')).code).toBe(0);
    expect(await requests('plan')).toMatchObject([{ state: 'waiting', needs_approval: false }]);
    expect((await musterd('reconcile')).code).toBe(0);
    expect(onService()).toEqual([['waiting', id]]);
    const why = (await musterd('why', id)).stdout;
    expect(why).toMatch(/^approved {10}\S+ by ben$/m);
    expect(why).toMatch(/^next {14}The service sends it at 2031-12-01 09:15 Europe\/Berlin\.$/m);

    const [[decision = ''] = []] = await stage.sql('select max(decision_id) from report.decisions');
    const [[run = ''] = []] = await stage.sql('select max(run_id) from report.runs');
    expect(await requests('undo', run)).toMatchObject([{ local_id: id, undo: 'cancel' }]);
    expect(await requests('undo', '--decision', decision, '--apply')).toMatchObject([{ undo: 'cancel' }]);
    expect((await musterd('reconcile')).code).toBe(0);
    expect(onService()).toEqual([['cancelled', id]]);
    expect(await requests('schedule', 'list', '--all')).toMatchObject([{ state: 'cancelled' }]);
  });

  it.each([
    ['--is', 'scheduled', [['waiting', true]]],
    ['--was-not-sent', 'held', []],
  ] as const)('a message without an answer is resolved with %s', async (found, state, left) => {
    await open({ emulator: { variants: { 'local-id': 'ignored' } } });
    const id = await create();
    await musterd('reconcile');
    await as('ben', 'approve', await batch());
    stage.emulator.addFault({
      kind: found === '--is' ? 'reset-after' : 'reset-before',
      path: '/v1/schedule',
    });
    expect((await musterd('reconcile')).code).toBe(1);
    expect((await musterd('status')).stdout).toMatch(
      /^messages {10}1 unknown\n(?: .*\n)* {18}unknown: look/m,
    );
    const { stdout } = await musterd('schedule', 'list');
    expect(stdout).toContain(`musterd schedule resolve ${id} --is <id>, or --was-not-sent`);
    const there = stage.emulator.team.schedules()[0]?.id;
    const answer = there === undefined ? [] : [String(there)];
    expect(await requests('schedule', 'resolve', id, found, ...answer)).toMatchObject([
      { local_id: id, state },
    ]);
    expect((await musterd('reconcile')).code).toBe(state === 'held' ? 3 : 0);
    expect(onService().map(([now, of]) => [now, of === id])).toEqual(left);
    if (state === 'scheduled') return;
    await as('ben', 'approve', await batch());
    expect((await musterd('reconcile')).code).toBe(0);
    expect(onService()).toEqual([['waiting', id]]);
  });

  it('tags and read conversations are asked for, and sent', async () => {
    await open();
    const [[inbox = '', user = ''] = []] = await stage.sql(
      'select inbox_id, user_id from mirror.inbox_members order by 1, 2 limit 1',
    );
    await musterd('tag', 'create', 'Brand new');
    await musterd('conversations', 'read', '--inbox', inbox, '--user', user, '--target', '15550100');
    const { code, stdout } = await musterd('plan', '--exit-code');
    expect(code).toBe(2);
    expect(stdout).toMatch(/^tag\t.*\tBrand new\t$/m);
    expect((await musterd('reconcile')).code).toBe(0);
    expect(stage.emulator.team.tags().map(({ tag }) => tag)).toContain('Brand new');
    expect(await requests('conversations')).toMatchObject([{ state: 'sent' }]);
    expect(await requests('plan')).toEqual([]);
  });
});
