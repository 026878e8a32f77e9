/** Calls to the configured addresses `ping.url` and `notify.url`. No message repeats an address: it can be a secret. */
import { createConnections } from '../service/connections.ts';
import { describeConnectFailure, proxyFor } from '../service/proxy.ts';

export interface CallOut {
  readonly signal: AbortSignal;
  /** Sent with POST; without a body the request is a GET. */
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The longest time for a call, in ms. Callers abort a call earlier. */
const longestMs = 60_000;
const patience = { connectTimeoutMs: longestMs, headersTimeoutMs: longestMs, totalDeadlineMs: longestMs };

/** @returns the status of the answer. The body is not read, and redirects are not followed. */
export async function callOut(url: URL, { signal, body, headers = {} }: CallOut): Promise<number> {
  const { origin, pathname, search } = url;
  const connections = createConnections();
  try {
    const answer = await connections
      .to(origin, { ...patience, concurrency: 1, caFile: undefined, proxy: proxyFor(origin)?.href })
      .request({
        origin,
        path: pathname + search,
        method: body === undefined ? 'GET' : 'POST',
        headers,
        body: body ?? null,
        signal,
      });
    answer.body.on('error', () => {}).destroy();
    return answer.statusCode;
  } finally {
    await connections.close();
  }
}

/** Why a call failed: a code such as ECONNREFUSED. The error's own message can contain the address. */
export function describeCallError(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  return error instanceof DOMException ? 'no answer in time' : describeConnectFailure(error);
}
