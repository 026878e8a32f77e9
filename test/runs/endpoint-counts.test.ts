import { expect, it } from 'vitest';
import { createEndpointCounts } from '../../src/runs/sync/run-record.ts';
import type { RequestEvent } from '../../src/service/event.ts';

const request = (
  operation: string,
  status: number | null,
  durationMs: number,
  requestId: string | null,
): RequestEvent => ({
  kind: 'request',
  operation,
  attempt: 1,
  phase: status === null ? 'sent' : 'answered',
  status,
  requestId,
  durationMs,
  waitedMs: 1_000,
});

it('createEndpointCounts returns requests, 429s, failures, total time and slowest request of each endpoint', () => {
  const asked = createEndpointCounts();
  expect([asked.byEndpoint(), asked.requests()]).toEqual([{}, 0]);
  for (const event of [
    request('GET /v1/team', 200, 30.4, 'a'),
    request('POST /v1/tags', 429, 0, 'b'),
    request('POST /v1/tags', 200, 80.6, 'c'),
    request('POST /v1/tags', 200, 80.5, 'd'),
    request('POST /v1/tags', 400, 12, 'e'),
    request('POST /v1/tags', null, 9, null),
    request('POST /v1/tags', 503, 9, 'f'),
  ])
    asked.onServiceEvent(event);
  asked.onServiceEvent({ kind: 'throttled', operation: 'POST /v1/tags', pauseMs: 1, inARow: 1 });
  expect(asked.byEndpoint()).toEqual({
    'GET /v1/team': {
      requests: 1,
      throttled: 0,
      failed: 0,
      ms: 30,
      slowest_ms: 30,
      slowest_request_id: 'a',
    },
    'POST /v1/tags': {
      requests: 6,
      throttled: 1,
      failed: 3,
      ms: 192,
      slowest_ms: 81,
      slowest_request_id: 'c',
    },
  });
  expect(asked.requests()).toBe(7);
});

it('createEndpointCounts returns the id of the slowest request even if all requests took 0 ms', () => {
  const asked = createEndpointCounts();
  asked.onServiceEvent(request('GET /v1/team', 200, 0, 'a'));
  asked.onServiceEvent(request('GET /v1/team', 200, 0, 'b'));
  expect(asked.byEndpoint()).toMatchObject({ 'GET /v1/team': { slowest_ms: 0, slowest_request_id: 'a' } });
});
