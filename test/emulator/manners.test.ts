import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { type Dispatcher, request } from 'undici';
import { describe, expect } from 'vitest';
import type { Emulator } from '../../src/emulator/create-emulator.ts';
import { endpoints } from '../../src/emulator/rules/endpoints.ts';
import { secretOf, token } from './call.ts';
import { it, withEmulator } from './with-emulator.ts';

/** One call of an endpoint; the body is JSON text. */
interface Calling {
  readonly method: Dispatcher.HttpMethod;
  readonly path: string;
  readonly body: string | undefined;
}

/** A way in which clients that nobody here wrote send a body. */
type Manner = (body: string) => { readonly type: string; readonly body: string | Readable };

const manners: Readonly<Record<string, Manner>> = {
  // `curl -X METHOD -d '…'`, and Python's urllib: people forget to say otherwise.
  'with the content type of a form': (body) => ({ type: 'application/x-www-form-urlencoded', body }),
  'in chunks': (body) => ({ type: 'application/json; charset=utf-8', body: Readable.from([body]) }),
};

/** Sends the name of the scheme in lower case, which means the same, and a claim that nobody reads. */
async function send(emulator: Emulator, { method, path, body }: Calling, manner: Manner) {
  const given = body === undefined ? undefined : manner(body);
  const bearer = token(secretOf(emulator.environment), { exp: Math.floor(Date.now() / 1000) + 300 });
  const { statusCode, headers, ...answer } = await request(emulator.url + path, {
    method,
    headers: {
      authorization: `bearer ${bearer}`,
      ...(given === undefined ? {} : { 'content-type': given.type }),
    },
    body: given?.body ?? null,
  });
  return { status: statusCode, requestId: headers['x-request-id'], text: await answer.body.text() };
}

const quarterHourMs = 15 * 60_000;

/** A sound call of every endpoint, in an order in which each can succeed; ids come from the emulator. */
function callings(emulator: Emulator): readonly (Calling & { readonly endpoint: string })[] {
  const { team } = emulator;
  const [user] = team.users();
  const [inbox] = team.inboxes();
  const schedule = JSON.stringify({
    inbox_id: inbox?.id,
    execute_at: new Date((Math.floor(Date.now() / quarterHourMs) + 4) * quarterHourMs).toISOString(),
    content: { text: 'Bis später 👋' },
    targets: ['14155550100'],
    local_id: 'one',
  });
  const json = JSON.stringify;
  const calling = (
    endpoint: string,
    body?: string,
    id: string | number = '',
  ): Calling & { endpoint: string } => {
    const [method, path = ''] = endpoint.split(' ');
    return {
      endpoint,
      method: method as Dispatcher.HttpMethod,
      path: path.replace('{id}', String(id)),
      body,
    };
  };
  return [
    calling('GET /v1/inboxes'),
    calling('GET /v1/team'),
    calling('GET /v1/users/get', json({ email: [user?.email, null], phone: [] })),
    calling(
      'POST /v1/users/update',
      json({ users: [{ id: user?.id, first_name: 'Zoë', last_name: '田中' }] }),
    ),
    calling('POST /v1/contact-fields', json({ limit: 5 })),
    calling('POST /v1/tags', json({ limit: 5, page: 1 })),
    calling('POST /v1/contacts/count', json({})),
    calling('POST /v1/surveys', json({ limit: 1, page: 0 })),
    calling('GET /v1/survey/{id}', undefined, team.surveys()[0]?.id),
    calling('POST /v1/tag', json({ tag: 'Größe 👟' })),
    calling('GET /v1/tag/{id}', undefined, team.tags()[0]?.id),
    calling('POST /v1/conversations/read', json({ inbox_id: inbox?.id, user_id: user?.id, targets: ['1'] })),
    calling('POST /v1/schedule', schedule),
    calling('GET /v1/schedule/{id}', undefined, 'last'),
    calling('PUT /v1/schedule/{id}', schedule, 'last'),
    calling('DELETE /v1/schedule/{id}', undefined, 'last'),
  ];
}

async function callAll(emulator: Emulator, manner: Manner): Promise<void> {
  for (const { endpoint, ...calling } of callings(emulator)) {
    const path = calling.path.replace('last', String(emulator.team.schedules().at(-1)?.id));
    const received = await send(emulator, { ...calling, path }, manner);
    expect([endpoint, received.status, received.text]).toEqual([endpoint, 200, received.text]);
    expect(received.requestId).toBe(emulator.requests.at(-1)?.requestId);
    const described = endpoints.find((one) => `${one.method} ${one.path}` === endpoint);
    expect(described?.response.safeParse(JSON.parse(received.text)).error).toBeUndefined();
  }
}

describe('the endpoints of the emulator', () => {
  it.each(Object.entries(manners))('each endpoint accepts a body that is sent %s', (_, manner) =>
    withEmulator({}, async (emulator) => {
      await callAll(emulator, manner);
      expect(new Set(emulator.requests.map(({ requestId }) => requestId)).size).toBe(16);
      expect(emulator.team.users()[0]).toMatchObject({ first: 'Zoë', last: '田中' });
      expect(emulator.team.tags().at(-1)?.tag).toBe('Größe 👟');
      expect(emulator.team.schedules()).toMatchObject([{ state: 'cancelled' }]);
      expect(emulator.team.conversationsRead()).toHaveLength(1);
    }),
  );

  it('these tests call all sixteen endpoints', ({ emulator }) => {
    const called = callings(emulator).map(({ endpoint }) => endpoint);
    expect(called.toSorted()).toEqual(endpoints.map(({ method, path }) => `${method} ${path}`).toSorted());
    expect(called).toHaveLength(16);
  });

  it('answers bytes that are not HTTP with a 400, and serves the next request', async ({ emulator, ask }) => {
    const socket = connect(Number(new URL(emulator.url).port), '127.0.0.1');
    socket.write('NONSENSE\r\n\r\n');
    expect(await text(socket)).toMatch(/^HTTP\/1.1 400 .*\r\nx-request-id: \S.*\r\n\r\n"error"$/is);
    expect((await ask('GET /v1/team')).status).toBe(200);
  });
});
