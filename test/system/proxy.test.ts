import { createServer, type IncomingHttpHeaders } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { describeCallError } from '../../src/daemon/call-out.ts';
import { post } from '../../src/daemon/webhook.ts';
import { createEmulator } from '../../src/emulator/create-emulator.ts';
import { checkBaseUrl } from '../../src/service/base-url.ts';
import { proxyFor } from '../../src/service/proxy.ts';
import { createAuthority } from '../service/certificate.ts';
import { openClient } from '../service/client-fixture.ts';
import { listenRaw } from '../service/raw-server.ts';
import { retryAtOnce } from '../support/retry-at-once.ts';
import { createTlsGate } from '../support/tls-gate.ts';
import { ownFolder } from './own-folder.ts';
import { runMusterd } from './run-musterd.ts';

const origin = 'https://service.example';
const authority = createAuthority();
const folder = ownFolder();
const caFile = join(folder, 'authority.pem');
const password = 'canary-of-a-proxy';

/** A proxy that leads each CONNECT to one port, or answers it with a status, or never (0). */
async function createProxy(target: number, status = 200) {
  const asked: { readonly to: string | undefined; readonly headers: IncomingHttpHeaders }[] = [];
  const sockets = new Set<Socket>();
  const keep = (socket: Socket) => sockets.add(socket.on('error', () => undefined));
  const server = createServer().on('connect', (request, client: Socket) => {
    asked.push({ to: request.url, headers: request.headers });
    keep(client).add(client);
    if (status === 0) return undefined;
    if (status !== 200) return client.end(`HTTP/1.1 ${status} No\r\n\r\n`);
    const upstream = connect(target, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connected\r\n\r\n');
      client.pipe(upstream).pipe(client);
    });
    return keep(upstream);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { asked, host, url: `http://anna:${password}@${host}` };
}

/** The plain server at a port, with TLS. */
async function encrypted(port: number): Promise<number> {
  const gate = await createTlsGate({ host: '127.0.0.1', port }, authority.issue({ host: 'service.example' }));
  onTestFinished(() => gate.close());
  return gate.port;
}

beforeAll(() => {
  writeFileSync(caFile, authority.certPem);
});
afterEach(() => {
  vi.unstubAllEnvs();
});

describe('proxyFor', () => {
  it.each([
    ['', true],
    ['example', false],
    ['.example', false],
    ['SERVICE.example', false],
    ['service.example:443, other', false],
    ['service.example:8443', true],
    ['vice.example', true],
    ['other,*', false],
    ['::1 [::1]:443', true],
  ])('uses the proxy unless NO_PROXY=%j covers service.example:443 (%s)', (NO_PROXY, isProxied) => {
    const found = proxyFor(origin, { HTTPS_PROXY: 'proxy.example:3128', NO_PROXY });
    expect(found?.host).toBe(isProxied ? 'proxy.example:3128' : undefined);
  });

  it('returns no proxy for http or a host in NO_PROXY, and rejects a SOCKS URL without printing it', () => {
    expect(proxyFor('http://localhost:1', { HTTPS_PROXY: 'http://proxy.example' })).toBe(undefined);
    expect(proxyFor('https://[::1]:8443', { HTTPS_PROXY: 'http://proxy.example', NO_PROXY: '::1' })).toBe(
      undefined,
    );
    expect(() => proxyFor(origin, { HTTPS_PROXY: 'socks5://canary' })).toThrow(
      /^HTTPS_PROXY is not the URL of an/,
    );
  });
});

describe('a client behind a proxy', () => {
  const respond = (socket: Socket) => socket.destroy();
  const open = async (status?: number) => {
    const server = await listenRaw(respond);
    onTestFinished(() => server.close());
    const proxy = await createProxy(await encrypted(Number(new URL(server.baseUrl).port)), status);
    const http = { caFile, proxy: proxy.url, connectTimeoutMs: 1_000 };
    const { client } = openClient(origin, { http, retry: { attempts: 1 } });
    return { server, proxy, push: client.updateUsers(new Map([[1n, { roleId: 4n }]])) };
  };

  it.each([
    [407, 'CONNECT was answered 407'],
    [0, 'UND_ERR_HEADERS_TIMEOUT'],
  ])('reports a push as not sent if the proxy answers CONNECT with %s (0: never)', async (status, why) => {
    const { server, proxy, push } = await open(status);
    await expect(push).rejects.toMatchObject({
      phase: 'not-sent',
      message: expect.stringContaining(`by way of the proxy ${proxy.host} (${why})`) as string,
    });
    expect(server.requests).toEqual([]);
  });

  it('reports a push as sent if the connection breaks after the push went through the tunnel', async () => {
    const { server, proxy, push } = await open();
    await expect(push).rejects.toMatchObject({ phase: 'sent' });
    expect(server.requests).toHaveLength(1);
    const basic = Buffer.from(`anna:${password}`).toString('base64');
    expect(proxy.asked).toMatchObject([
      { to: 'service.example:443', headers: { 'proxy-authorization': `Basic ${basic}` } },
    ]);
  });
});

it('musterd posts notices to a webhook through HTTPS_PROXY', async () => {
  const proxy = await createProxy(0, 502);
  vi.stubEnv('HTTPS_PROXY', proxy.url);
  const notice = { id: '1', body: '{}', secret: undefined, signal: new AbortController().signal, nowMs: 0 };
  const posted = await post(new URL('https://alarms.example/x'), notice).catch(describeCallError);
  expect(posted).toBe('CONNECT was answered 502');
  expect(proxy.asked.map(({ to }) => to)).toEqual(['alarms.example:443']);
});

describe('musterd check', () => {
  it.each([
    [
      200,
      /ok\tconfiguration\thttps:\/\/service\.example, by way of the proxy 127\.0\.0\.1:\d+ \(HTTPS_PROXY\)\n/,
    ],
    [403, /FAIL\t.*by way of the proxy 127\.0\.0\.1:\d+ \(CONNECT was answered 403\)/],
  ])('names the proxy, never its credentials, if CONNECT gets answer %s (S9)', async (status, shown) => {
    const emulator = await createEmulator({ http: true, users: 3, ratePerMinute: 0 });
    onTestFinished(() => emulator.close());
    const { MUSTERD_BASE_URL, ...environment } = emulator.environment;
    const proxy = await createProxy(await encrypted(Number(new URL(String(MUSTERD_BASE_URL)).port)), status);
    vi.stubEnv('HTTPS_PROXY', proxy.url);
    retryAtOnce();
    const { stdout, stderr } = await runMusterd(['check'], {
      ...environment,
      MUSTERD_BASE_URL: origin,
      MUSTERD_CA_FILE: caFile,
      DATABASE_URL: 'postgres://127.0.0.1:1/none',
    });
    expect(stdout).toMatch(shown);
    expect(stdout + stderr).not.toMatch(/anna|canary/);
    expect(proxy.asked.length).toBeGreaterThan(0);
  });
});

it('checkBaseUrl rejects a base URL that ends in /v1, and its hint gives the correct URL', () => {
  expect(() => checkBaseUrl('https://service.example/base/v1/')).toThrow(
    expect.objectContaining({ hint: 'Write https://service.example/base.' }) as Error,
  );
});
