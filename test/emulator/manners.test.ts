import { describe, expect, it } from 'vitest';
import * as answers from '../../src/emulator/wire/answer-schemas.ts';
import type { Emulator } from '../../src/emulator/create-emulator.ts';
import { endpoints } from '../../src/emulator/rules/endpoints.ts';
import {
  type Calling,
  chunkedBytes,
  curlBytes,
  type Manner,
  nodeFetch,
  raw,
  urllibBytes,
} from './manners.ts';
import { withEmulator } from './with-emulator.ts';

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
    const [method = '', path = ''] = endpoint.split(' ');
    return { endpoint, method, path: path.replace('{id}', String(id)), body };
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

const manners: Record<string, Manner> = {
  'curl, by its bytes': curlBytes,
  "Python's urllib, by its bytes": urllibBytes,
  'a chunked body': chunkedBytes,
  'Node fetch': nodeFetch,
};

async function callAll(emulator: Emulator, manner: Manner, cannot: readonly string[] = []): Promise<void> {
  for (const { endpoint, ...calling } of callings(emulator)) {
    const path = calling.path.replace('last', String(emulator.team.schedules().at(-1)?.id));
    if (cannot.includes(endpoint)) {
      await expect(manner(emulator, { ...calling, path })).rejects.toThrow(TypeError);
      continue;
    }
    const received = await manner(emulator, { ...calling, path });
    expect([endpoint, received.status, received.text]).toEqual([endpoint, 200, received.text]);
    expect(received.requestId).toBe(emulator.requests.at(-1)?.requestId);
    const described = endpoints.find((one) => `${one.method} ${one.path}` === endpoint);
    expect(described?.response.safeParse(JSON.parse(received.text)).error).toBeUndefined();
  }
}

describe('every endpoint takes the calls of', () => {
  it.each(Object.entries(manners))('%s', (name, manner) =>
    withEmulator({}, async (emulator) => {
      await callAll(emulator, manner, name === 'Node fetch' ? ['GET /v1/users/get'] : []);
      expect(emulator.team.users()[0]).toMatchObject({ first: 'Zoë', last: '田中' });
      expect(emulator.team.tags().at(-1)?.tag).toBe('Größe 👟');
      expect(emulator.team.schedules()).toMatchObject([{ state: 'cancelled' }]);
      expect(emulator.team.conversationsRead()).toHaveLength(1);
    }),
  );

  it('covers all sixteen endpoints', () =>
    withEmulator({}, (emulator) => {
      const called = callings(emulator).map(({ endpoint }) => endpoint);
      expect(called.toSorted()).toEqual(endpoints.map(({ method, path }) => `${method} ${path}`).toSorted());
      expect(called).toHaveLength(16);
      expect(Object.keys(answers).length).toBeGreaterThan(10);
      return Promise.resolve();
    }));

  it('answers bytes that are not HTTP with a 400, and serves the next request', () =>
    withEmulator({}, async (emulator) => {
      expect(await raw(emulator, ['NONSENSE'])).toMatchObject({
        status: 400,
        text: '"error"',
        requestId: expect.stringMatching(/./) as string,
      });
      expect((await curlBytes(emulator, { method: 'GET', path: '/v1/team', body: undefined })).status).toBe(
        200,
      );
    }));
});
