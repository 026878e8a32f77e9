/** Calls to the configured addresses `ping.url` and `notify.url`. No message repeats an address: it can be a secret. */
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';

export interface CallOut {
  readonly signal: AbortSignal;
  /** Sent with POST; without a body the request is a GET. */
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** @returns the status of the answer. The body is not read, and redirects are not followed. */
export function callOut(url: URL, { signal, body, headers = {} }: CallOut): Promise<number> {
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(
      url,
      {
        signal,
        agent: false,
        // Explicit, because NODE_TLS_REJECT_UNAUTHORIZED would decide otherwise.
        rejectUnauthorized: true,
        method: body === undefined ? 'GET' : 'POST',
        headers: { ...headers, ...length },
      },
      (response) => {
        resolve(response.statusCode ?? 0);
        response.destroy();
      },
    );
    request.on('error', reject);
    request.end(body);
  });
}

/** Why a call failed: a code such as ECONNREFUSED. The error's own message can contain the address. */
export function describeCallError(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const { code } = error as NodeJS.ErrnoException;
  return error.name === 'AbortError' ? 'no answer in time' : (code ?? error.name);
}
