import { afterEach } from 'vitest';
import { createSecret } from '../../src/secret.ts';
import {
  type ServiceClient,
  type ServiceClientOptions,
  createServiceClient,
} from '../../src/service/client.ts';
import type { ServiceEvent } from '../../src/service/event.ts';
import { createHeldClock, type HeldClock } from './held-clock.ts';
import { listenRaw, type RawServer, type Respond } from './raw-server.ts';

export const secretId = 'secret-id-canary';
export const secretKey = 'secret-key-canary';

export interface Fixture {
  readonly client: ServiceClient;
  readonly server: RawServer;
  readonly clock: HeldClock;
  readonly events: readonly ServiceEvent[];
}

const closers: (() => Promise<void>)[] = [];

/** Closes what the test opened, the last first. */
export function closeAfterEach(): void {
  afterEach(async () => {
    for (const close of closers.splice(0).toReversed()) await close();
  });
}

export function onClose(close: () => Promise<void>): void {
  closers.push(close);
}

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
  onClose(() => client.close());
  return { client, clock, events };
}

/** A client and the server that it talks to. */
export async function openPair(
  respond: Respond,
  options: Partial<ServiceClientOptions> = {},
): Promise<Fixture> {
  const server = await listenRaw(respond);
  onClose(() => server.close());
  return { server, ...openClient(server.baseUrl, options) };
}
