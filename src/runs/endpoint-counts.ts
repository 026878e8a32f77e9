/** Counts a run's requests by endpoint. */
import type { EndpointCount } from '../mirror/runs/runs.ts';
import type { RequestEvent, ServiceEvent } from '../service/event.ts';

const nothing: EndpointCount = {
  requests: 0,
  throttled: 0,
  failed: 0,
  ms: 0,
  slowest_ms: 0,
  slowest_request_id: null,
};

const isThrottled = ({ status }: RequestEvent) => status === 429;
const isFailed = ({ status }: RequestEvent) => status === null || (status >= 400 && status !== 429);

function withRequest(count: EndpointCount, event: RequestEvent): EndpointCount {
  const tookMs = Math.round(event.durationMs);
  const isSlowest = count.requests === 0 || tookMs > count.slowest_ms;
  return {
    requests: count.requests + 1,
    throttled: count.throttled + Number(isThrottled(event)),
    failed: count.failed + Number(isFailed(event)),
    ms: count.ms + tookMs,
    slowest_ms: isSlowest ? tookMs : count.slowest_ms,
    slowest_request_id: isSlowest ? event.requestId : count.slowest_request_id,
  };
}

export function createEndpointCounts() {
  const counts = new Map<string, EndpointCount>();
  return {
    onServiceEvent: (event: ServiceEvent) => {
      if (event.kind !== 'request') return;
      counts.set(event.operation, withRequest(counts.get(event.operation) ?? nothing, event));
    },
    /** By endpoint, such as `GET /v1/team`. */
    byEndpoint: (): Readonly<Record<string, EndpointCount>> => Object.fromEntries(counts),
    /** Sum of all endpoints. */
    requests: () => [...counts.values()].reduce((sum, { requests }) => sum + requests, 0),
  };
}
