import { describe, expect } from 'vitest';
import { scheduledMessage } from '../../src/emulator/wire/answer-schemas.ts';
import type { Emulator } from '../../src/emulator/create-emulator.ts';
import { badRequest, call, type Called, notFound, secretOf, token } from './call.ts';
import { it, withEmulator } from './with-emulator.ts';

const quarterHourMs = 15 * 60_000;

/** The quarter hour in which these tests began: the next one may begin before they end. */
const begunMs = Math.floor(Date.now() / quarterHourMs) * quarterHourMs;
const quarter = (quarters: number, offMs = 0): string =>
  new Date(begunMs + quarters * quarterHourMs + offMs).toISOString();

function requestOf(emulator: Emulator, changed: object = {}): object {
  return {
    inbox_id: emulator.team.inboxes()[0]?.id,
    execute_at: quarter(4),
    content: { text: 'Hello', attachments: [], gallery: [{ url: 'https://a.invalid/b.png' }] },
    conversation_id: 7,
    ...changed,
  };
}

const create = (emulator: Emulator, changed: object = {}): Promise<Called> =>
  call(emulator, 'POST /v1/schedule', requestOf(emulator, changed));

/** Calls with a token of the emulator's time, which may be ahead. */
function later(emulator: Emulator, operation: string, body?: object): Promise<Called> {
  const iat = Math.floor(emulator.clock.now() / 1000);
  return call(emulator, operation, body, token(secretOf(emulator.environment), { iat }));
}

describe('the emulator with scheduled messages', () => {
  it('creates, shows, replaces and cancels a message, which then gets 404', async ({ emulator, ask }) => {
    const created = (await create(emulator, { local_id: 'a' })).json as {
      id: number;
      rev: number;
      uuid: string;
    };
    expect(created).toEqual({
      id: expect.any(Number) as number,
      rev: 1,
      uuid: expect.any(String) as string,
    });
    const path = `/v1/schedule/${created.id}`;
    const read = (await ask(`GET ${path}`)).json;
    expect(scheduledMessage.strict().safeParse(read).error).toBeUndefined();
    expect(read).toMatchObject({
      id: created.id,
      execute: quarter(4),
      local_id: 'a',
      meta: { conversation_id: 7, content: { text: 'Hello' } },
      op: 'create',
      rev: 1,
    });
    const replaced = await ask(`PUT ${path}`, requestOf(emulator, { execute_at: quarter(8) }));
    expect(replaced.json).toEqual({ ...created, rev: 2 });
    expect((await ask(`GET ${path}`)).json).toMatchObject({
      execute: quarter(8),
      op: 'update',
      rev: 2,
    });
    expect((await ask(`DELETE ${path}`)).text).toBe('"ok"');
    for (const method of ['GET', 'DELETE']) {
      expect(await ask(`${method} ${path}`)).toMatchObject(notFound);
    }
    expect((await ask(`PUT ${path}`, requestOf(emulator))).status).toBe(404);
  });

  it('answers 400 to a message if a required field is missing or wrong', async ({ emulator, ask }) => {
    const bad = [
      { inbox_id: undefined },
      { inbox_id: 1 },
      { execute_at: undefined },
      { execute_at: 'tomorrow' },
      { execute_at: quarter(4).slice(0, 10) },
      { execute_at: quarter(4).replace('Z', '') },
      { execute_at: quarter(4, 60_000) },
      { execute_at: quarter(4, 1) },
      { execute_at: quarter(0) },
      { content: undefined },
      { content: 'Hello' },
      { conversation_id: undefined },
      { list_id: 3 },
      { targets: ['1'] },
      { conversation_id: undefined, targets: [] },
      { is_email: 'no' },
    ];
    for (const changed of bad) {
      expect([changed, await create(emulator, changed)]).toMatchObject([changed, badRequest]);
    }
    expect(emulator.team.schedules()).toEqual([]);
    for (const id of ['abc', '1.5', '']) {
      expect((await ask(`GET /v1/schedule/${id}`)).status).toBeGreaterThanOrEqual(400);
    }
  });

  it('answers 400 to a message for a day or a time that does not exist', async ({ emulator }) => {
    for (const [moment, status] of [
      ['2099-02-29T00:00:00', 400],
      ['2099-04-31T00:00:00', 400],
      ['2099-12-32T00:00:00', 400],
      ['2099-13-01T00:00:00', 400],
      ['2099-01-00T00:00:00', 400],
      ['2099-01-01T24:00:00', 400],
      ['2099-02-28T23:45:00', 200],
      ['2096-02-29T00:00:00', 200],
    ] as const)
      for (const zone of ['Z', '+00:00', '-05:30', '+14:00']) {
        const due = `${moment}${zone}`;
        expect([due, await create(emulator, { execute_at: due })]).toMatchObject([due, { status }]);
      }
  });

  it('accepts each kind of recipient, and any time without grid and margin', async ({ emulator }) => {
    const none = { conversation_id: undefined };
    const offset = quarter(6).replace('.000Z', '+00:00');
    for (const changed of [
      { ...none, phone_number: '14155550100' },
      { ...none, list_id: 3 },
      { ...none, targets: ['1', '2'] },
      { execute_at: offset },
    ]) {
      expect([changed, await create(emulator, changed)]).toMatchObject([changed, { status: 200 }]);
    }
    emulator.setVariants({
      'schedule-grid': 'none',
      'schedule-margin': 'none',
      'schedule-answer': 'id-only',
    });
    expect((await create(emulator, { execute_at: quarter(0, 1) })).json).toEqual({
      id: expect.any(Number) as number,
    });
  });

  it('creates one message for two equal local_ids, unless local-id=ignored', async ({ emulator }) => {
    const first = await create(emulator, { local_id: 'again' });
    expect((await create(emulator, { local_id: 'again' })).json).toEqual(first.json);
    expect((await create(emulator)).json).not.toEqual(first.json);
    expect(emulator.team.schedules()).toHaveLength(2);
    emulator.setVariants({ 'local-id': 'ignored' });
    await create(emulator, { local_id: 'again' });
    expect(emulator.team.schedules()).toHaveLength(3);
  });

  it('returns the cancelled message if its local_id is sent again, or 400 if local-id=refused', async ({
    emulator,
    ask,
  }) => {
    const { id } = (await create(emulator, { local_id: 'again' })).json as { id: number };
    await ask(`DELETE /v1/schedule/${id}`);
    expect((await create(emulator, { local_id: 'again' })).json).toMatchObject({ id });
    expect(emulator.team.schedules()).toMatchObject([{ id, state: 'cancelled', creates: 2 }]);
    emulator.setVariants({ 'local-id': 'refused' });
    expect((await create(emulator, { local_id: 'again' })).status).toBe(400);
    expect(emulator.team.schedules()).toHaveLength(1);
  });

  it('accepts a time on schedule-grid and beyond schedule-margin, and answers 400 to any other time', () =>
    withEmulator({ variants: { 'schedule-grid': 60, 'schedule-margin': 24 * 60 } }, async (emulator) => {
      const day = Math.ceil(Date.now() / (24 * 3_600_000) + 2) * 24 * 3_600_000;
      const due = async (ms: number) =>
        (await create(emulator, { execute_at: new Date(ms).toISOString() })).status;
      expect([await due(day), await due(day + 15 * 60_000)]).toEqual([200, 400]);
      expect(await due(Math.ceil(Date.now() / 3_600_000 + 1) * 3_600_000)).toBe(400);
      emulator.setVariants({ 'schedule-grid': 5 });
      expect([await due(day + 5 * 60_000), await due(day + 60_000)]).toEqual([200, 400]);
    }));

  it('answers 400 to a creator outside the inbox, unless schedule-creator=off', async ({ emulator }) => {
    const inbox = emulator.team.inboxes()[1];
    const outsider = emulator.team.users().find(({ id }) => inbox?.members.includes(id) === false);
    const by = (userId: unknown) => create(emulator, { inbox_id: inbox?.id, user_id: userId });
    expect((await by(inbox?.members[0])).status).toBe(200);
    expect((await by(outsider?.id)).status).toBe(400);
    emulator.setVariants({ 'schedule-creator': 'off' });
    expect((await by(outsider?.id)).status).toBe(200);
  });

  it.each([
    ['refused', 'shown', 400, 200],
    ['missing', 'missing', 404, 404],
  ] as const)(
    'with sent-change=%s and sent-read=%s, a sent message answers PUT and DELETE with %i, and GET with %i',
    (change, read, changed, seen) =>
      withEmulator({ variants: { 'sent-change': change, 'sent-read': read } }, async (emulator) => {
        const { id } = (await create(emulator, { execute_at: quarter(3) })).json as { id: number };
        const request = requestOf(emulator, { execute_at: quarter(8) });
        emulator.clock.advance(3 * quarterHourMs);
        expect((await later(emulator, `DELETE /v1/schedule/${id}`)).status).toBe(changed);
        expect((await later(emulator, `PUT /v1/schedule/${id}`, request)).status).toBe(changed);
        expect((await later(emulator, `GET /v1/schedule/${id}`)).status).toBe(seen);
      }),
  );

  it('shows a cancelled message as deleted if cancelled-read=shown', () =>
    withEmulator({ variants: { 'cancelled-read': 'shown' } }, async (emulator) => {
      const { id } = (await create(emulator)).json as { id: number };
      await call(emulator, `DELETE /v1/schedule/${id}`);
      expect((await call(emulator, `GET /v1/schedule/${id}`)).json).toMatchObject({ op: 'delete', rev: 2 });
      expect((await call(emulator, `DELETE /v1/schedule/${id}`)).status).toBe(404);
    }));

  it('delivers a due message once to each recipient, and never delivers a cancelled message', async ({
    emulator,
    ask,
  }) => {
    const none = { conversation_id: undefined };
    const twice = await create(emulator, { ...none, targets: ['14155550101', '2', '2'], local_id: 'a' });
    await create(emulator, { list_id: 3, ...none });
    const { id } = (await create(emulator)).json as { id: number };
    await ask(`DELETE /v1/schedule/${id}`);
    expect(emulator.team.deliveries()).toEqual([]);
    emulator.clock.advance(5 * quarterHourMs);
    const delivered = emulator.team.deliveries();
    expect(delivered.map(({ recipient, localId }) => [recipient, localId])).toEqual([
      ['14155550101', 'a'],
      ['2', 'a'],
      ['list 3', undefined],
    ]);
    expect(delivered[0]).toMatchObject({
      scheduleId: (twice.json as { id: number }).id,
      inboxId: emulator.team.inboxes()[0]?.id,
      at: quarter(4),
      content: { text: 'Hello' },
    });
    emulator.clock.advance(-5 * quarterHourMs);
    expect(emulator.team.schedules().map(({ state }) => state)).toEqual(['sent', 'sent', 'cancelled']);
    expect(emulator.team.deliveries()).toHaveLength(3);
  });

  it('the control endpoint lists messages, deliveries, read conversations and tags', async ({
    emulator,
    ask,
  }) => {
    const tell = async (what: string) => (await ask(`GET /_emulator/teams/${emulator.team.id}/${what}`)).json;
    await create(emulator, { local_id: 'a', execute_at: quarter(3) });
    await create(emulator, { local_id: 'a', execute_at: quarter(3) });
    const read = { inbox_id: emulator.team.inboxes()[0]?.id, user_id: emulator.team.users()[0]?.id };
    await ask('POST /v1/conversations/read', read);
    await ask('POST /v1/tag', { tag: 'Told' });
    emulator.clock.advance(3 * quarterHourMs);
    expect(await tell('schedules')).toMatchObject([
      { state: 'sent', creates: 2, request: { local_id: 'a' } },
    ]);
    expect(await tell('deliveries')).toMatchObject([{ recipient: 'conversation 7', localId: 'a' }]);
    expect(await tell('conversations-read')).toEqual([read]);
    expect(((await tell('tags')) as { tag: string }[]).at(-1)).toMatchObject({ tag: 'Told' });
  });
});

describe('tags, surveys and conversations', () => {
  it('POST /v1/tag copies, returns or refuses a known tag, as same-tag sets', async ({ emulator, ask }) => {
    const first = (await ask('POST /v1/tag', { tag: 'New' })).json as { id: number };
    expect(first).toMatchObject({ rev: 1, uuid: expect.any(String) as string });
    expect((await ask(`GET /v1/tag/${first.id}`)).json).toMatchObject({
      tag: 'New',
      team_id: 41,
    });
    expect((await ask('POST /v1/tag', { tag: 'New' })).json).not.toMatchObject({ id: first.id });
    emulator.setVariants({ 'same-tag': 'existing' });
    expect((await ask('POST /v1/tag', { tag: 'New' })).json).toMatchObject({ id: first.id });
    emulator.setVariants({ 'same-tag': 'refused' });
    expect(await ask('POST /v1/tag', { tag: 'New' })).toMatchObject(badRequest);
    for (const body of [undefined, {}, { tag: '' }, { tag: 1 }, []]) {
      expect(await ask('POST /v1/tag', body)).toMatchObject(badRequest);
    }
  });

  it.each([
    ['exact', [' vip  club', 'VIP CLUB', ' VIP  Club ', 'VIP Club é', 'VIP Club e\u0301']],
    ['any-case', ['VIP CLUB']],
    ['any-spaces', [' VIP  Club ']],
    ['any-form', []],
    ['any', [' vip  club', 'VIP CLUB', ' VIP  Club ']],
  ] as const)('POST /v1/tag returns an existing tag if the names are equal by tag-names=%s', (names, like) =>
    withEmulator({ tags: 0, variants: { 'same-tag': 'existing', 'tag-names': names } }, async (emulator) => {
      const make = async (tag: string) =>
        ((await call(emulator, 'POST /v1/tag', { tag })).json as { id: number }).id;
      const first = await make('VIP Club');
      for (const tag of like) expect([tag, (await make(tag)) === first]).toEqual([tag, names !== 'exact']);
      const composed = await make('é');
      expect((await make('e\u0301')) === composed).toBe(['any-form', 'any'].includes(names));
    }),
  );

  it('GET tag and survey answer 404 to unknown ids, and 400 to non-numbers', async ({ ask }) => {
    for (const path of ['/v1/tag', '/v1/survey']) {
      const [row] = (await ask(`POST ${path}s`)).json as { id: number }[];
      expect((await ask(`GET ${path}/${row?.id}`)).json).toEqual(row);
      expect(await ask(`GET ${path}/9007199254740993`)).toMatchObject(notFound);
      expect(await ask(`GET ${path}/x`)).toMatchObject(badRequest);
    }
  });

  it('conversations/read answers 400 if the inbox or the user is unknown', async ({ emulator, ask }) => {
    const body = {
      inbox_id: emulator.team.inboxes()[0]?.id,
      user_id: emulator.team.users()[0]?.id,
      target: '1',
    };
    expect(await ask('POST /v1/conversations/read', body)).toMatchObject({
      status: 200,
      text: '"ok"',
    });
    for (const bad of [
      { ...body, user_id: undefined },
      { ...body, inbox_id: 1 },
      { ...body, user_id: 1 },
    ]) {
      expect((await ask('POST /v1/conversations/read', bad)).status).toBe(400);
    }
    expect(emulator.team.conversationsRead()).toEqual([body]);
  });
});
