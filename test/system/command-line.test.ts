import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { holdRequest } from '../support/hold-request.ts';
import { startDaemon } from './daemon-here.ts';
import { runMusterd } from './run-musterd.ts';
import { createStage, type Stage } from './stage.ts';

describe('the command line', () => {
  let stage: Stage;
  const musterd = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    runMusterd(args, { ...stage.env, ...env });
  beforeAll(async () => {
    stage = await createStage();
    // So that each test finds a mirror, whichever ran before it.
    await stage.run();
  });
  afterAll(() => stage.close());

  it('musterd reconcile exits 77 if the service refuses the credentials (N19)', async () => {
    const { code, stderr } = await musterd(['reconcile'], { MUSTERD_SECRET_KEY: 'another-key-of-nobody' });
    expect(code).toBe(77);
    expect(stderr).not.toContain('another-key-of-nobody');
  });

  it('reconcile and plan exit 78 if the credentials belong to another team, and request only /v1/team (D14, O3)', async () => {
    const other = await createStage({ emulator: { teamId: 99, users: 3 } });
    onTestFinished(() => other.close());
    const { code, stderr } = await musterd(['reconcile'], other.emulator.environment);
    expect(stderr).toContain('team 99');
    expect(code).toBe(78);
    expect((await musterd(['plan'], other.emulator.environment)).code).toBe(78);
    expect(other.emulator.requests.map(({ path }) => path)).toEqual(['/v1/team', '/v1/team']);
  });

  it('reads a word after --wait as the query or file of the command if the word is not a number', async () => {
    const asked = await musterd(['sql', '--write', '--wait', 'select 7 as seven']);
    expect(asked).toMatchObject({ code: 0, stdout: expect.stringContaining('seven\n7\n') });
    const { code, stderr } = await musterd(['import', '--wait', 'nobody-has-this.csv', '--yes']);
    expect([code, stderr]).toEqual([64, expect.stringContaining('nobody-has-this.csv')]);
  });

  it('reconcile exits 75 and sends no request if another run holds the lease longer than --wait lasts (D15, R7, R12)', async () => {
    const held = holdRequest(stage.emulator, '/v1/tags');
    const first = musterd(['reconcile']);
    await held.reached();
    const requests = stage.emulator.requests.length;
    const second = await musterd(['reconcile']);
    expect(second.stderr).toContain('under way');
    expect(second.code).toBe(75);
    expect((await musterd(['reconcile', '--wait', '1'])).code).toBe(75);
    expect(stage.emulator.requests).toHaveLength(requests);
    expect(await stage.sql('select count(*) from sync.runs where finished_at is null')).toEqual([['1']]);
    const { code: wrong, stderr: hint } = await musterd(['sql', '--write', '--wait', '10s']);
    expect([wrong, hint]).toEqual([64, expect.stringContaining('write it last')]);
    const patient = musterd(['reconcile', '--wait', '600']);
    held.letGo();
    expect((await first).code).toBe(0);
    expect((await patient).code).toBe(0);
  });

  it('plan exits 1 if the schema is missing, and so does reconcile with database.migrate off', async () => {
    const fresh = await createStage({});
    onTestFinished(() => fresh.close());
    await fresh.sql('drop schema report cascade; drop schema mirror cascade; drop schema sync cascade');
    const plan = await musterd(['plan'], { DATABASE_URL: fresh.url });
    expect(plan.stderr).toContain('musterd migrate');
    expect(plan.code).toBe(1);
    expect(
      (await musterd(['reconcile'], { DATABASE_URL: fresh.url, MUSTERD__database__migrate: 'false' })).code,
    ).toBe(1);
    expect((await musterd(['migrate'], { DATABASE_URL: fresh.url })).stdout).toContain(
      'applied 0001_baseline',
    );
    // Before the first run there is no team.
    const changes = await musterd(['changes', '--json'], { DATABASE_URL: fresh.url });
    expect([changes.code, JSON.parse(changes.stdout)]).toEqual([0, { changes: [], more: false }]);
    expect(
      (await musterd(['reconcile'], { DATABASE_URL: fresh.url, MUSTERD__database__migrate: 'false' })).code,
    ).toBe(0);
  });

  it('the daemon finishes and records the request in progress before it stops (R2)', async () => {
    const held = holdRequest(stage.emulator, '/v1/users/update', { when: 'after' });
    const [user] = stage.emulator.team.users().filter(({ phone }) => phone !== null);
    await stage.sql(`update mirror.users set phone = '15550122' where id = ${user?.id}`);
    const daemon = startDaemon(stage.env);
    await held.reached();
    const stopped = daemon.stop();
    held.letGo();
    expect(await stopped).toBe(0);
    expect(
      await stage.sql(
        `select outcome ->> 'phone' as phone, state from sync.changes where kind = 'push' order by change_id desc limit 1`,
      ),
    ).toEqual([['confirmed', 'closed']]);
  });

  it('reconcile prints no secret key or token at log level debug (S32)', async () => {
    const { MUSTERD_SECRET_KEY: key = '' } = stage.emulator.environment;
    const { stdout, stderr } = await musterd(['reconcile', '--json'], { MUSTERD__log__level: 'debug' });
    expect(stdout + stderr).not.toContain(key);
    expect(stdout + stderr).not.toMatch(/eyJ[\w-]{10,}\./);
    expect(stderr).toContain('"operation":"POST /v1/tags"');
  });
});
