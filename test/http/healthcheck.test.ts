import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { askHealth } from '../../src/http/check-health.ts';
import { createStatusServer, type StatusServer } from '../../src/http/server.ts';
import { listenHere } from '../system/listen-here.ts';

describe('the health check', () => {
  let server: StatusServer;
  let fresh = true;
  beforeAll(async () => {
    server = await createStatusServer({
      host: '127.0.0.1',
      port: 0,
      ready: async () => ({ database: 'ok', migrations: 'ok', credentials: 'failing' }),
      freshness: async () => [{ team: 'default', fresh, groups: [] }],
      metrics: async () => ({ contentType: 'text/plain', text: '' }),
    });
  });
  afterAll(() => server.close());
  const environment = (host: string, port = server.port) => ({
    MUSTERD__status__host: host,
    MUSTERD__status__port: String(port),
  });

  it.each(['127.0.0.1', 'localhost', '0.0.0.0', ''])('reports a server on "%s" as healthy', async (host) => {
    expect(await askHealth(environment(host))).toEqual({ healthy: true, words: '200 {"status":"ok"}' });
  });

  it('requests the given path, and reports unhealthy unless the answer is 200', async () => {
    expect(await askHealth(environment(''), '/freshness')).toMatchObject({ healthy: true });
    fresh = false;
    expect(await askHealth(environment(''), '/freshness')).toEqual({
      healthy: false,
      words: '503 {"fresh":false,"teams":[{"team":"default","fresh":false,"groups":[]}]}',
    });
    expect(await askHealth(environment(''), '/readyz')).toMatchObject({ healthy: false });
    expect(await askHealth(environment(''), '/nothing-there')).toMatchObject({ healthy: false });
  });

  it('reports unhealthy and names the missing setting if no port is set', async () => {
    expect(await askHealth({})).toMatchObject({
      healthy: false,
      words: expect.stringContaining('status__port') as string,
    });
  });

  it('reports unhealthy if the server does not listen, or does not answer within the timeout', async () => {
    const port = Number(new URL(await listenHere(() => undefined)).port);
    expect(await askHealth(environment('', port), '/healthz', 50)).toEqual({
      healthy: false,
      words: '/healthz: no answer within 50 ms',
    });
    expect(await askHealth(environment('', 1), '/healthz', 1_000)).toMatchObject({ healthy: false });
  });
});
