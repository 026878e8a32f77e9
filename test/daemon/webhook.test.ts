import type { IncomingMessage, RequestListener } from 'node:http';
import { createServer as createHttps } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test, vi } from 'vitest';
import { describeCallError } from '../../src/daemon/call-out.ts';
import { readSigningKey } from '../../src/daemon/signing-key.ts';
import { type WebhookPost, post } from '../../src/daemon/webhook.ts';
import { createServerCertificate } from '../../src/emulator/wire/certificate.ts';
import { listenHere } from '../system/listen-here.ts';

const listen = async (answer: RequestListener) => new URL(`${await listenHere(answer)}/secret-path`);

const send = (url: URL, more: Partial<WebhookPost> = {}) =>
  post(url, {
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    body: '{"test": 2432232314}',
    secret: undefined,
    signal: new AbortController().signal,
    nowMs: 1_614_265_330_999,
    ...more,
  });

test('the webhook posts the given body, signed as Standard Webhooks specifies if a secret is set', async () => {
  const received: { method: string | undefined; headers: IncomingMessage['headers']; body: string }[] = [];
  const url = await listen((request, response) => {
    const { method, headers } = request;
    void text(request).then((body) => {
      received.push({ method, headers, body });
      response.writeHead(204).end();
    });
  });
  expect(await send(url, { secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' })).toBe(204);
  expect(await send(url, { body: '"é"', secret: 'a secret in plain words' })).toBe(204);
  expect(await send(url)).toBe(204);
  expect(received.map(({ method, body }) => [method, body])).toEqual([
    ['POST', '{"test": 2432232314}'],
    ['POST', '"é"'],
    ['POST', '{"test": 2432232314}'],
  ]);
  expect(received[0]?.headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    // The example of the specification.
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  });
  expect(received[1]?.headers['webhook-signature']).toMatch(/^v1,[\w+/]{43}=$/);
  expect(received[2]?.headers['webhook-signature']).toBe(undefined);
});

test('readSigningKey reads the key as plain text, or as base64 of at least 16 bytes after whsec_', () => {
  expect(readSigningKey('plain words of a key').toString()).toBe('plain words of a key');
  expect(readSigningKey('whsec_MDEyMzQ1Njc4OWFiY2RlZg==').toString()).toBe('0123456789abcdef');
  expect(readSigningKey('whsec_MDEyMzQ1Njc4OWFiY2RlZg').toString()).toBe('0123456789abcdef');
  for (const wrong of ['whsec_', 'whsec_MDEyMzQ1Njc4OWFiY2Rl', 'whsec_not base64 but canary words'])
    expect(() => readSigningKey(wrong)).toThrow(/^After whsec_, base64 of at least 16 bytes is expected$/);
});

test('the webhook does not follow a redirect, and returns before the body of the answer ends', async () => {
  const paths: (string | undefined)[] = [];
  const url = await listen((request, response) => {
    paths.push(request.url);
    response.writeHead(paths.length === 1 ? 307 : 200, { location: '/elsewhere' });
    // Headers, a first piece, and then nothing any more.
    response.write('x'.repeat(100_000));
  });
  expect(await send(url)).toBe(307);
  expect(await send(url)).toBe(200);
  expect(paths).toEqual(['/secret-path', '/secret-path']);
});

test('the webhook ends a call at its deadline, and leaves the address out of every error', async () => {
  const url = await listen(() => undefined);
  const late = await send(url, { signal: AbortSignal.timeout(50) }).catch(describeCallError);
  expect(late).toBe('no answer in time');
  url.port = '1';
  const refused: unknown = await send(url).catch(describeCallError);
  expect(refused).toMatch(/^E[A-Z]+$/);
  const reset = await listen((request) => request.socket.destroy());
  expect(await send(reset).catch(describeCallError)).toBe('UND_ERR_SOCKET');
  expect(describeCallError(new Error('https://x/secret-path'))).toBe('Error');
  expect(describeCallError('https://x/secret-path')).toBe('unknown');
});

test('the webhook rejects an unverifiable certificate even if NODE_TLS_REJECT_UNAUTHORIZED=0', async () => {
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
  let calls = 0;
  const server = createHttps(await createServerCertificate(['127.0.0.1']), () => {
    calls += 1;
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    server.close();
  });
  const url = new URL(`https://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  expect(await send(url).catch(describeCallError)).toBe('UNABLE_TO_VERIFY_LEAF_SIGNATURE');
  expect(calls).toBe(0);
});
