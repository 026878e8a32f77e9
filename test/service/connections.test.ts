import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createConnections } from '../../src/service/connections.ts';
import { eventually } from '../support/eventually.ts';
import { openClient } from './client-fixture.ts';
import { json, listenRaw, type Respond } from './raw-server.ts';

const team = { id: 7, name: 'North', list_size: 1, members: [] };
const respond: Respond = (socket) => socket.write(json(200, team));

async function open(answer: Respond = respond, clients = 2) {
  const server = await listenRaw(answer);
  onTestFinished(() => server.close());
  const connections = createConnections(clients);
  onTestFinished(() => connections.close());
  const client = (options: Parameters<typeof openClient>[1] = {}) =>
    openClient(server.baseUrl, { connections, retry: { attempts: 1 }, ...options }).client;
  return { server, connections, client };
}

test('clients that run one after another use the same connection, whether read-only or not', async () => {
  const { server, connections, client } = await open(respond, 1);
  for (const mode of ['read-only', 'read-write', 'read-only'] as const) {
    const one = client({ mode, http: { concurrency: 1 } });
    await one.team();
    await one.close();
    await expect(one.team()).rejects.toMatchObject({ phase: 'not-sent' });
  }
  expect(server.requests).toHaveLength(3);
  expect(server.connections()).toBe(1);
  await connections.close();
  await eventually('the connection is closed', () => server.closed() === 1);
});

test('two clients with a concurrency of 3 open six connections for 12 requests', async () => {
  let waiting: (() => void)[] = [];
  const { server, client } = await open((socket) => {
    waiting.push(() => socket.write(json(200, team)));
    if (waiting.length !== 6) return;
    setImmediate(() => {
      const all = waiting;
      waiting = [];
      for (const answerNow of all) answerNow();
    });
  });
  const clients = [client({ http: { concurrency: 3 } }), client({ http: { concurrency: 3 } })];
  await Promise.all(clients.flatMap((one) => Array.from({ length: 6 }, () => one.team())));
  expect(server.requests).toHaveLength(12);
  expect(server.connections()).toBe(6);
});

/** A service that answers each request when it is told to. */
async function openHeld() {
  const answers: (() => void)[] = [];
  const { server, client } = await open((socket) => answers.push(() => socket.write(json(200, team))));
  const arrive = (count: number) => eventually('it is asked', () => answers.length === count);
  return { server, client, answers, arrive };
}

test('close() waits for requests of its own client, and does not wait for another client', async () => {
  const { client, answers, arrive } = await openHeld();
  const [one, other] = [client(), client()];
  const own = one.team();
  await arrive(1);
  const others = [other.team()];
  await arrive(2);
  others.push(other.team());
  await arrive(3);
  let isClosed = false;
  const closing = one.close().then(() => {
    isClosed = true;
  });
  answers[1]?.();
  expect((await others[0])?.id).toBe(7n);
  expect(isClosed).toBe(false);
  answers[0]?.();
  expect((await own).id).toBe(7n);
  await closing;
  answers[2]?.();
  expect((await others[1])?.id).toBe(7n);
});

test('a stop signal fails requests of its own client, and another client gets its answer', async () => {
  const { server, client, answers, arrive } = await openHeld();
  const stop = new AbortController();
  const [one, other] = [client({ signal: stop.signal, graceMs: 20 }), client()];
  const patches = new Map([[1n, { email: 'a@example.com' }]]);
  const given = expect(one.updateUsers(patches)).rejects.toMatchObject({ code: 'service', phase: 'sent' });
  await arrive(1);
  const asked = other.team();
  await arrive(2);
  stop.abort();
  await given;
  await one.close();
  answers[1]?.();
  expect((await asked).id).toBe(7n);
  await eventually('the connection is closed', () => server.closed() === 1);
});

test('connections.to() returns the same pool for the same origin, settings and CA file, else another pool', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'musterd-authorities-'));
  onTestFinished(async () => rmSync(folder, { recursive: true }));
  const caFile = join(folder, 'ca.pem');
  const settings = { connectTimeoutMs: 1, headersTimeoutMs: 2, totalDeadlineMs: 3, concurrency: 4, caFile };
  const connections = createConnections();
  onTestFinished(() => connections.close());
  const origin = 'https://localhost:1';
  expect(() => connections.to(origin, settings)).toThrow(
    `${caFile} (service.caFile, MUSTERD_CA_FILE) cannot be read`,
  );
  writeFileSync(caFile, 'one');
  expect(() => connections.to(origin, settings)).toThrow('no certificate in PEM form');
  writeFileSync(caFile, '-----BEGIN CERTIFICATE-----');
  const first = connections.to(origin, settings);
  expect(connections.to(origin, { ...settings })).toBe(first);
  writeFileSync(caFile, '-----BEGIN ANOTHER-----');
  const all = [
    first,
    connections.to(origin, settings),
    connections.to('https://localhost:2', settings),
    connections.to(origin, { ...settings, connectTimeoutMs: 9 }),
    connections.to(origin, { ...settings, headersTimeoutMs: 9 }),
    connections.to(origin, { ...settings, totalDeadlineMs: 9 }),
    connections.to(origin, { ...settings, concurrency: 9 }),
    connections.to(origin, { ...settings, caFile: undefined }),
  ];
  expect(new Set(all).size).toBe(all.length);
});
