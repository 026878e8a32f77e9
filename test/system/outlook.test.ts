import { afterEach, describe, expect, it } from 'vitest';
import { startMusterd } from './run-musterd.ts';
import { eventually } from '../support/eventually.ts';
import { lintMetrics } from '../support/lint-metrics.ts';
import { freePort } from '../support/postgres-process.ts';
import { hasPromtool, promtoolCheck } from '../support/promtool.ts';
import { type DaemonHere, startDaemon } from './daemon-here.ts';
import { listenHere } from './listen-here.ts';
import { createStage, type Stage } from './stage.ts';

/** Counts who calls. */
async function createAlarm() {
  const calls: string[] = [];
  const origin = await listenHere((request, response) => {
    calls.push(`${request.method} ${request.url}`);
    response.end('ok');
  });
  return { calls, url: `${origin}/alive` };
}

describe('a monitored daemon', () => {
  let stage: Stage;
  let daemon: DaemonHere;
  let alarm: Awaited<ReturnType<typeof createAlarm>>;
  afterEach(async () => {
    await daemon.stop();
    await stage.close();
  });

  const open = async (more: Readonly<Record<string, string>> = {}) => {
    stage = await createStage({ emulator: { users: 10, tags: 2, fields: 2 } });
    alarm = await createAlarm();
    daemon = startDaemon({
      ...stage.env,
      MUSTERD__status__port: String(await freePort()),
      MUSTERD__ping__url: alarm.url,
      ...more,
    });
    await eventually('the daemon has started', () => daemon.log().includes('daemon started'));
    const [, port] = /"port":(\d+)/.exec(daemon.log()) ?? [];
    return async (path: string, init: RequestInit = {}) =>
      await fetch(`http://127.0.0.1:${port}${path}`, init);
  };

  it('exits 78 and prints no stack trace if its port is taken, or its host is unknown', async () => {
    await open();
    const [, port = ''] = /"port":(\d+)/.exec(daemon.log()) ?? [];
    for (const [host, reason] of [
      ['127.0.0.1', 'EADDRINUSE'],
      ['nobody.invalid', 'ENOTFOUND|EAI_AGAIN'],
    ]) {
      const place = { MUSTERD__status__port: port, MUSTERD__status__host: host ?? '' };
      const second = await startMusterd(['daemon'], { ...stage.env, ...place }).ended;
      expect(second.code).toBe(78);
      const words = `^musterd: Cannot listen on \\S+ port \\d+ \\((${reason})\\)\\n {2}Set status\\.port`;
      expect(second.stderr).toMatch(new RegExp(words, 'm'));
      expect(second.stderr).not.toContain('    at ');
    }
  });

  it('answers 200 on its health paths after the first run, counts the run in its metrics, and calls the dead-man switch once', async () => {
    const ask = await open();
    expect((await ask('/healthz')).status).toBe(200);
    await eventually(
      'the first run is complete',
      async () => (await stage.runs(`outcome = 'complete'`)) === 1,
    );
    await eventually('the switch is called', () => alarm.calls.length > 0);
    expect(alarm.calls).toEqual(['GET /alive']);
    const ready = await ask('/readyz');
    expect(ready.status).toBe(200);
    expect(await ready.json()).toEqual({
      ready: true,
      checks: { database: 'ok', migrations: 'ok', credentials: 'ok' },
    });
    expect((await ask('/freshness')).status).toBe(200);
    expect((await ask('/freshness?team=default')).status).toBe(200);
    expect((await ask('/freshness?team=nobody')).status).toBe(404);
    await stage.sql(
      `insert into sync.held_fields (team_id, user_id, field, reason) select team_id, min(id), 'phone', 'conflict' from mirror.users group by 1`,
    );
    const metrics = await (await ask('/metrics')).text();
    expect(metrics).toContain('\nmusterd_held_fields{team="default",state="held",reason="conflict"} 1\n');
    expect(metrics).toMatch(/^musterd_runs_total\{.*outcome="complete".*\} 1$/m);
    expect(metrics).toMatch(/^musterd_fresh\{team="default"\} 1$/m);
    expect(metrics).toContain('\nmusterd_throttled_total{team="default"} 0\n');
    for (const operation of [
      'GET /v1/users/get',
      'POST /v1/users/update',
      'POST /v1/tags',
      'GET /v1/tag/{id}',
    ])
      expect(metrics).toContain(`{team="default",operation="${operation}",status="401"} 0\n`);
    expect(lintMetrics(metrics)).toEqual([]);
    expect(hasPromtool ? promtoolCheck(metrics) : '').toBe('');
    expect(metrics).toMatch(/^musterd_requests_total\{.*operation="GET \/v1\/team".*\} 1$/m);
    for (const user of stage.emulator.team.users()) {
      if (user.last) expect(metrics).not.toContain(user.last);
      if (user.email) expect(metrics).not.toContain(user.email);
    }
    expect(await daemon.stop()).toBe(0);
    expect(daemon.log()).not.toContain(alarm.url);
  });

  it('answers 503 and does not call the dead-man switch while runs fail, and answers 200 once runs succeed', async () => {
    const ask = await open({ MUSTERD__schedule__users: '* * * * * *' });
    await eventually('the switch is called', () => alarm.calls.length > 0);
    await eventually('it is fresh', async () => (await ask('/freshness')).status === 200);
    stage.emulator.addFault({ kind: 'status', code: 401, path: '/v1/team', times: 'always' });
    await eventually('a run has failed', async () => (await stage.runs(`outcome = 'failed'`)) >= 1);
    const calls = alarm.calls.length;
    await eventually(
      'it is stale after three intervals',
      async () => (await ask('/freshness')).status === 503,
    );
    await eventually('it is not ready', async () => (await ask('/readyz')).status === 503);
    expect(await (await ask('/readyz')).json()).toMatchObject({ checks: { credentials: 'failing' } });
    expect(await (await ask('/metrics')).text()).toMatch(/^musterd_fresh\{team="default"\} 0$/m);
    expect(alarm.calls.length).toBe(calls);
    stage.emulator.clearFaults();
    await eventually('it is fresh again', async () => (await ask('/freshness')).status === 200);
    await eventually('the switch is called again', () => alarm.calls.length > calls);
    expect((await ask('/readyz')).status).toBe(200);
  });
});
