/**
 * Posts a notice, signed as in Standard Webhooks. `webhook-id` is the same in all attempts; `webhook-signature` covers
 * the id, the `webhook-timestamp` and the body. So the receiver can refuse forged, old and repeated notices.
 */
import { createHmac } from 'node:crypto';
import { callOut } from './call-out.ts';
import { readSigningKey } from './signing-key.ts';

export interface WebhookPost {
  readonly id: string;
  readonly body: string;
  readonly secret: string | undefined;
  readonly signal: AbortSignal;
  readonly nowMs: number;
}

/** Time limit of the whole call in ms. */
const callTimeoutMs = 10_000;

/** @returns the status of the answer */
export async function post(url: URL, { id, body, secret, signal, nowMs }: WebhookPost): Promise<number> {
  const timestamp = String(Math.floor(nowMs / 1_000));
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'user-agent': 'musterd',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    ...(secret === undefined ? {} : { 'webhook-signature': sign(secret, `${id}.${timestamp}.${body}`) }),
  };
  return await callOut(url, {
    body,
    headers,
    signal: AbortSignal.any([signal, AbortSignal.timeout(callTimeoutMs)]),
  });
}

const sign = (secret: string, text: string) =>
  `v1,${createHmac('sha256', readSigningKey(secret)).update(text).digest('base64')}`;
