import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../src/clock.ts';
import { createStandings } from '../../src/daemon/group-status.ts';
import { countedKinds, createMetrics, type MetricsOptions } from '../../src/daemon/metrics.ts';
import { judgeFreshness } from '../../src/model/freshness.ts';
import type { GroupStatus, RunGroup } from '../../src/model/run-group.ts';
import type { RunEvent } from '../../src/reconcile/run-notes.ts';
import type { ServiceEvent } from '../../src/service/event.ts';
import { ROOT } from '../support/checkout.ts';
import { hungAfterMs } from '../support/limits.ts';
import { lintMetrics } from '../support/lint-metrics.ts';
import { hasPromtool, promtoolCheck } from '../support/promtool.ts';

const minute = 60_000;

function standing(team: string, group: RunGroup, changed: Partial<GroupStatus> = {}): GroupStatus {
  const unknown = { startedAt: null, outcome: null, failures: 0, completeAt: null, completeForMs: null };
  return { team, group, knownForMs: 60 * minute, ...unknown, ...changed };
}

const standings = [
  standing('harbour', 'users', {
    startedAt: new Date('2030-01-01T12:00:00Z'),
    completeAt: new Date('2030-01-01T12:00:02.5Z'),
    completeForMs: minute,
  }),
  standing('harbour', 'edits', { startedAt: new Date('2030-01-01T11:00:00Z'), failures: 4 }),
  standing('quay', 'users', { failures: 2 }),
];
const intervals = new Map([
  ['harbour', { users: 5 * minute }],
  ['quay', { users: 5 * minute }],
]);

/** The lines of what musterd itself says, by series, such as `fresh{team="harbour"}`. */
async function scrape(metrics: ReturnType<typeof createMetrics>): Promise<Record<string, string>> {
  const { text } = await metrics.render();
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return Object.fromEntries(
    lines.map((line): [string, string] => {
      const at = line.lastIndexOf(' ');
      return [line.slice(0, at).replace(/^musterd_/, ''), line.slice(at + 1)];
    }),
  );
}

/** The names of the series of some metrics. */
const seriesOf = async (metrics: ReturnType<typeof createMetrics>, which: RegExp) =>
  Object.keys(await scrape(metrics)).filter((name) => which.test(name));

interface Opening extends Partial<Omit<MetricsOptions, 'standings'>> {
  readonly readStandings?: () => Promise<readonly GroupStatus[]>;
  readonly clock?: Pick<Clock, 'monotonicMs'>;
}

function open({ readStandings = async () => standings, clock = systemClock, ...options }: Opening = {}) {
  return createMetrics({
    standings: createStandings(readStandings, clock, options.patienceMs),
    judge: (read) => judgeFreshness(read, intervals, 60 * minute),
    readHeld: async () => [
      { team: 'harbour', state: 'held', reason: 'conflict', count: 2 },
      { team: 'harbour', state: 'held', reason: 'asked', count: 1 },
      { team: 'quay', state: 'held', reason: 'never heard of', count: 1 },
      { team: 'quay', state: 'held', reason: 'nor of this', count: 2 },
    ],
    readRate: async () => [{ team: 'harbour', tokens: 11.5 }],
    version: '1.2.3',
    ...options,
  });
}

const request = (changed: Partial<ServiceEvent & { kind: 'request' }> = {}): ServiceEvent => ({
  kind: 'request',
  operation: 'GET /v1/tag/{id}',
  attempt: 1,
  phase: 'answered',
  status: 200,
  requestId: 'secret-request',
  durationMs: 120,
  waitedMs: 40,
  ...changed,
});

describe('metrics of the database', () => {
  it('a scrape shows freshness, failures, holds, batches and rate limits from the database', async () => {
    expect(await scrape(open())).toMatchObject({
      'last_attempt_timestamp_seconds{team="harbour",group="users"}': '1893499200',
      'last_success_timestamp_seconds{team="harbour",group="users"}': '1893499202.5',
      'last_attempt_timestamp_seconds{team="harbour",group="edits"}': '1893495600',
      'failures_in_a_row{team="harbour",group="edits"}': '4',
      'fresh{team="harbour"}': '1',
      'fresh{team="quay"}': '0',
      'held_fields{team="harbour",state="held",reason="conflict"}': '2',
      'held_fields{team="harbour",state="held",reason="asked"}': '1',
      'held_fields{team="quay",state="held",reason="other"}': '3',
      'rate_tokens_left{team="harbour"}': '11.5',
      database_up: '1',
      [`build_info{version="1.2.3",node="${process.version}"}`]: '1',
    });
  });

  it('a scrape omits a series once its row is gone from the database', async () => {
    let read = standings;
    const metrics = open({ readStandings: async () => read, readHeld: async () => [] });
    await scrape(metrics);
    read = [];
    expect(await seriesOf(metrics, /^(last_|failures|held)/)).toEqual([]);
  });

  it('two scrapes at once share one query', async () => {
    let asked = 0;
    const answer = Promise.withResolvers<readonly GroupStatus[]>();
    const metrics = open({
      readStandings: () => {
        asked += 1;
        return answer.promise;
      },
    });
    const both = [scrape(metrics), scrape(metrics)];
    answer.resolve(standings);
    await Promise.all(both);
    expect(asked).toBe(1);
  });
});

describe('while the database is away', () => {
  const away = () => Promise.reject(new Error('somebody is away'));

  it('reports database_up 0 and the metrics of the process while the database is away', async () => {
    const metrics = open({ readStandings: away, readHeld: away, readRate: away });
    metrics.onRun('harbour', { groups: ['users'], outcome: 'failed' });
    const shown = await scrape(metrics);
    expect(shown).toMatchObject({
      database_up: '0',
      'runs_total{team="harbour",groups="users",outcome="failed"}': '1',
    });
    expect(shown).toHaveProperty('nodejs_eventloop_lag_seconds');
    expect(shown).not.toHaveProperty('run_duration_seconds_count{team="harbour"}');
    expect(Object.keys(shown).filter((name) => /^(held|refused|rate)/.test(name))).toEqual([]);
    await metrics.keepTeams(['harbour']);
    expect(await seriesOf(metrics, /^(held|refused)/)).toEqual([]);
  });

  it('reports database_up 0 after a short wait if the database does not answer', async () => {
    const silent = () => new Promise<never>(() => undefined);
    const metrics = open({ readStandings: silent, readHeld: silent, readRate: silent, patienceMs: 20 });
    expect(await scrape(metrics)).toMatchObject({ database_up: '0' });
  });

  it('reports a team as stale once its last known run is too old while the database is away', async () => {
    let nowMs = 0;
    let isAway = false;
    const metrics = open({
      readStandings: async () => (isAway ? await away() : standings),
      clock: { monotonicMs: () => nowMs },
    });
    expect(await scrape(metrics)).toMatchObject({ 'fresh{team="harbour"}': '1', database_up: '1' });
    isAway = true;
    nowMs = 14 * minute;
    expect(await scrape(metrics)).toMatchObject({ 'fresh{team="harbour"}': '1', database_up: '0' });
    nowMs += 1;
    expect(await scrape(metrics)).toMatchObject({
      'fresh{team="harbour"}': '0',
      'last_success_timestamp_seconds{team="harbour",group="users"}': '1893499202.5',
    });
    isAway = false;
    expect(await scrape(metrics)).toMatchObject({ 'fresh{team="harbour"}': '1', database_up: '1' });
  });

  it.each(['readStandings', 'readHeld', 'readRate'])('reports database_up 0 if %s fails', async (name) => {
    const shown = await scrape(open({ [name]: away }));
    expect(shown).toMatchObject({ database_up: '0' });
    expect('rate_tokens_left{team="harbour"}' in shown).toBe(name !== 'readRate');
  });
});

describe('metrics of the process', () => {
  it('metrics count requests, throttling, runs, changes and queries, without ids of users or requests', async () => {
    const metrics = open();
    const events: readonly ServiceEvent[] = [
      request(),
      request({ status: 429 }),
      request({ status: null, phase: 'sent' }),
      request({ status: null, phase: 'not-sent' }),
      { kind: 'throttled', operation: 'POST /v1/tags', pauseMs: 1_000, inARow: 1 },
      { kind: 'retry', operation: 'POST /v1/tags', attempt: 1, afterMs: 1, because: 'why' },
      { kind: 'warning', code: 'clock-skew', message: 'somebody' },
    ];
    for (const event of events) metrics.onServiceEvent('harbour', event);
    const runEvents: readonly RunEvent[] = [
      { kind: 'push', users: [4711n], requestId: 'secret-request', windowMs: 700 },
      { kind: 'step', step: 'users' },
      { kind: 'progress', step: 'users', done: 1, total: null },
      { kind: 'partial', reason: 'somebody' },
      { kind: 'warning', text: 'somebody' },
    ];
    for (const event of runEvents) metrics.onRunEvent('harbour', event);
    const counts = { users_read: 200, pulled: 3, pushed: 2, settled: 0, tags_added: 5, push_window_ms: 700 };
    const groups = ['users', 'counts'] as const;
    metrics.onRun('harbour', { groups, outcome: 'complete', counts, durationMs: 2_000 });
    metrics.onRun('harbour', { groups, outcome: 'complete', counts: { pulled: 1 }, durationMs: 4_000 });
    metrics.onQuery(5);
    const shown = await scrape(metrics);
    expect(shown).toMatchObject({
      'requests_total{team="harbour",operation="GET /v1/tag/{id}",status="200"}': '1',
      'requests_total{team="harbour",operation="GET /v1/tag/{id}",status="429"}': '1',
      'requests_total{team="harbour",operation="GET /v1/tag/{id}",status="no-answer"}': '1',
      'requests_total{team="harbour",operation="GET /v1/tag/{id}",status="not-sent"}': '1',
      'throttled_total{team="harbour"}': '1',
      limiter_wait_seconds_count: '4',
      'limiter_wait_seconds_bucket{le="0.05"}': '4',
      'request_duration_seconds_count{operation="GET /v1/tag/{id}"}': '3',
      push_window_seconds_sum: '0.7',
      'runs_total{team="harbour",groups="counts+users",outcome="complete"}': '2',
      'run_duration_seconds_sum{team="harbour"}': '6',
      'changes_total{team="harbour",kind="pulled"}': '4',
      'changes_total{team="harbour",kind="pushed"}': '2',
      'changes_total{team="harbour",kind="tags_added"}': '5',
      database_seconds_sum: '0.005',
    });
    expect(await seriesOf(metrics, /^changes_total/)).toHaveLength(3);
    expect(JSON.stringify(shown)).not.toMatch(/secret-request|4711|somebody/);
  });

  it('metrics count unknown operations and outcomes as "other" (S61)', async () => {
    const metrics = open();
    for (let i = 0; i < 100; i += 1) {
      metrics.onServiceEvent('harbour', request({ operation: `GET /v1/users/${i}`, status: 1_000 + i }));
      metrics.onRun('harbour', {
        groups: ['users'],
        outcome: `outcome ${i}`,
        counts: { [`kind ${i}`]: 1 },
        durationMs: 1,
      });
    }
    const shown = await scrape(metrics);
    expect(shown).toMatchObject({
      'requests_total{team="harbour",operation="other",status="other"}': '100',
      'runs_total{team="harbour",groups="users",outcome="other"}': '100',
    });
    expect(await seriesOf(metrics, /^(requests|runs|changes)_total/)).toHaveLength(2);
  });

  it('keepTeams starts the metrics of each new team and label at 0, and keeps earlier counts', async () => {
    const metrics = open({
      readHeld: async () => [{ team: 'quay', state: 'held', reason: 'conflict', count: 2 }],
      operations: ['GET /v1/team', 'POST /v1/tags'],
    });
    await metrics.keepTeams(['harbour', 'quay']);
    const first = await scrape(metrics);
    expect(first).toMatchObject({
      'throttled_total{team="harbour"}': '0',
      'run_duration_seconds_count{team="harbour"}': '0',
      'requests_total{team="harbour",operation="POST /v1/tags",status="401"}': '0',
      'runs_total{team="harbour",groups="counts+listings+users",outcome="refused"}': '0',
      'runs_total{team="harbour",groups="edits",outcome="partial"}': '0',
      'held_fields{team="harbour",state="held",reason="conflict"}': '0',
      'held_fields{team="quay",state="held",reason="conflict"}': '2',
    });
    const of = (name: string) =>
      Object.keys(first).filter((series) => series.startsWith(`${name}{team="harbour"`)).length;
    const each = ['runs_total', 'changes_total', 'requests_total', 'held_fields'];
    expect(each.map(of)).toEqual([11 * 4, countedKinds.length, 2 * 5, 2 * 8]);
    metrics.onServiceEvent('harbour', { kind: 'throttled' });
    metrics.onServiceEvent('harbour', request({ operation: 'POST /v1/tags', status: 401 }));
    metrics.onRun('harbour', { groups: ['users'], outcome: 'failed', counts: { pulled: 2 }, durationMs: 1 });
    await metrics.keepTeams(['harbour']);
    const then = await scrape(metrics);
    expect(then).toMatchObject({
      'throttled_total{team="harbour"}': '1',
      'requests_total{team="harbour",operation="POST /v1/tags",status="401"}': '1',
      'runs_total{team="harbour",groups="users",outcome="failed"}': '1',
      'changes_total{team="harbour",kind="pulled"}': '2',
      'run_duration_seconds_count{team="harbour"}': '1',
    });
    expect(await seriesOf(metrics, /^(runs|changes|requests)_total\{team="quay"/)).toEqual([]);
  });

  it('keepTeams drops the metrics of every team that is not in the given list', async () => {
    const metrics = open({
      judge: () => [],
      readStandings: async () => [],
      readHeld: async () => [],
      readRate: async () => [],
    });
    for (const team of ['harbour', 'quay']) {
      metrics.onServiceEvent(team, request());
      metrics.onServiceEvent(team, { kind: 'throttled' });
      metrics.onRun(team, { groups: ['users'], outcome: 'complete', counts: { pulled: 1 }, durationMs: 1 });
      metrics.onTold(team, 'accepted');
    }
    await metrics.keepTeams(['quay']);
    expect(await seriesOf(metrics, /harbour/)).toEqual([]);
    const kept = /^((requests|throttled|runs|changes|notices)_total|run_duration_seconds_sum)\{team="quay"/;
    const names = (await seriesOf(metrics, kept)).map((series) => series.replace(/\{.*/, ''));
    expect(new Set(names).size).toBe(6);
  });
});

describe('the text of the metrics', () => {
  it('gives each metric one help, one type and a unique name', async () => {
    const metrics = open();
    const { contentType, text } = await metrics.render();
    expect(contentType).toMatch(/^text\/plain; version=0\.0\.4/);
    const named = (kind: string) =>
      [...text.matchAll(new RegExp(`^# ${kind} (\\S+)`, 'gm'))].map(([, name]) => name);
    expect(named('HELP')).toEqual(named('TYPE'));
    expect(new Set(named('HELP')).size).toBe(named('HELP').length);
    expect(named('HELP').filter((name) => !/^musterd_[a-z0-9_]+$/.test(name ?? ''))).toEqual([]);
  });

  it('lintMetrics reports lines that Prometheus would reject', () => {
    const text = (name: string, type: string, help = 'What it is.', labels = '') =>
      `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${name}${labels} 1\n`;
    expect(lintMetrics(text('a_total', 'counter') + text('b_seconds', 'gauge'))).toEqual([]);
    const bad = [
      text('a', 'counter'),
      text('b_total', 'gauge'),
      text('c', 'gauge', ''),
      text('d_count', 'gauge'),
      text('e', 'gauge', 'E.', '{le="1"}'),
      text('f_gauge', 'gauge'),
      text('gG', 'gauge'),
      text('h', 'gauge', 'H.', '{aB="1"}'),
      text('i_ms', 'gauge'),
      text('j_minutes_total', 'counter'),
      'k 1\n',
    ];
    for (const one of bad) {
      expect(lintMetrics(one), one).toHaveLength(1);
      if (hasPromtool && one !== 'k 1\n') expect(promtoolCheck(one), one).not.toBe('');
    }
  });

  it('two metrics from createMetrics work in one process, and let the process exit', () => {
    const program = `
      const { createMetrics } = await import('./src/daemon/metrics.ts');
      const standings = { read: async () => ({ standings: [], current: true }) };
      const metrics = createMetrics({ standings });
      createMetrics({ standings });
      await metrics.render();`;
    const options = { cwd: ROOT, timeout: hungAfterMs, encoding: 'utf8', env: {} } as const;
    const ran = spawnSync(process.execPath, ['--input-type=module', '-e', program], options);
    expect(ran).toMatchObject({ status: 0, stderr: '' });
  });
});
