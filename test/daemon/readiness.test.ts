import { expect, test } from 'vitest';
import type { MeteredServiceEvent } from '../../src/daemon/metrics.ts';
import { createReadiness } from '../../src/daemon/readiness.ts';
import { isReady } from '../../src/model/readiness-report.ts';

const answered = (status: number | null): MeteredServiceEvent => ({
  kind: 'request',
  operation: 'GET /v1/team',
  phase: status === null ? 'sent' : 'answered',
  status,
  durationMs: 1,
  waitedMs: 0,
});

test.each([
  ['ok', 'ok', 'ok', true],
  ['ok', 'ok', 'unknown', true],
  ['unknown', 'unknown', 'unknown', true],
  ['failing', 'ok', 'ok', false],
  ['ok', 'failing', 'ok', false],
  ['ok', 'ok', 'failing', false],
  ['failing', 'unknown', 'unknown', false],
] as const)('isReady is false if a check fails: %s %s %s %s', (database, migrations, credentials, ready) => {
  expect(isReady({ database, migrations, credentials })).toBe(ready);
});

test('readiness checks database and migrations at each call, and reports a failing check as failing', async () => {
  const away = () => Promise.reject(new Error('away'));
  let ask: () => Promise<unknown> = () => Promise.resolve();
  let count = () => Promise.resolve(0);
  const readiness = createReadiness({ ask: () => ask(), countPending: () => count(), patienceMs: 20 });
  expect(await readiness.check()).toEqual({ database: 'ok', migrations: 'ok', credentials: 'unknown' });
  count = () => Promise.resolve(1);
  expect(await readiness.check()).toMatchObject({ database: 'ok', migrations: 'failing' });
  // The schema is newer than this version: the database is not to blame.
  count = away;
  expect(await readiness.check()).toMatchObject({ database: 'ok', migrations: 'failing' });
  ask = away;
  expect(await readiness.check()).toMatchObject({ database: 'failing', migrations: 'unknown' });
  ask = () => new Promise(() => undefined);
  expect(await readiness.check()).toMatchObject({ database: 'failing' });
});

test('readiness reports failing credentials if the last answer to every team was a 401', async () => {
  const readiness = createReadiness({ ask: () => Promise.resolve(), countPending: () => Promise.resolve(0) });
  const after = async (team: string, event: MeteredServiceEvent) => {
    readiness.onServiceEvent(team, event);
    return (await readiness.check()).credentials;
  };
  expect(await after('harbour', answered(null))).toBe('unknown');
  expect(await after('harbour', { kind: 'throttled' })).toBe('unknown');
  expect(await after('harbour', answered(401))).toBe('failing');
  // The second of two credentials was taken.
  expect(await after('harbour', answered(200))).toBe('ok');
  expect(await after('harbour', answered(500))).toBe('ok');
  expect(await after('harbour', answered(401))).toBe('failing');
  expect(await after('harbour', answered(null))).toBe('failing');
  expect(await after('quay', answered(200))).toBe('ok');
  readiness.keepTeams(['harbour']);
  expect((await readiness.check()).credentials).toBe('failing');
  readiness.keepTeams([]);
  expect((await readiness.check()).credentials).toBe('unknown');
});
