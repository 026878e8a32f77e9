import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { hungAfterMs } from '../support/limits.ts';
import { token } from './call.ts';

/** A service to be called: the emulator, or a real deployment. */
export interface Target {
  readonly baseUrl: string;
  readonly secret: { readonly id: string; readonly key: string };
  readonly apiKey?: string | undefined;
  /** A certificate authority to trust besides the usual ones, in PEM. */
  readonly authority?: string | undefined;
}

export interface PlainAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The parsed body; throws when it is not JSON. */
  readonly json: unknown;
}

/** Knows nothing but HTTP; `bearer` null sends no credentials, undefined a fresh token. */
export interface PlainClient {
  readonly target: Target;
  send(operation: string, body?: unknown, bearer?: string | null): Promise<PlainAnswer>;
}

/** Only a service that hangs takes so long. */
const deadlineMs = hungAfterMs / 2;

export function createPlainClient(target: Target): PlainClient {
  return {
    target,
    send: (operation, body, bearer = token(target.secret)) =>
      new Promise((resolve, reject) => {
        const [method = 'GET', path = ''] = operation.split(' ');
        const url = new URL(target.baseUrl + path);
        const text = body === undefined ? undefined : JSON.stringify(body);
        const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
        const sent = send(url, {
          method,
          agent: false,
          timeout: deadlineMs,
          ...(target.authority === undefined ? {} : { ca: target.authority }),
          headers: {
            accept: 'application/json',
            ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }),
            ...(text === undefined
              ? {}
              : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
          },
        });
        sent.on('timeout', () => sent.destroy(new Error(`${operation}: no answer in ${deadlineMs} ms`)));
        sent.on('error', reject);
        sent.on('response', (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', reject);
          response.on('end', () => {
            const received = Buffer.concat(chunks).toString();
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              text: received,
              get json() {
                return JSON.parse(received) as unknown;
              },
            });
          });
        });
        sent.end(text);
      }),
  };
}
