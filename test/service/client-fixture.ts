import { onTestFinished } from 'vitest';
import { createEmulator } from '../../src/emulator/create-emulator.ts';
import type { EmulatorOptions } from '../../src/emulator/options.ts';
import { createSecret } from '../../src/secret.ts';
import { type ServiceClientOptions, createServiceClient } from '../../src/service/client.ts';
import type { ServiceEvent } from '../../src/service/event.ts';
import { createHeldClock } from './held-clock.ts';
import { json, listenRaw, type Respond } from './raw-server.ts';

export const secretId = 'secret-id-canary';
export const secretKey = 'secret-key-canary';

export function openClient(baseUrl: string, options: Partial<ServiceClientOptions> = {}) {
  const clock = createHeldClock();
  const events: ServiceEvent[] = [];
  const client = createServiceClient({
    baseUrl,
    mode: 'read-write',
    credentials: { secretId, secretKey: createSecret(secretKey) },
    clock,
    onEvent: (event) => events.push(event),
    ...options,
  });
  onTestFinished(() => client.close());
  return { client, clock, events };
}

/** A client and the server that it talks to. */
export async function openPair(respond: Respond, options: Partial<ServiceClientOptions> = {}) {
  const server = await listenRaw(respond);
  onTestFinished(() => server.close());
  return { server, ...openClient(server.baseUrl, options) };
}

/** An emulator that takes the credentials of these clients. */
export async function openEmulator(options: EmulatorOptions = {}) {
  const emulator = await createEmulator({
    http: true,
    users: 30,
    tags: 45,
    fields: 25,
    surveys: 3,
    inboxes: 2,
    contacts: 1_234,
    secrets: [{ id: secretId, key: secretKey }],
    seed: 7,
    ...options,
  });
  onTestFinished(() => emulator.close());
  return emulator;
}

/** A client and a server that gives this answer to every request. */
export const openAnswered = (text: string, options?: Partial<ServiceClientOptions>) =>
  openPair((socket) => socket.write(text), options);

const answers: Readonly<Record<string, unknown>> = {
  'GET /v1/users/get': { memberships: [] },
  'POST /v1/users/update': { memberships: [] },
  'GET /v1/team': { id: 7, name: 'Team', members: [] },
  'POST /v1/contacts/count': '0',
  'GET /v1/survey/5': { id: 5 },
  'GET /v1/tag/5': { id: 5 },
  'POST /v1/tag': { id: 5 },
  'GET /v1/schedule/5': { id: 5 },
  'POST /v1/schedule': { id: 5 },
  'PUT /v1/schedule/5': { id: 5 },
  'DELETE /v1/schedule/5': 'ok',
  'POST /v1/conversations/read': 'read',
};

/** Answers each endpoint with as little as the client takes. */
export const respond: Respond = (socket, { method, path }) =>
  socket.write(json(200, answers[`${method} ${path}`] ?? []));
