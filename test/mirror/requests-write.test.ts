/** What a run writes of requests: what is written down before it is sent, and what each outcome leaves in each table. */
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import type { OpenRequest, RequestOutcome, RequestState } from '../../src/model/requests.ts';
import { openRequest } from '../../src/mirror/requests/requests-write.ts';
import { readUndoneRequests, takeRequestsBack } from '../../src/mirror/requests/undone-requests.ts';
import { readSentMessages } from '../../src/mirror/users/verify-read.ts';
import { applyUndo } from '../../src/runs/undo-run.ts';
import { createRequestWorld, type RequestWorld } from '../support/request-world.ts';

let world: RequestWorld;
beforeAll(async () => {
  world = await createRequestWorld();
});
afterAll(() => world.close());
beforeEach(() => world.clear());

const key = '11111111-1111-4111-8111-111111111111';
const insert = (text = 'Hello') => `
  insert into mirror.scheduled_messages (team_id, local_id, inbox_id, user_id, text, phone_number, execute_at)
  values (41, '${key}', 7, 1, '${text}', '15550100', date_trunc('hour', now()) + interval '1 day')`;
const insertTag = (tag = 'VIP') =>
  `insert into mirror.tags (team_id, local_id, tag) values (41, '${key}', '${tag}')`;
const insertRead = `insert into mirror.conversation_reads (team_id, local_id, inbox_id, user_id, target) values (41, '${key}', 7, 1, 'a')`;

const only = async (): Promise<RequestState> => {
  const { all } = await world.requests.read();
  const [request] = all;
  if (request === undefined || all.length > 1) throw new Error(`${all.length} requests`);
  return request;
};
const opened = async (): Promise<{ request: RequestState; open: OpenRequest }> => {
  const request = await only();
  const open = await world.requests.open(request);
  if (open === null) throw new Error('it was not opened');
  return { request, open };
};
const sent = async () => {
  const { request, open } = await opened();
  expect(await world.requests.markSent(request, open)).toBe(true);
  return { request, open };
};
const end = async (outcome: RequestOutcome, requestId: string | null = 'r-1') => {
  const { request, open } = await sent();
  await world.requests.apply({ request, open, outcome, requestId });
  return open;
};
const confirm = (id: bigint | null = 900n) => end({ kind: 'confirmed', id, answer: 'ok' });
const message = async () =>
  (await world.query('select id, state, detail, cancels, text, base from mirror.scheduled_messages'))[0];
const edits = async () =>
  (await world.query('select ended_how from sync.edits order by edit_id')).map((row) => row['ended_how']);
const holds = () => world.query('select reason, decision, detail, batch, base_value from sync.held_fields');
const ledger = () =>
  world.query(
    'select kind, state, outcome, request_id, sent_at is not null as was_sent, closed_at is not null as is_closed from sync.changes order by change_id',
  );
const hold = async () => {
  const request = await only();
  await world.requests.hold({ request, reason: 'review', detail: '', batch: 'abc123abc123' });
};

describe('what is read', () => {
  it('has all that is known of a message', async () => {
    await world.force(`update mirror.teams set list_size = 300`);
    await world.as('anna', insert());
    await hold();
    expect(await world.requests.read()).toEqual({
      all: [
        {
          kind: 'message',
          localId: key,
          id: null,
          base: null,
          edit: expect.any(BigInt),
          transaction: expect.stringMatching(/^\d+$/),
          open: null,
          wanted: {
            inbox_id: 7,
            user_id: 1,
            text: 'Hello',
            phone_number: '15550100',
            execute_at: expect.stringMatching(/Z$/),
          },
          hold: { reason: 'review', decision: null, base: null },
          message: {
            recipients: 1,
            dueInMs: expect.any(Number),
            baseDueInMs: null,
            day: expect.stringMatching(/^\d{4}-/),
            others: { messages: 0, recipients: 0 },
          },
        },
      ],
      newTags: 0,
      localIds: null,
      times: { gridMinutes: 15, marginMinutes: 15 },
    });
    const dueInMs = (await only()).message?.dueInMs;
    expect(dueInMs).toBeGreaterThan(22 * 3_600_000);
    expect(dueInMs).toBeLessThanOrEqual(24 * 3_600_000);
  });

  it('counts the other messages of the day that the service has or may have, in the zone of the team', async () => {
    await world.force(
      `update sync.teams set writes = writes || '{"timezone": "Pacific/Auckland"}'; update mirror.teams set list_size = 300`,
    );
    const at = (id: number, state: string, due: string, to: string, base = `'{}'`) => `
      insert into mirror.scheduled_messages (team_id, inbox_id, text, execute_at, state, id, base, ${to.split('=')[0]})
      values (41, 7, 'x', '${due}', '${state}', ${id}, ${base}, ${to.split('=')[1]});`;
    // 10:00 and 12:30 in UTC are two days in Auckland.
    await world.force(
      at(1, 'scheduled', '2031-01-01T10:00Z', `targets='{1,2}'`) +
        at(2, 'past', '2031-01-01T09:00Z', `list_id=3`) +
        at(3, 'unknown', '2031-01-01T08:00Z', `phone_number='1'`, 'null') +
        at(4, 'cancelled', '2031-01-01T08:00Z', `phone_number='1'`) +
        at(5, 'waiting', '2031-01-01T08:00Z', `phone_number='1'`, 'null') +
        at(6, 'scheduled', '2031-01-01T12:30Z', `phone_number='1'`),
    );
    await world.query(insert().replace(/date_trunc.*'1 day'/, `'2031-01-01T10:30Z'`));
    expect((await only()).message).toMatchObject({
      day: '2031-01-01',
      others: { messages: 3, recipients: 303 },
    });
  });

  it('has what was learned, the tags of the day, and cancels first', async () => {
    await world.force(`insert into sync.learned (team, topic, value) values ('north', 'schedule', '{"local_ids": "unique", "grid_minutes": 5, "margin_minutes": 1}');
      insert into sync.changes (team_id, local_id, kind, sent_at, outcome, opened_at) values
        (41, gen_random_uuid(), 'push', now(), '{"tag": "confirmed"}', now()), (41, gen_random_uuid(), 'push', null, '{"tag": "confirmed"}', now()),
        (41, gen_random_uuid(), 'push', now(), '{"tag": "refused"}', now()), (41, gen_random_uuid(), 'push', now(), '{"tag": "confirmed"}', now() - interval '25 hours')`);
    await world.query(
      `${insertTag()}; ${insert().replace(key, key.replaceAll('1', '2'))}; ${insert().replace(key, key.replaceAll('1', '3'))}`,
    );
    await world.force(
      `update mirror.scheduled_messages set id = 5, base = sync.wanted('message', to_jsonb(scheduled_messages)) where local_id::text like '3%'`,
    );
    await world.query(`delete from mirror.scheduled_messages where local_id::text like '3%'`);
    const known = await world.requests.read();
    expect(known).toMatchObject({
      newTags: 1,
      localIds: 'unique',
      times: { gridMinutes: 5, marginMinutes: 1 },
    });
    expect(known.all.map(({ kind, wanted }) => [kind, wanted === null])).toEqual([
      ['message', true],
      ['message', false],
      ['tag', false],
    ]);
  });
});

describe('what is written down before it is sent', () => {
  it('is the edit, with who made it, and what is sent over what', async () => {
    await world.as('anna', insert());
    const { request, open } = await opened();
    expect(open).toEqual({
      changeId: expect.any(BigInt),
      sent: request.wanted,
      edit: request.edit,
      hasLeft: false,
      ageMs: 0,
    });
    expect(
      await world.query(
        'select team_id, user_id, local_id, run_id, kind, state, base, old, new, approved, edits, edited_by, sent_at from sync.changes',
      ),
    ).toEqual([
      {
        team_id: 41n,
        user_id: null,
        local_id: key,
        run_id: 7n,
        kind: 'push',
        state: 'open',
        base: { message: null },
        old: { message: null },
        new: { message: request.wanted },
        approved: false,
        edits: { message: Number(request.edit) },
        edited_by: { message: expect.stringContaining('anna') },
        sent_at: null,
      },
    ]);
    expect((await only()).open).toMatchObject({
      changeId: open.changeId,
      sent: request.wanted,
      edit: request.edit,
      hasLeft: false,
    });
  });

  it('spends what was decided', async () => {
    await world.as('anna', insert());
    await hold();
    await world.as('ben', `select sync.approve('abc123abc123')`);
    await opened();
    expect(await holds()).toMatchObject([{ decision: 'spent' }]);
    expect(await world.query(`select approved from sync.changes where kind = 'push'`)).toEqual([
      { approved: true },
    ]);
  });

  test.each([
    ['edited', `update mirror.scheduled_messages set text = 'Bye'`],
    ['taken back', 'delete from mirror.scheduled_messages'],
    ['rejected', `select sync.reject('abc123abc123')`],
  ])('is nothing if it was %s meanwhile', async (_, text) => {
    await world.as('anna', insert());
    await hold();
    const request = await only();
    await world.as('ben', text);
    expect(await world.requests.open(request)).toBeNull();
  });

  it('is nothing if the row was changed past the triggers: nobody approved that', async () => {
    await world.as('anna', insert());
    await hold();
    await world.as('ben', `select sync.approve('abc123abc123')`);
    await world.force(`update mirror.scheduled_messages set text = 'Never seen'`);
    expect((await only()).wanted).toMatchObject({ text: 'Never seen' });
    expect(await world.requests.open(await only())).toBeNull();
    expect(await ledger()).toMatchObject([{ kind: 'approve' }]);
  });

  it('is nothing while it waits undecided, or is open already', async () => {
    await world.as('anna', insert());
    const request = await only();
    expect(await world.requests.open(request)).not.toBeNull();
    expect(await world.requests.open(request)).toBeNull();
    await world.force('delete from sync.changes');
    await hold();
    expect(await world.requests.open(request)).toBeNull();
  });

  test.each([
    ['edited', `update mirror.scheduled_messages set text = 'Bye'`],
    ['taken back', 'delete from mirror.scheduled_messages'],
  ])('does not leave if it was %s since', async (_, text) => {
    await world.as('anna', insert());
    const { request, open } = await opened();
    await world.as('ben', text);
    expect(await world.requests.markSent(request, open)).toBe(false);
    expect(await ledger()).toMatchObject([{ was_sent: false }]);
  });

  it('does not leave if the decision was taken back since', async () => {
    await world.as('anna', insert());
    await hold();
    await world.as('ben', `select sync.approve('abc123abc123')`);
    const { request, open } = await opened();
    await world.as(
      'ben',
      `select sync.undecide((select decision_id from sync.changes where kind = 'approve'))`,
    );
    expect(await world.requests.markSent(request, open)).toBe(false);
  });

  it('does not leave while somebody edits it in a transaction that is still open', async () => {
    await world.as('anna', insert());
    const { request, open } = await opened();
    await world.db.transaction(async (tx) => {
      await sql.raw(`update mirror.scheduled_messages set text = 'Bye'`).execute(tx);
      expect(await world.requests.markSent(request, open)).toBe(false);
    });
  });
});

describe('what a message becomes', () => {
  it('once it is there', async () => {
    await world.as('anna', insert());
    await hold();
    await world.as('ben', `select sync.approve('abc123abc123')`);
    await confirm();
    const row = await message();
    expect(row).toMatchObject({ id: 900n, state: 'scheduled', detail: null, cancels: false });
    expect(row?.['base']).toMatchObject({ text: 'Hello', inbox_id: 7, user_id: 1, phone_number: '15550100' });
    expect([await edits(), await holds()]).toEqual([['agreed'], []]);
    expect((await ledger()).at(-1)).toEqual({
      kind: 'push',
      state: 'closed',
      outcome: { message: 'confirmed' },
      request_id: 'r-1',
      was_sent: true,
      is_closed: true,
    });
  });

  it('once it is there, and was edited while it was sent', async () => {
    await world.as('anna', insert());
    const { request, open } = await sent();
    await world.as('anna', `update mirror.scheduled_messages set text = 'Bye'`);
    await world.requests.apply({
      request,
      open,
      outcome: { kind: 'confirmed', id: 900n, answer: null },
      requestId: null,
    });
    expect(await message()).toMatchObject({
      id: 900n,
      state: 'waiting',
      text: 'Bye',
      base: expect.objectContaining({ text: 'Hello' }),
    });
    expect(await edits()).toEqual(['replaced', null]);
    expect(await only()).toMatchObject({ id: 900n, base: { text: 'Hello' }, wanted: { text: 'Bye' } });
  });

  it('once it is there, and was edited there and back while it was sent', async () => {
    await world.as('anna', insert());
    await confirm();
    await world.as('anna', `update mirror.scheduled_messages set text = 'Bye'`);
    const { request, open } = await sent();
    await world.as('anna', `update mirror.scheduled_messages set text = 'Hello'`);
    await world.as('anna', `update mirror.scheduled_messages set text = 'Bye'`);
    await world.requests.apply({
      request,
      open,
      outcome: { kind: 'confirmed', id: 900n, answer: null },
      requestId: null,
    });
    expect(await message()).toMatchObject({ state: 'scheduled', text: 'Bye' });
    expect((await edits()).at(-1)).toBe('agreed');
  });

  it('once it is cancelled', async () => {
    await world.as('anna', insert());
    await confirm();
    await world.as('anna', 'delete from mirror.scheduled_messages');
    expect((await end({ kind: 'confirmed', id: 900n, answer: null })).sent).toBeNull();
    expect(await message()).toMatchObject({
      state: 'cancelled',
      detail: 'it was cancelled in time: nobody gets it',
    });
    expect(await edits()).toEqual(['agreed', 'agreed']);
  });

  describe('that it was cancelled in time is not said of a message whose time has come by then', () => {
    const past = { execute_at: '2020-01-01T00:00:00Z' };
    const came = { state: 'past', detail: 'its time came meanwhile: people may have received it' };
    beforeEach(async () => {
      await world.as('anna', insert());
      await confirm();
    });

    it.each([
      { kind: 'confirmed', id: 900n, answer: null },
      { kind: 'gone', detail: 'gone' },
    ] as const)('while it was cancelled: $kind', async (outcome) => {
      await world.as('anna', 'delete from mirror.scheduled_messages');
      await world.force(`update mirror.scheduled_messages set base = base || '${JSON.stringify(past)}'`);
      await end(outcome);
      expect(await message()).toMatchObject({ id: 900n, ...came });
      expect((await ledger()).at(-1)).toMatchObject({ outcome: { message: 'ineffective' } });
      expect([(await edits()).at(-1), await holds()]).toEqual(['overruled', []]);
    });

    it('that of a replacement, of which no answer came', async () => {
      await world.as('anna', `update mirror.scheduled_messages set text = 'Bye'`);
      const { request, open } = await sent();
      const late = { ...open, sent: { ...open.sent, ...past } };
      await world.requests.apply({
        request,
        open: late,
        outcome: { kind: 'gone', detail: 'gone' },
        requestId: null,
      });
      expect(await message()).toMatchObject(came);
    });
  });

  it.each([
    ['unknown', { kind: 'unknown', isForGood: true, detail: 'no answer' }],
    ['unsent', { kind: 'unsent' }],
  ] as const)('what a person has resolved meanwhile stays so: %s', async (_, outcome) => {
    await world.as('anna', insert());
    const { request, open } = await sent();
    await world.requests.apply({
      request,
      open,
      outcome: { kind: 'unknown', isForGood: true, detail: 'no answer' },
      requestId: null,
    });
    await world.as('ben', `select sync.resolve_message(41, '${key}', 900, null)`);
    await world.requests.apply({ request, open, outcome, requestId: null });
    expect(await message()).toMatchObject({ id: 900n, state: 'scheduled', detail: null });
    expect((await ledger())[0]).toMatchObject({ state: 'closed', outcome: { message: 'confirmed' } });
  });

  it('a decision that is taken back while it is being sent is on its way', async () => {
    await world.as('anna', insert());
    await hold();
    await world.as('ben', `select sync.approve('abc123abc123')`);
    const request = await only();
    const { undone } = await world.db.transaction(async (tx) => {
      await openRequest(tx, { teamId: 41n, runId: 7n }, request);
      const undone = world.as(
        'ben',
        'select outcome from sync.undecide((select max(decision_id) from sync.changes))',
      );
      const waits = `select from pg_locks l join pg_stat_activity a using (pid)
        where not l.granted and l.locktype = 'transactionid' and a.datname = current_database()`;
      while ((await world.query(waits)).length === 0);
      return { undone };
    });
    expect(await undone).toEqual([{ outcome: 'on its way' }]);
    expect(await holds()).toMatchObject([{ decision: null }]);
  });

  it('what a person has resolved meanwhile is not sent again', async () => {
    await world.as('anna', insert());
    const { request, open } = await sent();
    expect(await world.requests.markSentAgain(open)).toBe(true);
    await world.requests.apply({
      request,
      open,
      outcome: { kind: 'unknown', isForGood: true, detail: 'no answer' },
      requestId: null,
    });
    await world.as('ben', `select sync.resolve_message(41, '${key}', null, null)`);
    expect(await world.requests.markSentAgain(open)).toBe(false);
  });

  it('once it is refused: it waits, and neither is sent again nor loses its name', async () => {
    await world.as('anna', insert());
    await end({ kind: 'refused', detail: 'the service answered 400' });
    expect(await message()).toMatchObject({ state: 'refused', detail: 'the service answered 400' });
    expect(await holds()).toMatchObject([
      { reason: 'refused', decision: null, detail: 'the service answered 400' },
    ]);
    expect(await edits()).toEqual([null]);
    expect(await ledger()).toMatchObject([{ state: 'closed', outcome: { message: 'refused' } }]);
    await world.as('anna', `update mirror.scheduled_messages set text = 'Bye'`);
    expect([await holds(), (await message())?.['state']]).toEqual([[], 'waiting']);
  });

  it('once it is refused after an approval', async () => {
    await world.as('anna', insert());
    await hold();
    await world.as('ben', `select sync.approve('abc123abc123')`);
    await end({ kind: 'refused', detail: 'no' });
    expect(await holds()).toMatchObject([{ reason: 'refused', decision: null }]);
  });

  it.each(['unsent', 'unanswered'] as const)('once it is %s: the same decision counts', async (kind) => {
    await world.as('anna', insert());
    await hold();
    await world.as('ben', `select sync.approve('abc123abc123')`);
    await end({ kind });
    expect(await holds()).toMatchObject([{ decision: 'approved' }]);
    expect([await edits(), (await message())?.['state']]).toEqual([[null], 'waiting']);
    expect((await ledger()).at(-1)).toMatchObject({ state: 'closed', outcome: { message: kind } });
  });

  it('once it is unsent, and was taken back meanwhile', async () => {
    await world.as('anna', insert());
    const { request, open } = await sent();
    await world.as('anna', 'delete from mirror.scheduled_messages');
    await world.requests.apply({ request, open, outcome: { kind: 'unsent' }, requestId: null });
    expect(await message()).toMatchObject({
      state: 'cancelled',
      detail: 'it was taken back before it was sent',
    });
    expect((await edits()).at(-1)).toBe('withdrawn');
  });

  it.each([
    [true, 'unknown', 'no answer'],
    [false, 'waiting', null],
  ] as const)('if nobody knows (for good: %s)', async (isForGood, state, detail) => {
    await world.as('anna', insert());
    await end({ kind: 'unknown', isForGood, detail: 'no answer' });
    expect(await message()).toMatchObject({ state, detail });
    expect(await ledger()).toMatchObject([
      { state: 'open', outcome: { message: 'unknown' }, is_closed: false },
    ]);
    expect((await only()).open).toMatchObject({ hasLeft: true });
  });

  it.each([
    ['late', 'past'],
    ['gone', 'cancelled'],
  ] as const)('if it is %s, it is as the service had it', async (kind, state) => {
    await world.as('anna', insert());
    await confirm();
    await world.as('anna', `update mirror.scheduled_messages set text = 'Bye'`);
    await hold();
    await world.as('ben', `select sync.approve('abc123abc123')`);
    await end({ kind, detail: 'too late' });
    expect(await message()).toMatchObject({ state, detail: 'too late', text: 'Hello' });
    expect([(await edits()).at(-1), await holds()]).toEqual(['overruled', []]);
    expect((await ledger()).at(-1)).toMatchObject({ outcome: { message: 'ineffective' } });
  });

  it('if the service has a third one, that is in conflict with the edit', async () => {
    await world.as('anna', insert());
    await confirm();
    await world.as('anna', `update mirror.scheduled_messages set text = 'Bye'`);
    await end({ kind: 'conflict', shown: { text: 'Theirs' } });
    expect(await message()).toMatchObject({
      text: 'Bye',
      base: expect.objectContaining({ text: 'Theirs', inbox_id: 7 }),
    });
    expect(await holds()).toMatchObject([
      { reason: 'conflict', decision: null, base_value: { text: 'Hello' } },
    ]);
    expect((await ledger()).slice(-2)).toMatchObject([
      { kind: 'push', outcome: { message: 'changed' } },
      { kind: 'pull' },
    ]);
  });

  it('if its time passes while it waits', async () => {
    await world.as('anna', insert());
    await hold();
    await world.requests.giveUp(await only(), 'its time has passed');
    expect(await message()).toMatchObject({ state: 'past', detail: 'its time has passed', text: 'Hello' });
    expect([await edits(), await holds()]).toEqual([['overruled'], []]);
  });

  it('if its time passes on the service', async () => {
    await world.as('anna', insert());
    await confirm();
    await world.requests.passTime();
    expect((await message())?.['state']).toBe('scheduled');
    await world.force(`update mirror.scheduled_messages set execute_at = now() - interval '1 s'`);
    await world.requests.passTime();
    expect(await message()).toMatchObject({ state: 'past', detail: 'its time has passed' });
  });
});

describe('what the service shows of a message', () => {
  const show = (shown: Record<string, unknown> | null, raw = { id: 900 }) =>
    world.requests.applyShown(key, shown === null ? null : { shown, raw });
  beforeEach(async () => {
    await world.as('anna', insert());
    await confirm();
  });

  it('is noted if it is as before', async () => {
    await show({ text: 'Hello', inbox_id: 7 });
    expect(
      await world.query('select state, raw, read_at is not null as is_read from mirror.scheduled_messages'),
    ).toEqual([{ state: 'scheduled', raw: { id: 900 }, is_read: true }]);
    expect(await ledger()).toHaveLength(1);
  });

  it.each(['text', 'inbox_id', 'template_id', 'conversation_id', 'list_id'])(
    'comes here if %s was changed there',
    async (column) => {
      const value = column === 'text' ? 'Theirs' : 12;
      await show({ [column]: value });
      expect(
        (
          await world.query(
            `select ${column}::text as value, state, base ->> '${column}' as base from mirror.scheduled_messages`,
          )
        )[0],
      ).toEqual({ value: String(value), state: 'scheduled', base: String(value) });
      expect((await ledger()).at(-1)).toMatchObject({ kind: 'pull' });
      expect(await world.requests.read()).toMatchObject({ all: [] });
    },
  );

  it('comes here if its time was changed there', async () => {
    await show({ execute_at: '2031-01-01T09:00:00Z' });
    expect(
      await world.query(`select execute_at = '2031-01-01T09:00Z' as is_moved from mirror.scheduled_messages`),
    ).toEqual([{ is_moved: true }]);
  });

  it('is in conflict with an edit that waits', async () => {
    await world.as('anna', `update mirror.scheduled_messages set text = 'Bye'`);
    await show({ text: 'Theirs' });
    expect(await message()).toMatchObject({ text: 'Bye', base: expect.objectContaining({ text: 'Theirs' }) });
    expect(await holds()).toMatchObject([{ reason: 'conflict', base_value: { text: 'Hello' } }]);
  });

  it('is over if it is there no longer', async () => {
    await show(null);
    expect(await message()).toMatchObject({
      state: 'cancelled',
      detail: 'somebody has cancelled it on the service',
    });
  });

  it('is past if its time has come', async () => {
    await world.force(
      `update mirror.scheduled_messages set base = base || '{"execute_at": "2020-01-01T00:00:00Z"}'`,
    );
    await show(null);
    expect((await message())?.['state']).toBe('past');
  });

  it('is asked for in the order of its time', async () => {
    expect(await world.requests.readDue(5)).toEqual([{ localId: key, id: 900n }]);
    await world.force(`update mirror.scheduled_messages set state = 'past'`);
    expect(await world.requests.readDue(5)).toEqual([]);
  });

  it('is asked for where nobody has seen it or it is due soon, before what was seen already', async () => {
    await world.force('delete from mirror.scheduled_messages');
    // Each of the first two was seen, and one of them is due within the hour.
    await world.force(`
      insert into mirror.scheduled_messages (team_id, inbox_id, text, state, id, execute_at, read_at)
      select 41, 7, 'x', 'scheduled', m.id, now() + m.hours * interval '1 hour', case when m.is_seen then now() end
      from (values (1, 3.0, true), (2, 0.5, true), (3, 9.0, false), (4, 5.0, false)) m (id, hours, is_seen)`);
    const asked = async (most: number) => (await world.requests.readDue(most)).map(({ id }) => id);
    expect([await asked(9), await asked(2)]).toEqual([
      [2n, 4n, 3n, 1n],
      [2n, 4n],
    ]);
  });

  it('is not asked for while something of it is being sent: its answer tells that', async () => {
    await world.as('anna', `update mirror.scheduled_messages set text = 'Bye'`);
    await sent();
    expect(await world.requests.readDue(5)).toEqual([]);
  });

  it('is compared by verify as long as the service has it to send', async () => {
    const compared = async () => (await readSentMessages(world.db.kysely, 41n)).map(({ id }) => id);
    expect(await compared()).toEqual([900n]);
    for (const over of [
      `state = 'past'`,
      `state = 'cancelled'`,
      `state = 'scheduled', base = base || '{"execute_at": "2020-01-01T00:00:00Z"}'`,
    ]) {
      await world.force(`update mirror.scheduled_messages set ${over}`);
      expect([over, await compared()]).toEqual([over, []]);
    }
  });
});

describe('what can be undone of a run', () => {
  const leased = {
    team: 'north',
    lease: { ttlMs: 60_000 },
    push: { fourEyes: false } as Config['push'],
    write: { tags: true, schedule: 'unattended', conversations: true, timezone: 'UTC' } as Config['write'],
  };
  const undone = () => readUndoneRequests(world.db.kysely, 41n, { kind: 'run', number: 7n });
  const wanted = async () =>
    (
      await world.query(
        `select sync.wanted('message', to_jsonb(m)) as wanted from mirror.scheduled_messages m`,
      )
    )[0]?.['wanted'];

  it.each([
    ['user_id', 'null'],
    ['text', `'Bye'`],
    ['template_id', '12'],
    ['attachments', `'[{"name":"a"}]'`],
    ['gallery', `'[{"url":"u"}]'`],
    ['is_email', 'true'],
    ['conversation_id', '5, phone_number = null'],
    ['list_id', '5, phone_number = null'],
    ['phone_number', `'15550101'`],
    ['targets', `'{15550101}', phone_number = null`],
    ['execute_at', `execute_at + interval '1 day'`],
  ])('is the last thing that it sent of a message, here another %s', async (column, value) => {
    await world.as('anna', insert());
    await confirm();
    const before = await wanted();
    await world.as('anna', `update mirror.scheduled_messages set ${column} = ${value}`);
    await confirm();
    expect(await wanted()).not.toEqual(before);
    const requests = await undone();
    expect(requests).toMatchObject([{ local_id: key, field: 'message', undo: 'back', reason: null, before }]);
    await world.db.transaction((tx) => takeRequestsBack(tx, 41n, requests));
    expect(await wanted()).toEqual(before);
    expect((await message())?.['state']).toBe('waiting');
  });

  it('is nothing that somebody is editing meanwhile: what they made of it stays', async () => {
    await world.as('anna', insert());
    await confirm();
    await world.as('anna', `update mirror.scheduled_messages set text = 'Bye'`);
    await confirm();
    const { undoing } = await world.db.transaction(async (tx) => {
      await sql`update mirror.scheduled_messages set text = 'Newer'`.execute(tx);
      const undoing = applyUndo(
        world.db,
        leased,
        { kind: 'run', number: 7n },
        { actor: 'ben', why: undefined },
      );
      const waits = `select from pg_locks l join pg_stat_activity a using (pid)
        where not l.granted and l.locktype = 'transactionid' and a.datname = current_database()`;
      while ((await world.query(waits)).length === 0);
      return { undoing };
    });
    expect((await undoing).requests).toMatchObject([{ undo: 'left', reason: 'it was edited since' }]);
    expect(await message()).toMatchObject({ text: 'Newer', state: 'waiting' });
  });

  it('is nothing that the service did not take', async () => {
    await world.as('anna', insert());
    await confirm();
    await world.as('anna', `update mirror.scheduled_messages set text = 'Bye'`);
    await end({ kind: 'refused', detail: 'no' });
    expect(await undone()).toMatchObject([{ undo: 'left', reason: 'it was edited since' }]);
    await world.force('delete from sync.changes where change_id = (select min(change_id) from sync.changes)');
    expect(await undone()).toEqual([]);
  });

  it('is nothing that somebody has changed on the service since, though it is wanted here as it was', async () => {
    await world.as('anna', insert());
    await confirm();
    await world.requests.applyShown(key, { shown: { text: 'Theirs' }, raw: {} });
    await world.as('anna', `update mirror.scheduled_messages set text = 'Hello'`);
    expect(await undone()).toMatchObject([{ undo: 'left', reason: 'it was edited since' }]);
  });
});

describe('what a tag becomes', () => {
  const tags = () => world.query('select id, tag, local_id from mirror.tags order by id');

  it('gets its id', async () => {
    await world.query(insertTag());
    await confirm(77n);
    expect(await tags()).toEqual([{ id: 77n, tag: 'VIP', local_id: key }]);
    expect([await edits(), await world.requests.read()]).toMatchObject([['agreed'], { all: [] }]);
  });

  it('takes the row that the listing knows', async () => {
    await world.query(insertTag('vip'));
    await world.force(`insert into mirror.tags (team_id, id, tag, color) values (41, 77, 'VIP', 'red')`);
    await confirm(77n);
    expect(await tags()).toEqual([{ id: 77n, tag: 'VIP', local_id: key }]);
  });

  it('tells its id to whoever asked for it, also where another request has made it', async () => {
    await world.query(insertTag());
    await confirm(77n);
    const second = key.replaceAll('1', '2');
    await world.query(insertTag('vip').replace(key, second));
    await confirm(77n);
    expect(await tags()).toEqual([{ id: 77n, tag: 'VIP', local_id: key }]);
    expect(
      await world.query(
        `select state, local_id, id from sync.settled(xid => (select xid from sync.edits where local_id = '${second}'))`,
      ),
    ).toEqual([{ state: 'confirmed', local_id: second, id: 77n }]);
  });

  it('that is refused waits', async () => {
    await world.query(insertTag());
    await end({ kind: 'refused', detail: 'no' });
    expect(await holds()).toMatchObject([{ reason: 'refused' }]);
    expect(await tags()).toMatchObject([{ id: null }]);
  });
});

describe('what a read conversation becomes', () => {
  const row = async () =>
    (
      await world.query(
        'select state, detail, answer, sent_at is not null as is_sent from mirror.conversation_reads',
      )
    )[0];
  it.each<[RequestOutcome, unknown, unknown]>([
    [
      { kind: 'confirmed', id: null, answer: 'ok' },
      { state: 'sent', detail: null, answer: 'ok', is_sent: true },
      'agreed',
    ],
    [
      { kind: 'refused', detail: 'no' },
      { state: 'refused', detail: 'no', answer: null, is_sent: false },
      null,
    ],
    [
      { kind: 'unanswered' },
      { state: 'unknown', detail: 'no answer came, and it is not sent again', answer: null, is_sent: false },
      'overruled',
    ],
    [{ kind: 'unsent' }, { state: 'waiting', detail: null, answer: null, is_sent: false }, null],
  ])('%j', async (outcome, expected, ended) => {
    await world.query(insertRead);
    await end(outcome);
    expect(await row()).toEqual(expected);
    expect(await edits()).toEqual([ended]);
  });
});

describe('what is held', () => {
  it('has its batch, its values, and words', async () => {
    await world.as('anna', insert());
    await hold();
    expect(await message()).toMatchObject({
      state: 'held',
      detail: 'it waits until somebody who did not write it approves it',
    });
    expect(
      await world.query(
        'select team_id, user_id, local_id, field, reason, base_value, mirror_value, service_value, detail, run_id, batch, decision, edit_id = (select edit_id from sync.edits) as is_of from sync.held_fields',
      ),
    ).toEqual([
      {
        team_id: 41n,
        user_id: null,
        local_id: key,
        field: 'message',
        reason: 'review',
        base_value: null,
        mirror_value: expect.objectContaining({ text: 'Hello' }),
        service_value: null,
        detail: '',
        run_id: 7n,
        batch: 'abc123abc123',
        decision: null,
        is_of: true,
      },
    ]);
  });

  it('is nothing if it was edited or decided meanwhile', async () => {
    await world.as('anna', insert());
    const request = await only();
    await world.as('anna', `update mirror.scheduled_messages set text = 'Bye'`);
    await world.requests.hold({ request, reason: 'review', detail: '', batch: 'abc123abc123' });
    expect([await holds(), (await message())?.['state']]).toEqual([[], 'waiting']);
    await hold();
    const known = await only();
    await world.as('ben', `select sync.approve('abc123abc123')`);
    await world.requests.hold({ request: known, reason: 'limit', detail: 'too many', batch: 'ffffffffffff' });
    expect(await holds()).toMatchObject([{ reason: 'review', decision: 'approved', batch: 'abc123abc123' }]);
  });
});
