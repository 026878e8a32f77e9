import { afterEach, describe, expect, it } from 'vitest';
import { runMusterd } from './run-musterd.ts';
import { createStage, type Stage, type StageOptions } from './stage.ts';

let stage: Stage;
afterEach(() => stage.close());

async function open(options: StageOptions = {}) {
  stage = await createStage({ emulator: { users: 100, tags: 1, fields: 1 }, ...options });
  await stage.run();
  stage.emulator.clearRequests();
}

const musterd = (...args: readonly string[]) =>
  runMusterd(args, {
    ...stage.emulator.environment,
    DATABASE_URL: stage.url,
    MUSTERD__rate__perMinute: '100000',
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
  it('keeps the others waiting, however few they are, until somebody decides', async () => {
    await open();
    const ids = idsOf(40);
    await edit(ids);
    const { refusal } = await stage.run();
    const some = ids.slice(0, 25);
    await musterd('approve', refusal?.hash ?? '', '--only', some.join(','), '--reason', 'these');
    const left = await stage.run();
    expect(left).toMatchObject({ outcome: 'complete', waiting: 15, refusal: { users: 15, stopped: false } });
    expect(updated()).toEqual(inOrder(some));
    // Another edit goes its way, and the plan stays the one that was shown.
    const [other = 0] = idsOf(1, 41);
    await edit([other]);
    expect(await stage.run()).toMatchObject({ waiting: 15, refusal: { hash: left.refusal?.hash } });
    expect(updated()).toContain(other);
    stage.emulator.clearRequests();
    expect((await musterd('approve', left.refusal?.hash ?? '', '--reason', 'and these')).code).toBe(0);
    expect(await stage.run()).toMatchObject({ waiting: 0, refusal: null });
    expect(updated()).toEqual(inOrder(ids.slice(25)));
  });

  it('lets a left user pass once the edit is another, or the plan has expired', async () => {
    await open();
    const ids = idsOf(40);
    await edit(ids);
    const { refusal } = await stage.run();
    await musterd('approve', refusal?.hash ?? '', '--only', ids.slice(2).join(','), '--reason', 'these');
    const [one = 0, two = 0] = ids;
    await edit([one], 'other');
    expect(await stage.run()).toMatchObject({ waiting: 1 });
    expect(stage.emulator.team.user(one).email).toBe(`other${one}@example.com`);
    await stage.sql(
      `update sync.plans set expires_at = clock_timestamp() - interval '1 s' where state = 'refused'`,
    );
    expect(await stage.run()).toMatchObject({ waiting: 0 });
    expect(stage.emulator.team.user(two).email).toBe(`new${two}@example.com`);
  });

  it('keeps a left user waiting who is not answered for a while, or whose edit somebody holds', async () => {
    await open();
    const ids = idsOf(40);
    await edit(ids);
    const { refusal } = await stage.run();
    await musterd('approve', refusal?.hash ?? '', '--only', ids.slice(2).join(','), '--reason', 'these');
    const [one = 0, two = 0] = ids;
    stage.emulator.team.showUser(one, { answered: false });
    await musterd('hold', String(two), 'email', '--until', '1d', '--reason', 'legal');
    expect(await stage.run()).toMatchObject({ refusal: { users: 2 } });
    stage.emulator.team.showUser(one, { answered: true });
    await musterd('hold', String(two), 'email', '--end');
    expect(await stage.run()).toMatchObject({ waiting: 2, refusal: { users: 2 } });
    expect(updated()).toEqual(inOrder(ids.slice(2)));
  });

  it('is not decided about when another took its place while it was looked at', async () => {
    await open();
    await edit(idsOf(40));
    const { refusal } = await stage.run();
    // The plan is replaced in the moment in which the approval takes the lease.
    await stage.sql(`create function sync.replace_plan() returns trigger language plpgsql as $$
      begin
        update sync.plans set state = 'superseded' where state = 'refused';
        insert into sync.plans (team_id, hash, changes, expires_at)
          select team_id, hash, changes, expires_at from sync.plans where state = 'superseded';
        return new;
      end $$;
      create trigger replace_plan before insert on sync.leases for each row execute function sync.replace_plan()`);
    const late = await musterd('approve', refusal?.hash ?? '', '--reason', 'these');
    expect(late.stderr).toContain('something else took its place');
    expect(late.code).toBe(64);
    expect(await stage.sql(`select count(*) from sync.plans where state = 'approved'`)).toEqual([['0']]);
  });
});

describe('a plan under mirror-wins', () => {
  it('shows what the service has, and holds what is rejected', async () => {
    await open(mirrorWins);
    const ids = idsOf(30);
    await edit(ids);
    for (const id of ids) stage.emulator.team.editUser(id, { email: `web${id}@example.com` });
    const { refusal } = await stage.run();
    const { changes } = JSON.parse((await musterd('plan', '--json')).stdout) as {
      changes: readonly Record<string, unknown>[];
    };
    expect(changes[0]).toMatchObject({
      change: 'refused',
      mirror: `new${ids[0]}@example.com`,
      service: `web${ids[0]}@example.com`,
    });
    const rejected = ids.slice(0, 5);
    await musterd('approve', refusal?.hash ?? '', '--reject', rejected.join(','), '--reason', 'these not');
    expect(await stage.run()).toMatchObject({ waiting: 5, counts: { pushed: 25 } });
    for (const id of rejected) expect(stage.emulator.team.user(id).email).toBe(`web${id}@example.com`);
    expect(await stage.run()).toMatchObject({ waiting: 5 });
    expect(updated()).toEqual(inOrder(ids.slice(5)));
  });

  it('does not overwrite what the service has changed to since it was approved', async () => {
    await open(mirrorWins);
    const ids = idsOf(30);
    await edit(ids);
    for (const id of ids) stage.emulator.team.editUser(id, { email: `web${id}@example.com` });
    const { refusal } = await stage.run();
    await musterd('approve', refusal?.hash ?? '', '--reason', 'as shown');
    for (const id of ids) stage.emulator.team.editUser(id, { email: `later${id}@example.com` });
    expect(await stage.run()).toMatchObject({ outcome: 'refused' });
    expect(updated()).toEqual([]);
  });
});

describe('a hold that somebody asked for', () => {
  const until = ['--until', '7d', '--reason', 'legal'];

  it('outlives a user who leaves and comes back', async () => {
    await open({ config: { absence: { confirmAfterMs: 0 } } });
    const one = people().find(({ phone }) => phone !== null);
    const id = one?.id ?? 0;
    await musterd('hold', String(id), 'phone', ...until);
    stage.emulator.team.showUser(id, { listed: false, answered: false });
    for (let pass = 0; pass < 3; pass += 1) await stage.run();
    expect(await stage.sql(`select gone_at is null from mirror.users where id = ${id}`)).toEqual([['false']]);
    stage.emulator.team.showUser(id, { listed: true, answered: true });
    stage.emulator.team.editUser(id, { phone: '15550111', email: 'back@example.com' });
    await stage.run();
    expect(await stage.sql('select user_id, field, reason from report.held')).toEqual([
      [String(id), 'phone', 'asked'],
    ]);
    expect(await stage.sql(`select phone, email from mirror.users where id = ${id}`)).toEqual([
      [one?.phone, 'back@example.com'],
    ]);
  });

  it('is not overwritten by a rejection', async () => {
    await open();
    const ids = idsOf(30);
    await edit(ids);
    const { refusal } = await stage.run();
    await musterd('hold', String(ids[0]), 'email', ...until);
    const { stdout } = await musterd(
      'approve',
      refusal?.hash ?? '',
      '--reject',
      String(ids[0]),
      '--reason',
      'no',
    );
    expect(stdout).toContain('held on request: 1 field');
    expect(await stage.sql('select user_id, reason, detail, until is null from report.held')).toEqual([
      [String(ids[0]), 'asked', 'legal', 'false'],
    ]);
  });
});

describe('a refusal', () => {
  it('without pushes ends every run with a code of its own, and offers nothing to approve', async () => {
    await open();
    stage.emulator.rewrite({ path: '/v1/users/get', times: 'always' }, (body) =>
      body.replace(/"phone":"\d*",/g, ''),
    );
    const first = await musterd('reconcile');
    expect(first.code).toBe(4);
    for (const run of [first, await musterd('reconcile')]) {
      expect(run.stdout).toContain("no longer have a phone in the service's answers");
      expect(run.stdout).not.toContain('musterd approve');
    }
    expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 1, held: 0 });
    const planned = await musterd('plan');
    expect(planned.code).toBe(4);
    expect(planned.stdout).not.toContain('musterd approve');
    const [[hash = ''] = []] = await stage.sql(`select hash from sync.plans where state = 'refused'`);
    const approval = await musterd('approve', hash, '--reason', 'no');
    expect(approval.stderr).toContain('There is nothing to approve');
    expect(approval.code).toBe(64);
  });

  it('is told again when a mass change of other users comes while a plan waits, and not for one edit more', async () => {
    await open();
    await edit(idsOf(30));
    expect(await stage.run()).toMatchObject({ outcome: 'refused' });
    await edit(idsOf(3, 30));
    expect(await stage.run()).toMatchObject({ outcome: 'complete', refusal: { users: 33 } });
    await edit(
      people().map(({ id }) => id),
      'all',
    );
    const again = await stage.run();
    expect(again).toMatchObject({ outcome: 'refused', refusal: { stopped: true } });
    expect(await stage.run()).toMatchObject({ outcome: 'complete', refusal: { hash: again.refusal?.hash } });
    expect(updated()).toEqual([]);
  });

  it('is named by the run and by status: what waits is users of a plan, not held fields', async () => {
    await open();
    await edit(idsOf(30));
    const { refusal } = await stage.run();
    const run = await musterd('reconcile');
    expect(run.code).toBe(3);
    expect(run.stdout).toContain('Pushes to 30 users wait in a plan; everything else was carried out');
    expect(run.stdout).toContain(`musterd approve ${refusal?.hash}`);
    expect(run.stdout).not.toContain('report.held');
    expect(run.stdout).not.toContain('not complete');
    const status = await musterd('status');
    expect(status.stdout).toMatch(/refused plan\s+pushes to 30 users wait until/);
    expect(status.stdout).toContain(`musterd approve ${refusal?.hash} --reason`);
    const { waiting_plan } = JSON.parse((await musterd('status', '--json')).stdout) as {
      waiting_plan: unknown;
    };
    expect(waiting_plan).toEqual({
      hash: refusal?.hash,
      reasons: refusal?.reasons,
      users: 30,
      expires_at: expect.stringMatching(/^\d{4}-/),
    });
    await stage.sql('update mirror.users u set email = b.email from sync.user_base b where b.id = u.id');
    await stage.run();
    expect(JSON.parse((await musterd('status', '--json')).stdout)).toMatchObject({ waiting_plan: null });
  });

  it('counts a push for the day of which a part was confirmed and a part never left', async () => {
    await open({ emulator: { users: 20, tags: 1, fields: 1 } });
    const ids = idsOf(11);
    const [[run = ''] = []] = await stage.sql('select max(run_id) from sync.runs');
    for (const id of ids.slice(0, 10))
      await stage.sql(`insert into sync.changes (team_id, user_id, run_id, kind, outcome, closed_at)
        select team_id, id, ${run}, 'push', '{"email": "confirmed", "phone": "unsent"}', now() from mirror.users where id = ${id}`);
    await edit(ids.slice(10));
    expect(await stage.run()).toMatchObject({ outcome: 'refused' });
    await stage.sql(`update sync.changes set outcome = '{"email": "unsent"}' where kind = 'push'`);
    expect(await stage.run()).toMatchObject({ outcome: 'complete', counts: { pushed: 1 } });
  });
});
