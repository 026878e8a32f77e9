import type { RequestListener } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { createPing, type PingOptions } from '../../src/daemon/ping.ts';
import { eventually } from '../support/eventually.ts';
import { listenHere } from '../system/listen-here.ts';

/** A watcher on loopback. */
async function watch(answer: RequestListener): Promise<{ url: string; calls: string[] }> {
  const calls: string[] = [];
  const origin = await listenHere((request, response) => {
    calls.push(`${request.method} ${request.url}`);
    answer(request, response);
  });
  return { url: `${origin}/ping/secret-word`, calls };
}

function open(urls: Readonly<Record<string, string>>, options: Partial<PingOptions> = {}) {
  const warnings: object[] = [];
  const ping = createPing({
    urls: new Map(Object.entries(urls)),
    log: { warn: (fields) => warnings.push(fields) },
    ...options,
  });
  onTestFinished(() => ping.close());
  return { ping, warnings };
}

const complete = { groups: ['users'], outcome: 'complete' } as const;

test('the ping calls the address of a team only after a complete run of the team’s users', async () => {
  const { url, calls } = await watch((_, response) => response.end('OK'));
  const { ping, warnings } = open({ harbour: url });
  for (const outcome of ['partial', 'failed', 'refused', 'running']) {
    await ping.onRun('harbour', { groups: ['users'], outcome });
  }
  await ping.onRun('harbour', { groups: ['listings', 'counts'], outcome: 'complete' });
  await ping.onRun('harbour', { groups: ['edits'], outcome: 'complete' });
  await ping.onRun('quay', complete);
  expect(calls).toEqual([]);
  await ping.onRun('harbour', { groups: ['users', 'listings'], outcome: 'complete' });
  expect(calls).toEqual(['GET /ping/secret-word']);
  expect(warnings).toEqual([]);
});

test('the ping makes one call at a time for each team, and calls for two teams in parallel', async () => {
  const held: (() => void)[] = [];
  const { url, calls } = await watch((_, response) => held.push(() => response.end()));
  const { ping, warnings } = open({ harbour: url, quay: url });
  const first = ping.onRun('harbour', complete);
  await eventually('the first call', () => calls.length === 1);
  await ping.onRun('harbour', complete);
  const other = ping.onRun('quay', complete);
  await eventually('the call of the other team', () => calls.length === 2);
  for (const answer of held) answer();
  await Promise.all([first, other]);
  const next = ping.onRun('harbour', complete);
  await eventually('the next call', () => calls.length === 3);
  for (const answer of held) answer();
  await next;
  expect(warnings).toEqual([]);
});

test('the ping does not follow a redirect, and omits the address from the warning about a failed call', async () => {
  const { url, calls } = await watch((_, response) => {
    response.writeHead(302, { location: '/elsewhere' }).end();
  });
  const { ping, warnings } = open({ harbour: url, quay: 'http://127.0.0.1:1/secret-word' });
  await ping.onRun('harbour', complete);
  await ping.onRun('quay', complete);
  expect(calls).toEqual(['GET /ping/secret-word']);
  expect(warnings).toEqual([
    { team: 'harbour', status: 302 },
    { team: 'quay', problem: expect.any(String) as string },
  ]);
  expect(JSON.stringify(warnings)).not.toContain('secret-word');
});

test('the ping ends a call after the timeout, with a warning, or as soon as the ping is closed', async () => {
  const silent = await watch(() => undefined);
  const slow = open({ harbour: silent.url }, { timeoutMs: 50 });
  await slow.ping.onRun('harbour', complete);
  expect(slow.warnings).toEqual([{ team: 'harbour', problem: 'no answer in time' }]);
  const { url, calls } = await watch(() => undefined);
  const closed = open({ harbour: url });
  const call = closed.ping.onRun('harbour', complete);
  await eventually('the call', () => calls.length === 1);
  await closed.ping.close();
  await call;
  await closed.ping.onRun('harbour', complete);
  expect(calls.length).toBe(1);
  expect(closed.warnings).toEqual([]);
});

test.each([
  ['https://alarms.example.net/ping', true],
  ['http://127.0.0.1:8000/ping', true],
  ['http://[::1]/ping', true],
  ['http://localhost/ping', true],
  ['http://alarms.example.net/secret-word', false],
  ['http://127.0.0.1.example.net/secret-word', false],
  ['https://name:secret-word@alarms.example.net/', false],
  ['file:///secret-word', false],
  ['secret-word', false],
])('createPing accepts https, or http on loopback, if the address has no login: %s (%s)', (url, valid) => {
  const make = () => open({ harbour: url });
  if (valid) expect(make).not.toThrow();
  else {
    expect(make).toThrow(expect.objectContaining({ code: 'configuration' }) as Error);
    expect(make).not.toThrow(/secret-word/);
  }
});
