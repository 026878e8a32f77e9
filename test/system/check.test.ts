import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import type { Report } from '../../src/runs/set-up/check/check-report.ts';
import { checkLength } from '../../src/runs/set-up/check/check-access.ts';
import type { ServiceClient } from '../../src/service/client.ts';
import { createTestDatabase } from '../support/database.ts';
import { runMusterd } from './run-musterd.ts';
import type { StageOptions } from './stage.ts';
import { createStage, type Stage } from './stage.ts';

interface Findings {
  readonly ok: boolean;
  readonly findings: readonly { readonly check: string; readonly verdict: string; readonly detail: string }[];
  readonly probes: readonly { readonly probe: string; readonly answer: Readonly<Record<string, unknown>> }[];
}

describe('musterd check', () => {
  let stage: Stage;
  const open = async (options: StageOptions = {}) => {
    stage = await createStage(options);
  };
  afterEach(() => stage.close());
  const check = async (args: readonly string[] = [], env: Readonly<Record<string, string>> = {}) => {
    const { code, stdout, stderr } = await runMusterd(['check', '--json', ...args], {
      ...stage.env,
      ...env,
    });
    return { code, stderr, report: (stdout === '' ? null : JSON.parse(stdout)) as Findings };
  };
  const verdictOf = (report: Findings, name: string) =>
    report.findings.find((finding) => finding.check === name);
  const answerOf = (report: Findings, name: string) =>
    report.probes.find((probe) => probe.probe === name)?.answer;

  it('reports ok for a healthy setup, stores the answers of its probes, and sends no update', async () => {
    await open();
    const { code, report } = await check();
    expect(code).toBe(0);
    expect(report.ok).toBe(true);
    for (const name of [
      'configuration',
      'database',
      'migrations',
      'privileges',
      'API secret',
      'clock',
      'team',
      'longest answer',
    ]) {
      expect(verdictOf(report, name)).toMatchObject({ verdict: 'ok' });
    }
    expect(answerOf(report, 'tags: pages')).toMatchObject({ rows: 25, requests: 4, complete: true });
    expect(
      await stage.sql(
        `select count(*) from sync.learned where topic <> 'pace' and topic not like 'credential %'`,
      ),
    ).toEqual([[String(report.probes.length)]]);
    expect(stage.emulator.requests.filter(({ path }) => path.endsWith('/update'))).toEqual([]);
    expect((await runMusterd(['check'], stage.env)).stdout).toContain('ok\tdatabase\tPostgres');
  });

  it.each([
    [{ pages: 'base-1' }, 'tags: pages', { requests: 5, complete: true }],
    [{ pages: 'ignored' }, 'tags: pages', { requests: 4, complete: false }],
    [{ 'limit-cap': 7 }, 'tags: largest limit', { cap: 7 }],
    [{ 'limit-cap': 20, 'over-cap': 'refuse' }, 'tags: largest limit', { status: 400 }],
    [{ 'unfiltered-users': 'none' }, 'users/get without a filter', { answer: 'nobody' }],
    [{ 'unfiltered-users': 'refuse' }, 'users/get without a filter', { answer: 'refused' }],
    [{ 'unfiltered-users': 4 }, 'users/get without a filter', { answer: 'some', users: 4 }],
  ] as const)('finds service variant %j by probe "%s", and reports %j', async (variants, probe, answer) => {
    await open({ emulator: { variants } });
    const { report } = await check();
    expect(answerOf(report, probe)).toMatchObject(answer);
  });

  it('exits 0 and notes that the service lacks a listing if it answers 404 to requests for the listing', async () => {
    await open();
    const fault = { kind: 'status', code: 404, label: 'not found', times: 'always' } as const;
    stage.emulator.addFault({ ...fault, path: '/v1/surveys' });
    const { code, report } = await check();
    expect(code).toBe(0);
    expect(verdictOf(report, 'surveys: pages')).toMatchObject({
      verdict: 'note',
      detail: 'the service has no such listing (404), so it counts as empty',
    });
    expect(verdictOf(report, 'surveys: largest limit')).toBeUndefined();
    expect(verdictOf(report, 'tags: pages')).toMatchObject({ verdict: 'ok' });
  });

  it('reports when a run last needed each of two secrets (S44)', async () => {
    await open();
    await stage.run();
    stage.emulator.team.addSecret({ id: 'second', key: 'the-second-key' });
    const next = { MUSTERD_NEXT_SECRET_ID: 'second', MUSTERD_NEXT_SECRET_KEY: 'the-second-key' };
    const { code, report } = await check([], next);
    expect(code).toBe(0);
    expect(verdictOf(report, 'next API secret')).toMatchObject({
      verdict: 'ok',
      detail: 'accepted, last needed by a run never',
    });
    expect(verdictOf(report, 'API secret')?.detail).toMatch(/^accepted, last needed by a run \d{4}-[^;]*$/);
    stage.emulator.team.revokeSecret(stage.emulator.environment['MUSTERD_SECRET_ID'] ?? '');
    const revoked = await check([], next);
    expect(verdictOf(revoked.report, 'API secret')).toMatchObject({ verdict: 'fail' });
    expect((await runMusterd(['reconcile'], { ...stage.env, ...next })).code).toBe(0);
  });

  it('warns if the longest answer has at least half of the bytes that musterd may read', () => {
    const told = (bytes: number) => {
      const found: unknown[] = [];
      const longest = { operation: 'GET /v1/users/get', bytes, maxBytes: 100_000 };
      checkLength(
        { longestAnswer: () => longest } as ServiceClient,
        { add: (...finding: unknown[]) => void found.push(finding) } as unknown as Report,
      );
      return found;
    };
    const of = (bytes: number, share: number) =>
      `GET /v1/users/get: ${bytes} bytes, ${share} % of the allowed length`;
    expect(told(49_999)).toEqual([['longest answer', 'ok', of(49_999, 50)]]);
    const advice = '; if it exceeds 100000 bytes, no user is mirrored, and no setting raises this limit';
    expect(told(50_000)).toEqual([['longest answer', 'note', of(50_000, 50) + advice]]);
  });

  it('exits 77 if the service refuses the credentials, and 78 if the credentials belong to another team', async () => {
    await open();
    await stage.run();
    expect((await check([], { MUSTERD_SECRET_KEY: 'nobody-knows-this' })).code).toBe(77);
    const other = await createStage({ emulator: { teamId: 77, users: 2 } });
    expect((await check([], other.emulator.environment)).code).toBe(78);
    await other.close();
  });

  it('exits 1 if the database does not answer, and still checks the team on the service', async () => {
    await open();
    const { code, report } = await check([], { DATABASE_URL: 'postgres://nobody@127.0.0.1:9/none' });
    expect(code).toBe(1);
    expect(verdictOf(report, 'database')).toMatchObject({ verdict: 'fail' });
    expect(verdictOf(report, 'team')).toMatchObject({ verdict: 'ok' });
  });

  it('summarizes in one line the migrations that an empty database lacks', async () => {
    await open();
    const empty = await createTestDatabase({ empty: true });
    onTestFinished(() => empty.close());
    const { code, report } = await check([], { DATABASE_URL: empty.url });
    expect(code).toBe(0);
    expect(verdictOf(report, 'migrations')).toMatchObject({
      verdict: 'note',
      detail: expect.stringMatching(
        /^not applied yet: \d\d migrations: 0001_baseline to repeatable\/\d\d_\w+; /,
      ) as string,
    });
  });

  it('exits 0 with a legacy API key, and warns of its planned deprecation (S50)', async () => {
    await open({ emulator: { apiKey: 'legacy-key-0123456789' } });
    const env = { MUSTERD_SECRET_ID: '', MUSTERD_SECRET_KEY: '', MUSTERD_API_KEY: 'legacy-key-0123456789' };
    const { code, report, stderr } = await check([], env);
    expect(code).toBe(0);
    expect(verdictOf(report, 'legacy API key')).toMatchObject({ verdict: 'note' });
    expect(stderr).toContain('planned for deprecation');
    expect(stderr).not.toContain('legacy-key-0123456789');
  });

  it('warns if the clock of the service is two minutes off', async () => {
    await open({ emulator: { faults: [{ kind: 'clock-skew', seconds: 120, times: 'always' }] } });
    const { report } = await check();
    expect(verdictOf(report, 'clock')).toMatchObject({ verdict: 'note' });
  });

  it.each([
    ['keeps-name', true, 'an update without the name keeps it'],
    ['clears-name', false, 'an update without the name clears it: the name is sent with every update'],
  ] as const)(
    '--write-probe finds if an email update keeps the name, restores the user, and status prints the result (%s)',
    async (variant, keeps, words) => {
      await open({ emulator: { variants: { 'email-update': variant, 'email-case': 'lowered' } } });
      await stage.run();
      const known = async () => /^names +(.*)$/m.exec((await stage.musterd('status')).stdout)?.[1];
      expect(await known()).toContain('it is not known if an update without the name keeps it');
      const user = stage.emulator.team
        .users()
        .find(({ email, last }) => email !== null && email === email.toLowerCase() && /^\S+$/.test(last));
      const { code, report } = await check(['--write-probe', user?.email ?? '']);
      expect(answerOf(report, 'an email alone keeps the name')).toEqual({ keeps_name: keeps });
      expect(answerOf(report, 'case of a written email')).toEqual({ stored: 'not changed' });
      expect(verdictOf(report, 'write probe')).toMatchObject({ verdict: 'ok' });
      expect(code).toBe(keeps ? 0 : 1);
      const { first, last, email, phone } = stage.emulator.team.user(user?.id ?? 0);
      expect({ first, last, email, phone }).toEqual({
        first: user?.first,
        last: user?.last,
        email: user?.email,
        phone: user?.phone,
      });
      expect(await known()).toBe(words);
      expect(await stage.run()).toMatchObject({ outcome: 'complete', waiting: 0 });
      expect(stage.updates().length).toBeGreaterThan(0);
    },
  );

  it('exits 64 and sends no update if --write-probe names an unknown user', async () => {
    await open();
    const { code, stderr } = await check(['--write-probe', 'nobody@example.com']);
    expect(code).toBe(64);
    expect(stderr).toContain('nobody@example.com');
    expect(stage.updates()).toEqual([]);
  });
});
