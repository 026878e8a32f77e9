import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { Emulator } from '../../src/emulator/create-emulator.ts';
import { eventually } from '../support/eventually.ts';
import { call } from './call.ts';
import { withEmulator } from './with-emulator.ts';

/** A server that keeps what it gets, and answers with the statuses in turn; 0 is no answer. */
async function withReceiver(
  statuses: readonly number[],
  use: (url: string, received: readonly Record<string, unknown>[]) => Promise<void>,
): Promise<void> {
  const received: Record<string, unknown>[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const status = statuses[received.length] ?? 200;
      received.push(JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>);
      if (status === 0) request.socket.destroy();
      else response.writeHead(status, { location: '/elsewhere' }).end('thanks');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, received);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const read = (emulator: Emulator, target: string) =>
  call(emulator, 'POST /v1/conversations/read', {
    inbox_id: emulator.team.inboxes()[0]?.id,
    user_id: emulator.team.users()[0]?.id,
    target,
  });

const schedule = (emulator: Emulator) =>
  call(emulator, 'POST /v1/schedule', {
    inbox_id: emulator.team.inboxes()[0]?.id,
    execute_at: new Date(Math.ceil(emulator.clock.now() / 900_000 + 2) * 900_000).toISOString(),
    content: { text: 'Hi' },
    targets: ['1', '2'],
    local_id: 'a',
  });

describe('webhooks', () => {
  it('tell of each message that reached somebody, and of each conversation that was read', () =>
    withReceiver([], (hookUrl, received) =>
      withEmulator({ hookUrl }, async (emulator) => {
        await read(emulator, '7');
        await schedule(emulator);
        emulator.clock.advance(3_600_000);
        await eventually('three events came', () => received.length === 3);
        const [conversation, ...messages] = received;
        expect(conversation).toMatchObject({
          event: 'conversation.read',
          team_id: 41,
          data: { target: '7' },
        });
        expect(messages).toMatchObject(
          ['1', '2'].map((recipient) => ({ event: 'message.sent', data: { recipient, localId: 'a' } })),
        );
        await eventually('their answers are known', () => emulator.webhooks.length === 3);
        const told = (await call(emulator, 'GET /_emulator/webhooks')).json;
        expect(told).toEqual(received.map((event) => ({ event, outcome: 200 })));
        expect(new Set(received.map(({ id }) => id)).size).toBe(3);
      }),
    ));

  it('are sent once, in order, whatever is answered, and follow no redirect', () =>
    withReceiver([500, 0, 302], (hookUrl, received) =>
      withEmulator({ hookUrl }, async (emulator) => {
        for (const target of ['1', '2', '3', '4']) await read(emulator, target);
        await eventually('their answers are known', () => emulator.webhooks.length === 4);
        expect(received.map(({ data }) => (data as { target: string }).target)).toEqual(['1', '2', '3', '4']);
        expect(emulator.webhooks.map(({ outcome }) => outcome)).toEqual([
          500,
          expect.stringMatching(/other side closed|ECONNRESET|socket/),
          302,
          200,
        ]);
      }),
    ));

  it('do not tell again what was told before a restore, and tell nothing of the past', () =>
    withReceiver([], (hookUrl, received) =>
      withEmulator({ hookUrl }, async (emulator) => {
        await read(emulator, 'before');
        await eventually('the first one came', () => received.length === 1);
        emulator.restore(emulator.snapshot());
        await read(emulator, 'after');
        await eventually('the next one came', () => received.length > 1);
        expect(received.map(({ data }) => (data as { target: string }).target)).toEqual(['before', 'after']);
      }),
    ));
});
