import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { type Dispatcher, request } from 'undici';
import { describe, expect } from 'vitest';
import { secretOf, token } from './call.ts';
import { it, withEmulator } from './with-emulator.ts';

/** Ways in which clients that nobody here wrote send a body. */
const manners = [
  // `curl -X METHOD -d '…'`, and Python's urllib: people forget to say otherwise.
  ['with the content type of a form', 'application/x-www-form-urlencoded', (body: string) => body],
  ['in chunks', 'application/json; charset=utf-8', (body: string) => Readable.from([body])],
] as const;

describe('the endpoints of the emulator', () => {
  it.each(manners)('users/get and POST /v1/tag accept a body that is sent %s', (_, type, bodyOf) =>
    withEmulator({}, async (emulator) => {
      // The name of the scheme in lower case means the same.
      const authorization = `bearer ${token(secretOf(emulator.environment))}`;
      const send = async (method: Dispatcher.HttpMethod, path: string, body: unknown) => {
        const headers = { authorization, 'content-type': type };
        const sent = { method, headers, body: bodyOf(JSON.stringify(body)) };
        return (await request(emulator.url + path, sent)).body.json();
      };
      const [user] = emulator.team.users();
      const found = await send('GET', '/v1/users/get', { email: [user?.email] });
      expect(found).toMatchObject({ memberships: [{ id: user?.id }] });
      await send('POST', '/v1/tag', { tag: 'Größe 👟' });
      expect(emulator.team.tags().at(-1)?.tag).toBe('Größe 👟');
    }),
  );

  it('answers bytes that are not HTTP with a 400, and serves the next request', async ({ emulator, ask }) => {
    const socket = connect(Number(new URL(emulator.url).port), '127.0.0.1');
    socket.write('NONSENSE\r\n\r\n');
    expect(await text(socket)).toMatch(/^HTTP\/1.1 400 .*\r\nx-request-id: \S.*\r\n\r\n"error"$/is);
    expect((await ask('GET /v1/team')).status).toBe(200);
  });
});
