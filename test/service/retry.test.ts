import { describe, expect, test } from 'vitest';
import type { Effect } from '../../src/service/operation.ts';
import type { Failure, FailureReason, Outcome, Refusal } from '../../src/service/call-outcome.ts';
import { defaultRetrySettings, nextStep } from '../../src/service/retry.ts';

const common = { requestId: null, dateMs: null };
const answered: Outcome = {
  kind: 'answer',
  digest: null,
  status: 200,
  body: { value: 1, spelling: '1', suspicious: false },
  headers: {},
  ...common,
};

const refusal = (status: number, retryAfter: string | null = null): Refusal => ({
  kind: 'refusal',
  status,
  label: null,
  excerpt: undefined,
  retryAfter,
  ...common,
});

const failed = (reason: FailureReason, phase: Failure['phase']): Failure => ({
  kind: 'failure',
  reason,
  phase,
  message: reason,
  status: null,
  ...common,
});

function step(effect: Effect, outcome: Outcome, tries = { failures: 1, throttles: 0 }) {
  return nextStep(effect, outcome, tries, defaultRetrySettings, { wallMs: 0, random: () => 0.5 });
}

/** Whether another try follows, for a read and for a write. A missing reason does not compile. */
const failures: Record<FailureReason, Record<Failure['phase'], readonly [read: boolean, write: boolean]>> = {
  unreachable: { 'not-sent': [true, true], sent: [true, false] },
  broken: { 'not-sent': [true, true], sent: [true, false] },
  timeout: { 'not-sent': [true, true], sent: [true, false] },
  unframed: { 'not-sent': [true, true], sent: [true, false] },
  malformed: { 'not-sent': [true, true], sent: [true, false] },
  tls: { 'not-sent': [false, false], sent: [false, false] },
  encoded: { 'not-sent': [false, false], sent: [false, false] },
  'not-json': { 'not-sent': [true, true], sent: [true, false] },
  'too-large': { 'not-sent': [false, false], sent: [false, false] },
  redirect: { 'not-sent': [false, false], sent: [false, false] },
  cancelled: { 'not-sent': [false, false], sent: [false, false] },
};

describe('nextStep', () => {
  for (const reason of Object.keys(failures) as FailureReason[]) {
    for (const phase of ['not-sent', 'sent'] as const) {
      test(`repeats a read unless "${reason}" is final, and a write only if not sent (${phase})`, () => {
        const [read, write] = failures[reason][phase];
        expect(step('read', failed(reason, phase)).kind).toBe(read ? 'retry' : 'give-up');
        expect(step('write', failed(reason, phase)).kind).toBe(write ? 'retry' : 'give-up');
      });
    }
  }

  test.each([400, 403, 404, 405, 409, 418, 422])('repeats no read and no write after a %i', (status) => {
    expect(step('read', refusal(status)).kind).toBe('give-up');
    expect(step('write', refusal(status)).kind).toBe('give-up');
  });

  test.each([500, 502, 503, 504, 599])('repeats a read after a %i, and does not repeat a write', (status) => {
    expect(step('read', refusal(status)).kind).toBe('retry');
    expect(step('write', refusal(status)).kind).toBe('give-up');
  });

  test('repeats reads and writes with new authorization after a 401', () => {
    for (const effect of ['read', 'write'] as const) {
      expect(step(effect, refusal(401)).kind).toBe('reauthorize');
      expect(step(effect, answered).kind).toBe('done');
    }
  });

  test('repeats a read after a 429, and does not repeat a write', () => {
    expect(step('read', refusal(429))).toMatchObject({ kind: 'retry', afterMs: 0, costs: false });
    expect(step('write', refusal(429)).kind).toBe('give-up');
  });

  test('gives up a read after the allowed number of failures or the allowed number of 429s', () => {
    const { attempts, throttles } = defaultRetrySettings;
    expect(step('read', refusal(500), { failures: attempts - 1, throttles: 0 }).kind).toBe('retry');
    expect(step('read', refusal(500), { failures: attempts, throttles: 0 }).kind).toBe('give-up');
    expect(step('read', refusal(429), { failures: 0, throttles: throttles - 1 }).kind).toBe('retry');
    expect(step('read', refusal(429), { failures: 0, throttles }).kind).toBe('give-up');
  });

  test('pauses longer after each failure, obeys a Retry-After of 7 s, and gives up at a Retry-After of 600 s', () => {
    expect(step('read', refusal(500))).toMatchObject({ afterMs: 500 });
    expect(step('read', refusal(500), { failures: 3, throttles: 0 })).toMatchObject({ afterMs: 2_000 });
    expect(step('read', refusal(503, '7'))).toMatchObject({ afterMs: 7_000 });
    expect(step('read', refusal(503, '600')).kind).toBe('give-up');
  });
});
