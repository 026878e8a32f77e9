/** What is asked of the service in SQL besides edits of users: what is refused, recorded, held, decided and taken back. */
import { CompiledQuery, sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

type Row = Record<string, unknown>;

let database: TestDatabase;
const query = async (text: string): Promise<Row[]> =>
  (await database.db.kysely.executeQuery<Row>(CompiledQuery.raw(text))).rows;
/** As somebody who is called so by the transaction, which is how the commands of musterd do it. */
const as = (who: string, text: string): Promise<Row[]> =>
  database.db.transaction(async (tx) => {
    await sql`select set_config('musterd.actor', ${who}, true)`.execute(tx);
    return (await tx.executeQuery<Row>(CompiledQuery.raw(text))).rows;
  });
/** As a run writes. */
const force = (text: string) =>
  database.db.transaction(async (tx) => {
    await sql`select set_config('musterd.writing', 'on', true)`.execute(tx);
    return (await tx.executeQuery<Row>(CompiledQuery.raw(text))).rows;
  });
const said = (text: string): Promise<string> =>
  query(text).then(
    () => 'taken',
    (error: unknown) => String((error as Error).message),
  );

const key = '11111111-1111-4111-8111-111111111111';
const message = {
  team_id: '41',
  local_id: `'${key}'`,
  inbox_id: '7',
  user_id: '1',
  text: `'Hello {{Plan}}'`,
  phone_number: `'15550100'`,
  execute_at: `date_trunc('hour', now()) + interval '1 day'`,
};
const insert = (changes: Partial<Record<string, string>> = {}) => {
  const row = Object.entries({ ...message, ...changes }).filter(([, value]) => value !== '');
  return `insert into mirror.scheduled_messages (${row.map(([name]) => name)}) values (${row.map(([, value]) => value)})`;
};
const state = async () =>
  (await query('select state, detail, cancels, base from mirror.scheduled_messages'))[0];
const edits = () =>
  query(`select field, old_value, new_value, ended_how, authors from sync.edits order by edit_id`);
const hold = (reason = 'review') =>
  force(`insert into sync.held_fields (team_id, local_id, field, reason, base_value, mirror_value, batch, edit_id)
    select r.team_id, r.local_id, r.field, '${reason}', r.base, r.wanted, 'abc123abc123', e.edit_id
    from sync.requests r join sync.edits e on e.local_id = r.local_id and e.ended_at is null;
    update mirror.scheduled_messages set state = 'held'; update mirror.conversation_reads set state = 'held'`);
/** As the service has it, once a run has sent it. */
const settle = () =>
  force(`update mirror.scheduled_messages m set id = 900, state = 'scheduled', base = sync.wanted('message', to_jsonb(m));
    update sync.edits set ended_at = now(), ended_how = 'agreed' where ended_at is null`);
const open = () =>
  force(`insert into sync.changes (team_id, local_id, kind, state, new, edits)
    select team_id, local_id, 'push', 'open', jsonb_build_object(field, new_value), jsonb_build_object(field, edit_id)
    from sync.edits where ended_at is null`);

beforeAll(async () => {
  database = await createTestDatabase();
  await query(`insert into sync.teams (team, team_id) values ('north', 41)`);
  await force(`insert into mirror.teams (team_id, name) values (41, 'North');
    insert into mirror.inboxes (team_id, id, name, members) values (41, 7, 'Front desk', '[1]'), (41, 8, 'Closed', '[1]');
    update mirror.inboxes set gone_at = now() where id = 8;
    insert into mirror.contact_fields (team_id, id, title) values (41, 5, 'Plan');
    insert into mirror.users (team_id, id, name, resolved) values (41, 1, 'Anne Berg', true), (41, 2, 'Eva Dahl', true)`);
  // No run has seen this team, and what it has does not count for the first.
  await force(`insert into mirror.inboxes (team_id, id, name, members) values (42, 7, 'Of others', '[2]'), (42, 9, 'Of others', '[1]');
    insert into mirror.contact_fields (team_id, id, title) values (42, 5, 'Colour');
    insert into mirror.users (team_id, id, name, resolved) values (42, 9, 'Olga Lind', true)`);
});
afterAll(() => database.close());
beforeEach(() =>
  force(`delete from mirror.scheduled_messages; delete from mirror.tags; delete from mirror.conversation_reads; delete from sync.learned;
    truncate sync.edits, sync.held_fields; delete from sync.changes;
    update sync.teams set four_eyes = false, writes = '{"tags": true, "schedule": true, "conversations": true}'`),
);

describe('what is refused in words as it is written', () => {
  test.each([
    ['the settings do not allow it', `update sync.teams set writes = '{}'`, {}, 'write.schedule is off'],
    ['of a team that nobody knows', '', { team_id: '42' }, 'No run has seen team 42'],
    ['no such inbox', '', { inbox_id: '9' }, 'Team 41 has no inbox 9'],
    ['an inbox that is gone', '', { inbox_id: '8' }, 'Team 41 has no inbox 8'],
    ['the sender is no member', '', { user_id: '2' }, 'User 2 is not a member of inbox 7'],
    ['nobody gets it', '', { phone_number: '' }, 'has to be given, not 0'],
    ['two kinds of target', '', { list_id: '3' }, 'has to be given, not 2'],
    ['no phone number', '', { phone_number: `'call me'` }, '"call me" is not a phone number'],
    ['no targets', '', { phone_number: '', targets: `'{}'` }, 'targets is empty'],
    [
      'an empty target',
      '',
      { phone_number: '', targets: `'{15550100,""}'` },
      'targets is empty, or one of its entries',
    ],
    ['a target twice', '', { phone_number: '', targets: `'{1555,1555}'` }, 'given twice'],
    ['nothing is said', '', { text: `' '` }, 'neither a text'],
    [
      'a target that is no phone number',
      '',
      { phone_number: '', targets: `'{15550100,call me}'` },
      'The target "call me" is not a phone number',
    ],
    [
      'a target twice, spelled otherwise',
      '',
      { phone_number: '', targets: `'{15550100,+15550100}'` },
      'given twice',
    ],
    ['an attachment that is no list', '', { attachments: `'{}'` }, 'are lists'],
    ['an attachment that is no object', '', { attachments: `'[null]'` }, 'An entry of attachments'],
    [
      'an attachment of other things',
      '',
      { attachments: `'[{"name":"a","size":1}]'` },
      'An entry of attachments',
    ],
    [
      'an attachment that is no text',
      '',
      { attachments: `'[{"url":1.000000000000000000001}]'` },
      'An entry of attachments',
    ],
    ['an empty gallery entry', '', { gallery: `'[{"url":"u"},null]'` }, 'An entry of gallery'],
    ['a list in a gallery', '', { gallery: `'[{"url":[]}]'` }, 'An entry of gallery'],
    ['far too much', '', { text: `repeat('x', 10000001)` }, 'larger than 10 MB'],
    ['a time that no zone can tell', '', { execute_at: `'294276-12-31T23:45Z'` }, 'beyond the year 9999'],
    ['a year of five digits', '', { execute_at: `'10000-01-01T00:00Z'` }, 'beyond the year 9999'],
    ['an unknown merge token', '', { text: `'Hi {{ Colour }}'` }, 'No contact field is called "Colour"'],
    [
      'off the grid',
      '',
      { execute_at: `date_trunc('hour', now()) + interval '1 day 7 minutes'` },
      'full 15 minutes',
    ],
    ['too soon', '', { execute_at: `date_trunc('hour', now())` }, 'less than 15 minutes ahead'],
    ['never', '', { execute_at: `'infinity'` }, 'full 15 minutes'],
    ['what follows the service', '', { state: `'scheduled'` }, 'A new scheduled message has only'],
    ['an id of the service', '', { id: '900' }, 'A new scheduled message has only'],
  ])('%s', async (_, before, changes, words) => {
    if (before !== '') await force(before);
    expect(await said(insert(changes))).toContain(words);
    expect(await query('select from mirror.scheduled_messages')).toEqual([]);
    expect(await edits()).toEqual([]);
  });

  it('goes by the grid and the margin that were learned', async () => {
    await force(
      `insert into sync.learned (team, topic, value) values ('north', 'schedule', '{"grid_minutes": 1, "margin_minutes": 2880}')`,
    );
    expect(
      await said(insert({ execute_at: `date_trunc('hour', now()) + interval '1 day 7 minutes'` })),
    ).toContain('less than 2880 minutes');
    expect(
      await said(insert({ execute_at: `date_trunc('hour', now()) + interval '3 days 7 minutes'` })),
    ).toBe('taken');
  });

  it.each([`'Hello'`, `'Hello {{plan}} and {{ 5 }}, {{first_name}}'`, `'a { brace } and {another}'`])(
    'takes the text %s',
    async (text) => {
      expect(await said(insert({ text }))).toBe('taken');
    },
  );

  test.each([
    [`insert into mirror.tags (team_id, id, tag) values (41, 3, 'VIP')`, 'A new tag has only team_id, tag'],
    [
      `insert into mirror.tags (team_id, tag, color) values (41, 'VIP', 'red')`,
      'A new tag has only team_id, tag',
    ],
    [`insert into mirror.tags (team_id, tag) values (41, ' ')`, 'A tag needs a name'],
    [`insert into mirror.tags (team_id, tag) values (41, repeat('x', 301))`, 'A tag needs a name'],
    [
      `insert into mirror.conversation_reads (team_id, inbox_id, user_id) values (41, 7, 1)`,
      'Either target or targets',
    ],
    [
      `insert into mirror.conversation_reads (team_id, inbox_id, user_id, target, targets) values (41, 7, 1, 'a', '{b}')`,
      'Either target or targets',
    ],
    [
      `insert into mirror.conversation_reads (team_id, inbox_id, user_id, target) values (41, 9, 1, 'a')`,
      'has no inbox 9',
    ],
    [
      `insert into mirror.conversation_reads (team_id, inbox_id, user_id, target) values (41, 7, 9, 'a')`,
      'has no user 9',
    ],
    [
      `insert into mirror.conversation_reads (team_id, inbox_id, user_id, target, answer) values (41, 7, 1, 'a', 'ok')`,
      'follow the service',
    ],
  ])('%s', async (text, words) => {
    expect(await said(text)).toContain(words);
  });

  test.each([
    ['tags', `insert into mirror.tags (team_id, tag) values (41, 'VIP')`],
    [
      'conversations',
      `insert into mirror.conversation_reads (team_id, inbox_id, user_id, target) values (41, 7, 1, 'a')`,
    ],
  ])('write.%s is off', async (what, text) => {
    await force(`update sync.teams set writes = '{}'`);
    expect(await said(text)).toContain(`write.${what} is off`);
  });

  it('a tag is neither renamed nor deleted', async () => {
    await force(`insert into mirror.tags (team_id, id, tag) values (41, 3, 'VIP')`);
    expect(await said(`update mirror.tags set tag = 'other'`)).toBe(
      'The service gives no way to rename or change a tag',
    );
    expect(await said(`update mirror.tags set color = 'red'`)).toBe(
      'The service gives no way to rename or change a tag',
    );
    expect(await said(`delete from mirror.tags`)).toBe('The service gives no way to delete a tag');
    expect(await said(`truncate mirror.tags`)).toContain('not possible');
  });

  it('a conversation that was read is not edited', async () => {
    await query(
      `insert into mirror.conversation_reads (team_id, inbox_id, user_id, target) values (41, 7, 1, 'a')`,
    );
    expect(await said(`update mirror.conversation_reads set target = 'b'`)).toContain('not possible');
    expect(await said(`delete from mirror.conversation_reads`)).toContain('not possible');
  });
});

describe('what is recorded', () => {
  const columns: Record<string, [given: Record<string, string>, wanted: unknown]> = {
    text: [{ text: `'Bye'` }, 'Bye'],
    user_id: [{ user_id: 'null' }, undefined],
    template_id: [{ template_id: '12' }, 12],
    attachments: [{ attachments: `'[{"name":"a"}]'` }, [{ name: 'a' }]],
    gallery: [{ gallery: `'[{"url":"u"}]'` }, [{ url: 'u' }]],
    is_email: [{ is_email: 'true' }, true],
    phone_number: [{ phone_number: `'15550101'` }, '15550101'],
    conversation_id: [{ conversation_id: '4', phone_number: 'null' }, 4],
    list_id: [{ list_id: '5', phone_number: 'null' }, 5],
    targets: [{ targets: `'{15550100,15550101}'`, phone_number: 'null' }, ['15550100', '15550101']],
    execute_at: [{ execute_at: `'2031-01-01T10:15:00+01'` }, '2031-01-01T09:15:00Z'],
  };
  it.each(Object.entries(columns))(
    '%s is asked for, and each change of it is an edit',
    async (column, [given, wanted]) => {
      await query(insert());
      await settle();
      await query(
        `update mirror.scheduled_messages set ${Object.entries(given).map(([name, value]) => `${name} = ${value}`)}`,
      );
      expect((await state())?.['state']).toBe('waiting');
      const [edit] = (await edits()).slice(-1);
      expect((edit?.['new_value'] as Row | undefined)?.[column]).toEqual(wanted);
      expect(edit).toMatchObject({ field: 'message', ended_how: null });
      const [{ base }] = (await query('select base from mirror.scheduled_messages')) as [{ base: Row }];
      expect(edit?.['old_value']).toEqual(base);
    },
  );

  it('a message waits, with who asked for it', async () => {
    await as('anna', insert());
    expect(await state()).toEqual({ state: 'waiting', detail: null, cancels: false, base: null });
    expect(await edits()).toEqual([
      {
        field: 'message',
        old_value: null,
        new_value: expect.objectContaining({ inbox_id: 7, user_id: 1 }),
        ended_how: null,
        authors: expect.arrayContaining(['anna']),
      },
    ]);
    expect(await query('select field, state, local_id from report.pending')).toEqual([
      { field: 'message', state: 'waiting', local_id: key },
    ]);
  });

  it('recipients are counted', async () => {
    await query(insert({ phone_number: '', targets: `'{1555,1556}'` }));
    await query(insert({ local_id: 'gen_random_uuid()', phone_number: '', list_id: '3' }));
    expect(await query('select recipients from mirror.scheduled_messages order by recipients')).toEqual([
      { recipients: 2n },
      { recipients: null },
    ]);
  });

  it('a new edit ends what was held and decided of the one before, and keeps its authors', async () => {
    await as('anna', insert());
    await hold();
    await as('ben', `update mirror.scheduled_messages set text = 'Bye'`);
    expect(await query('select from sync.held_fields')).toEqual([]);
    expect((await state())?.['state']).toBe('waiting');
    const all = await edits();
    expect(all.map((edit) => edit['ended_how'])).toEqual(['replaced', null]);
    expect(all[1]?.['authors']).toEqual(expect.arrayContaining(['anna', 'ben']));
  });

  it('of more authors than are kept, it is known that there were others', async () => {
    await as('anna', insert());
    for (let n = 0; n < 33; n += 1)
      await as(`person ${n}`, `update mirror.scheduled_messages set text = 'text ${n}'`);
    const [last] = (await edits()).slice(-1);
    expect(last?.['authors']).toEqual(expect.arrayContaining(['', 'person 32']));
    expect(last?.['authors']).toHaveLength(32);
  });

  it('what is as the service has it again is no edit', async () => {
    await query(insert());
    await settle();
    await query(`update mirror.scheduled_messages set text = 'Bye'`);
    await query(`update mirror.scheduled_messages set text = 'Hello {{Plan}}'`);
    expect((await state())?.['state']).toBe('scheduled');
    expect((await edits()).map((edit) => edit['ended_how'])).toEqual(['agreed', 'withdrawn', 'withdrawn']);
  });

  it('what is taken back while it is sent is an edit', async () => {
    await query(insert());
    await settle();
    await query(`update mirror.scheduled_messages set text = 'Bye'`);
    await open();
    await query(`update mirror.scheduled_messages set text = 'Hello {{Plan}}'`);
    expect((await edits()).at(-1)?.['ended_how']).toBeNull();
  });

  it('an update that changes nothing is none', async () => {
    await query(insert());
    await query(`update mirror.scheduled_messages set text = text, inbox_id = inbox_id`);
    expect(await edits()).toHaveLength(1);
  });

  it('what follows the service is not edited', async () => {
    await query(insert());
    for (const change of [
      `state = 'scheduled'`,
      'id = 3',
      `base = '{}'`,
      `detail = 'x'`,
      'cancels = true',
      'local_id = gen_random_uuid()',
    ])
      expect(await said(`update mirror.scheduled_messages set ${change}`)).toContain(
        'Only the columns that are to be sent',
      );
  });

  it.each(['past', 'cancelled'])('nothing is changed of a message that is %s', async (over) => {
    await query(insert());
    await force(`update mirror.scheduled_messages set state = '${over}'`);
    expect(await said(`update mirror.scheduled_messages set text = 'Bye'`)).toContain(
      `This message is ${over}`,
    );
    expect(await said('delete from mirror.scheduled_messages')).toContain(`This message is ${over} already`);
    expect(await query('select from mirror.scheduled_messages')).toHaveLength(1);
  });

  it('nothing is changed of a message whose time has come on the service', async () => {
    await query(insert());
    await settle();
    await force(
      `update mirror.scheduled_messages set base = base || '{"execute_at": "2020-01-01T00:00:00Z"}'`,
    );
    expect(await said(`update mirror.scheduled_messages set text = 'Bye'`)).toContain(
      'The time of this message has come',
    );
  });

  it('a message whose outcome nobody knows stays so, whatever is edited', async () => {
    await query(insert());
    await open();
    await force(`update mirror.scheduled_messages set state = 'unknown', detail = 'no answer'`);
    await query(`update mirror.scheduled_messages set text = 'Bye'`);
    expect((await state())?.['state']).toBe('unknown');
    await query('delete from mirror.scheduled_messages');
    expect(await state()).toMatchObject({ state: 'unknown', cancels: true, detail: 'no answer' });
  });

  it('tags have one form', async () => {
    const [row] = await query(
      `insert into mirror.tags (team_id, tag) values (41, '  Cafe\u0301   au lait ') returning id, tag, local_id`,
    );
    expect(row).toEqual({ id: null, tag: 'Caf\u00e9 au lait', local_id: expect.any(String) });
    expect(await query('select from report.tags')).toEqual([]);
    expect(await query('select field, wanted from sync.requests')).toEqual([
      { field: 'tag', wanted: { tag: 'Caf\u00e9 au lait' } },
    ]);
  });

  it('a conversation that was read waits', async () => {
    await query(
      `insert into mirror.conversation_reads (team_id, inbox_id, user_id, targets, reassign_id) values (41, 7, 1, '{a,b}', 2)`,
    );
    expect(await query('select field, wanted from sync.requests')).toEqual([
      {
        field: 'conversation_read',
        wanted: { inbox_id: 7, user_id: 1, targets: ['a', 'b'], reassign_id: 2 },
      },
    ]);
  });
});

describe('what is taken back', () => {
  it('a tag that waits is deleted, and its edit ends', async () => {
    await query(`insert into mirror.tags (team_id, tag) values (41, 'VIP')`);
    await hold();
    await query('delete from mirror.tags');
    expect(await query('select from mirror.tags')).toEqual([]);
    expect((await edits()).map((edit) => edit['ended_how'])).toEqual(['withdrawn']);
    expect(await query('select from sync.held_fields')).toEqual([]);
  });

  it('a tag that is being sent is not', async () => {
    await query(`insert into mirror.tags (team_id, tag) values (41, 'VIP')`);
    await open();
    expect(await said('delete from mirror.tags')).toContain('no way to delete');
  });

  it('a message that nobody has sent is over at once', async () => {
    await query(insert());
    await hold();
    expect(await query('delete from mirror.scheduled_messages returning local_id')).toEqual([
      { local_id: key },
    ]);
    expect(await state()).toEqual({
      state: 'cancelled',
      detail: 'it was taken back before it was sent',
      cancels: true,
      base: null,
    });
    expect(await query('select from sync.held_fields')).toEqual([]);
    expect((await edits()).map((edit) => edit['ended_how'])).toEqual(['withdrawn', 'withdrawn']);
    expect(await query('select from sync.requests')).toEqual([]);
  });

  it('of one that the service has, the cancel is an edit; nothing else is lost of the row', async () => {
    await query(
      insert({
        template_id: '12',
        attachments: `'[{"name":"a"}]'`,
        gallery: `'[{"url":"u"}]'`,
        is_email: 'true',
      }),
    );
    await settle();
    const [before] = await query('select * from mirror.scheduled_messages');
    await query('delete from mirror.scheduled_messages');
    const [after] = await query('select * from mirror.scheduled_messages');
    expect(after).toEqual({ ...before, cancels: true, state: 'waiting', edited_at: expect.any(Date) });
    expect((await edits()).at(-1)).toMatchObject({
      new_value: null,
      old_value: before?.['base'],
      ended_how: null,
    });
    expect(await query('select wanted from sync.requests')).toEqual([{ wanted: null }]);
  });

  it('a cancel needs no setting: it keeps something from being sent', async () => {
    await query(insert());
    await settle();
    await force(`update sync.teams set writes = '{}'`);
    await query('delete from mirror.scheduled_messages');
    expect(await state()).toMatchObject({ state: 'waiting', cancels: true });
  });

  it('one that is being sent is cancelled after it', async () => {
    await query(insert());
    await open();
    await query('delete from mirror.scheduled_messages');
    expect(await state()).toMatchObject({ state: 'waiting', cancels: true });
    expect((await edits()).at(-1)?.['ended_how']).toBeNull();
  });
});

describe('what is decided', () => {
  const approve = (who: string) =>
    as(who, `select user_id, field, outcome from sync.approve('abc123abc123')`);

  it('a message is approved by whoever did not write it', async () => {
    await as('anna', insert());
    await hold();
    await expect(approve('anna')).rejects.toThrow('anna wrote what is to be approved, or may have');
    expect(await approve('ben')).toEqual([{ user_id: null, field: 'message', outcome: 'approved' }]);
    expect((await state())?.['state']).toBe('waiting');
    expect(await query('select decision from sync.held_fields')).toEqual([{ decision: 'approved' }]);
    expect(await query(`select kind, local_id, decided_by, edits, new from sync.changes`)).toEqual([
      {
        kind: 'approve',
        local_id: key,
        decided_by: 'ben',
        edits: { message: expect.any(Number) },
        new: { message: expect.objectContaining({ inbox_id: 7 }) },
      },
    ]);
    expect(await query('select field from report.held')).toEqual([]);
  });

  it('whoever edited it before counts as its author', async () => {
    await as('anna', insert());
    await as('ben', `update mirror.scheduled_messages set text = 'Bye'`);
    await hold();
    await expect(approve('anna')).rejects.toThrow('anna wrote');
    expect(await approve('carl')).toMatchObject([{ outcome: 'approved' }]);
  });

  it('unattended, four eyes are asked for where users ask for them', async () => {
    await force(`update sync.teams set writes = writes || '{"schedule": "unattended"}'`);
    await as('anna', insert());
    await hold('limit');
    expect(await approve('anna')).toMatchObject([{ outcome: 'approved' }]);
  });

  it('a tag is approved by anybody, unless the settings ask for four eyes', async () => {
    await as('anna', `insert into mirror.tags (team_id, tag) values (41, 'VIP')`);
    await hold();
    await force('update sync.teams set four_eyes = true');
    await expect(approve('anna')).rejects.toThrow('anna wrote');
    await force('update sync.teams set four_eyes = false');
    expect(await approve('anna')).toMatchObject([{ field: 'tag', outcome: 'approved' }]);
  });

  it('nothing is decided of what has moved, is being sent, or was rejected', async () => {
    await as('anna', insert());
    await hold();
    await force(`update mirror.scheduled_messages set text = 'past the triggers'`);
    expect(await approve('ben')).toMatchObject([{ outcome: 'moved' }]);
    await force(`update mirror.scheduled_messages set text = 'Hello {{Plan}}'`);
    await open();
    expect(await approve('ben')).toMatchObject([{ outcome: 'on its way' }]);
    await force(`delete from sync.changes`);
    await as('ben', `select * from sync.reject('abc123abc123', reason => 'no')`);
    await expect(approve('ben')).rejects.toThrow('Nothing is held in a batch');
    expect(await query('select reason, decided_by, local_id from report.held')).toEqual([
      { reason: 'rejected', decided_by: 'ben', local_id: key },
    ]);
  });

  it('nothing is decided of an edit that was seen and is another one by now', async () => {
    await as('anna', insert());
    await hold();
    const seen = `(select jsonb_agg(jsonb_build_object('local_id', h.local_id, 'field', h.field, 'edit_id', h.edit_id - 1,
      'base', h.base_value, 'mirror', h.mirror_value)) from sync.held_fields h)`;
    expect(
      await as(
        'ben',
        `select outcome from sync.decide_requests('approve', 41, ${seen}, '', 'abc123abc123', false, 5)`,
      ),
    ).toEqual([{ outcome: 'moved' }]);
    expect(await query('select decision from sync.held_fields')).toEqual([{ decision: null }]);
  });

  it.each([
    [
      'a message that nobody has sent',
      insert(),
      'select state, detail from mirror.scheduled_messages',
      [{ state: 'cancelled', detail: 'it was rejected' }],
    ],
    ['a tag', `insert into mirror.tags (team_id, tag) values (41, 'VIP')`, 'select from mirror.tags', []],
    [
      'a conversation',
      `insert into mirror.conversation_reads (team_id, inbox_id, user_id, target) values (41, 7, 1, 'a')`,
      'select from mirror.conversation_reads',
      [],
    ],
  ])('%s is not asked for any more once it was rejected and given back', async (_, text, after, rows) => {
    await query(text);
    await hold();
    await as('ben', `select * from sync.reject('abc123abc123', revert => true)`);
    expect(await query(after)).toEqual(rows);
    expect(await query('select from sync.held_fields')).toEqual([]);
    expect((await edits()).map((edit) => edit['ended_how'])).toEqual(['withdrawn']);
    expect(await query('select outcome from sync.changes')).toEqual([
      { outcome: expect.objectContaining({}) },
    ]);
  });

  it('a message that is given back is as the service has it, in each column', async () => {
    await query(
      insert({
        template_id: '12',
        attachments: `'[{"name":"a"}]'`,
        gallery: `'[{"url":"u"}]'`,
        is_email: 'true',
      }),
    );
    await settle();
    const [before] = await query('select *, null as edited_at from mirror.scheduled_messages');
    await query(`update mirror.scheduled_messages set text = 'Bye', user_id = null, template_id = 13, attachments = null, gallery = null,
      is_email = false, phone_number = null, targets = '{1555}', execute_at = execute_at + interval '1 hour'`);
    await hold();
    await as('ben', `select * from sync.reject('abc123abc123', revert => true)`);
    expect((await query('select *, null as edited_at from mirror.scheduled_messages'))[0]).toEqual(before);
  });

  it('a decision is taken back as long as nothing has become of it', async () => {
    await as('anna', insert());
    await hold();
    await approve('ben');
    const [{ decision_id: number }] = (await query('select decision_id from sync.changes')) as [
      { decision_id: bigint },
    ];
    expect(await query(`select outcome from sync.undecide(${number}, only_shown => true)`)).toEqual([
      { outcome: 'undecided' },
    ]);
    expect(await query(`select field, outcome from sync.undecide(${number}, 'a mistake')`)).toEqual([
      { field: 'message', outcome: 'undecided' },
    ]);
    expect(await query('select decision, batch from sync.held_fields')).toEqual([
      { decision: null, batch: 'abc123abc123' },
    ]);
    expect(
      (await query('select kind from sync.changes order by change_id')).map((row) => row['kind']),
    ).toEqual(['approve', 'undo']);
  });

  it('a decision is not taken back once there was another one', async () => {
    await as('anna', insert());
    await hold();
    await approve('ben');
    const number = async () =>
      (await query('select max(decision_id) as number from sync.changes'))[0]?.['number'] as bigint;
    const first = await number();
    await query(`select from sync.undecide(${first})`);
    await approve('carl');
    expect(await query(`select outcome from sync.undecide(${first})`)).toEqual([{ outcome: 'moved' }]);
    expect(await query('select decision from sync.held_fields')).toEqual([{ decision: 'approved' }]);
    expect(await query(`select outcome from sync.undecide(${await number()})`)).toEqual([
      { outcome: 'undecided' },
    ]);
  });
});

describe('a mirror that has moved, as after a backup was restored', () => {
  const place = (kind: string, database: string) =>
    `'{"kind": "${kind}", "database": "${database}", "identifier": "1"}'::jsonb`;
  const move = async (from: string, to: string) => {
    await force(`insert into sync.learned (team, topic, value) values ('', 'place', ${from})`);
    expect(
      await query(`select sync.keep_place(${from}, ${to}, '{"from": "a", "to": "b", "why": "c"}') as kept`),
    ).toEqual([{ kept: true }]);
  };
  const holds = () =>
    query(
      'select local_id, reason, decision, detail, batch, base_value, mirror_value, edit_id from sync.held_fields',
    );
  const words = 'this mirror has moved: it may have been sent from its place before';

  it.each([
    ['home', '1'],
    ['copy', '2'],
  ])('sends no message under what was decided before (%s %s)', async (kind, database) => {
    await as('anna', insert());
    await hold();
    await as('ben', `select * from sync.approve('abc123abc123')`);
    await move(place(kind, database), place('home', '2'));
    expect(await state()).toMatchObject({ state: 'held', detail: words });
    expect(await holds()).toMatchObject([{ reason: 'review', decision: null, detail: words }]);
  });

  it('holds what would have gone unattended, and leaves alone what is no message, is cancelled or was rejected', async () => {
    await query(insert());
    await query(`insert into mirror.tags (team_id, tag) values (41, 'VIP')`);
    await move(place('home', '1'), place('home', '2'));
    const [edit] = await query(`select edit_id, new_value from sync.edits where field = 'message'`);
    expect(await holds()).toEqual([
      {
        local_id: key,
        reason: 'review',
        decision: null,
        detail: words,
        batch: expect.stringMatching(/^[0-9a-f]{12}$/),
        base_value: null,
        mirror_value: edit?.['new_value'],
        edit_id: edit?.['edit_id'],
      },
    ]);
    await force(`update sync.held_fields set decision = 'rejected', detail = 'no'; delete from sync.learned`);
    await move(place('home', '2'), place('home', '3'));
    expect(await holds()).toMatchObject([{ decision: 'rejected', detail: 'no' }]);
    await settle();
    await query('delete from mirror.scheduled_messages');
    await force('delete from sync.held_fields; delete from sync.learned');
    await move(place('home', '3'), place('home', '4'));
    expect(await holds()).toEqual([]);
  });

  it.each([
    ['home', '1'],
    ['copy', '2'],
  ])('holds nothing at the same place, nor in a copy (%s %s)', async (kind, database) => {
    await query(insert());
    await move(place('home', '1'), place(kind, database));
    expect(await holds()).toEqual([]);
  });
});

describe('what a person finds out about a message of which no answer came', () => {
  const unknown = async (changes?: Parameters<typeof insert>[0]) => {
    await query(`insert into sync.due (team, run_group, mark) values ('north', 'edits', pg_current_snapshot())
      on conflict (team, run_group) do update set mark = excluded.mark`);
    await as('anna', insert(changes));
    await hold();
    await open();
    await force(`update sync.held_fields set decision = 'spent', since = '2020-01-01', run_id = null;
      update mirror.scheduled_messages set state = 'unknown', detail = 'no answer'`);
  };
  const resolve = (id: string, who = 'ben', reason = `'I looked'`) =>
    as(who, `select sync.resolve_message(41, '${key}', ${id}, ${reason}) as state`);
  const message = async () =>
    (
      await query(`select *, sync.wanted('message', to_jsonb(m)) as wanted from mirror.scheduled_messages m`)
    )[0] as Row;
  const pushes = () =>
    query(
      `select state, outcome, closed_at is not null as is_closed from sync.changes where kind = 'push' order by change_id`,
    );
  const decided = () =>
    query(`select local_id, user_id, base, old, new, edits, outcome, state, decided_by, decided_why, batch, decision_id is not null as is_numbered
      from sync.changes where kind = 'resolve'`);
  const holds = () =>
    query('select reason, base_value, mirror_value, detail, batch, decision, edit_id from sync.held_fields');
  const lasting = async () =>
    (await query('select edit_id, new_value from sync.edits where ended_at is null'))[0] as Row | undefined;

  it('it was sent: the row has its id and what was sent, and nothing else of it changes', async () => {
    await unknown({ template_id: '12', attachments: `'[{"name":"a"}]'`, gallery: `'[]'`, is_email: 'true' });
    const before = await message();
    const edit = await lasting();
    expect(await resolve('900')).toEqual([{ state: 'scheduled' }]);
    expect(await message()).toEqual({
      ...before,
      id: 900n,
      base: before['wanted'],
      state: 'scheduled',
      detail: null,
    });
    expect((await edits()).map((one) => one['ended_how'])).toEqual(['agreed']);
    expect(await holds()).toEqual([]);
    expect(await pushes()).toEqual([{ state: 'closed', outcome: { message: 'confirmed' }, is_closed: true }]);
    expect(await decided()).toEqual([
      {
        local_id: key,
        user_id: null,
        base: { message: null },
        old: { message: null },
        new: { message: before['wanted'] },
        edits: { message: Number(edit?.['edit_id']) },
        outcome: { message: 'confirmed' },
        state: 'closed',
        decided_by: 'ben',
        decided_why: 'I looked',
        batch: null,
        is_numbered: true,
      },
    ]);
  });

  it.each([
    ['replaced', `update mirror.scheduled_messages set text = 'Bye'`, false],
    ['cancelled', 'delete from mirror.scheduled_messages', true],
  ])('it was sent, and is to be %s: that waits on', async (_, edited, cancels) => {
    await unknown();
    const sent = (await message())['wanted'];
    await as('carl', edited);
    const edit = await lasting();
    expect(await resolve('900')).toEqual([{ state: 'waiting' }]);
    expect(await message()).toMatchObject({ id: 900n, base: sent, state: 'waiting', cancels });
    expect(await lasting()).toEqual(edit);
    expect(await decided()).toMatchObject([{ new: { message: sent } }]);
    expect(await query('select base, wanted from sync.requests')).toEqual([
      { base: sent, wanted: edit?.['new_value'] },
    ]);
  });

  it('it was not sent: it waits for another approval', async () => {
    await unknown();
    const before = await message();
    const edit = await lasting();
    expect(await resolve('null', 'ben', 'null')).toEqual([{ state: 'held' }]);
    const words = 'a person found that it was not sent';
    expect(await message()).toEqual({ ...before, state: 'held', detail: words });
    expect(await holds()).toEqual([
      {
        reason: 'review',
        base_value: null,
        mirror_value: before['wanted'],
        detail: words,
        batch: expect.stringMatching(/^[0-9a-f]{12}$/),
        decision: null,
        edit_id: edit?.['edit_id'],
      },
    ]);
    expect(await query(`select from sync.held_fields where since > '2020-01-02'`)).toHaveLength(1);
    expect(await pushes()).toEqual([{ state: 'closed', outcome: { message: 'unsent' }, is_closed: true }]);
    expect(await decided()).toMatchObject([{ outcome: { message: 'unsent' }, decided_why: '' }]);
    expect(await lasting()).toEqual(edit);
    const [{ batch }] = (await holds()) as [{ batch: string }];
    expect(batch).not.toBe('abc123abc123');
    expect(await query(`select mark from sync.due where run_group = 'edits'`)).toEqual([{ mark: null }]);
    await expect(as('anna', `select * from sync.approve('${batch}')`)).rejects.toThrow('anna wrote');
    expect(await as('ben', `select outcome from sync.approve('${batch}')`)).toEqual([
      { outcome: 'approved' },
    ]);
  });

  it('it was not sent, and was edited since: what it is now waits for an approval', async () => {
    await unknown();
    await query(`update mirror.scheduled_messages set text = 'Bye'`);
    const edit = await lasting();
    expect(await resolve('null')).toEqual([{ state: 'held' }]);
    expect(await holds()).toMatchObject([
      {
        reason: 'review',
        mirror_value: edit?.['new_value'],
        batch: expect.stringMatching(/^[0-9a-f]{12}$/),
        edit_id: edit?.['edit_id'],
      },
    ]);
  });

  it('it was not sent, and is to be cancelled: it is', async () => {
    await unknown();
    await query('delete from mirror.scheduled_messages');
    expect(await resolve('null')).toEqual([{ state: 'cancelled' }]);
    expect(await state()).toMatchObject({
      state: 'cancelled',
      cancels: true,
      detail: 'a person found that it was not sent',
    });
    expect((await edits()).at(-1)?.['ended_how']).toBe('withdrawn');
    expect(await holds()).toEqual([]);
    expect(await query('select from sync.requests')).toEqual([]);
  });

  it('nothing else is resolved', async () => {
    expect(await said(`select sync.resolve_message(41, '${key}', 900, null)`)).toBe(
      `There is no message ${key} of team 41`,
    );
    await query(insert());
    await open();
    expect(await said(`select sync.resolve_message(41, '${key}', 900, null)`)).toBe(
      'This message is waiting: there is nothing to resolve',
    );
    await force(`update mirror.scheduled_messages set state = 'unknown'`);
    await query(insert({ local_id: 'gen_random_uuid()' }));
    await force(`update mirror.scheduled_messages set id = 900 where local_id <> '${key}'`);
    expect(await said(`select sync.resolve_message(41, '${key}', 900, null)`)).toBe(
      'Another message has the id 900',
    );
    expect(await decided()).toEqual([]);
    expect(await pushes()).toMatchObject([{ state: 'open' }]);
  });

  it('approvers alone may', async () => {
    const may = async (role: string) =>
      (
        await query(
          `select has_function_privilege('${role}', 'sync.resolve_message(bigint,uuid,bigint,text)', 'execute') as may`,
        )
      )[0]?.['may'];
    expect(await may('musterd_approver')).toBe(true);
    for (const role of ['musterd_reader', 'musterd_editor', 'musterd_messenger'])
      expect(await may(role)).toBe(false);
  });
});

describe('sync.settled()', () => {
  const settled = () =>
    query(
      `select field, state, detail, local_id, id from sync.settled(timeout => '0 s', xid => (select max(xid::text)::xid8 from sync.edits))`,
    );

  it('tells what became of a message, with its id', async () => {
    await query(insert());
    expect(await settled()).toMatchObject([{ field: 'message', state: 'waiting', local_id: key, id: null }]);
    await hold();
    expect(await settled()).toMatchObject([{ state: 'held', detail: 'review (batch abc123abc123)' }]);
    await settle();
    await force('delete from sync.held_fields');
    expect(await settled()).toMatchObject([{ state: 'confirmed', id: 900n }]);
  });

  it('tells the id of a tag', async () => {
    await query(`insert into mirror.tags (team_id, tag) values (41, 'VIP')`);
    await force(
      `update mirror.tags set id = 77; update sync.edits set ended_at = now(), ended_how = 'agreed'`,
    );
    expect(await settled()).toMatchObject([{ field: 'tag', state: 'confirmed', id: 77n }]);
  });
});

it('a role that does not see a team learns nothing of it', async () => {
  await query(insert());
  await query(`create role outsider; grant musterd_messenger, musterd_approver to outsider; insert into mirror.team_roles (role_name, team_id) values ('outsider', 42);
    delete from mirror.team_roles where role_name = 'public'`);
  try {
    const words = await said(`set session authorization outsider; ${insert()}`);
    expect(words).toBe('No run has seen team 41 yet');
    expect(await said(`set session authorization outsider; ${insert({ inbox_id: '9' })}`)).toBe(words);
    expect(
      await said(`set session authorization outsider; select sync.resolve_message(41, '${key}', null, null)`),
    ).toBe(`There is no message ${key} of team 41`);
    const terms = await query('reset session authorization; select team_id from mirror.message_terms()');
    await query('set session authorization outsider');
    expect([terms, await query('select team_id from mirror.message_terms()')]).toEqual([
      [{ team_id: 41n }],
      [],
    ]);
  } finally {
    await query('reset session authorization');
    await query(`insert into mirror.team_roles (role_name, all_teams) values ('public', true); delete from mirror.team_roles where role_name = 'outsider';
      drop role outsider`);
  }
});

it('who may do what', async () => {
  const rights = async (role: string) =>
    (
      await query(`select t.name, string_agg(p.name, ' ' order by p.name) as may
      from unnest(array['tags', 'scheduled_messages', 'conversation_reads']) t (name)
      cross join unnest(array['select', 'insert', 'update', 'delete']) p (name)
      where case p.name when 'delete' then has_table_privilege('${role}', 'mirror.' || t.name, p.name)
        else has_any_column_privilege('${role}', 'mirror.' || t.name, p.name) end group by 1 order by 1`)
    ).map((row) => Object.values(row));
  expect(await rights('musterd_messenger')).toEqual([
    ['conversation_reads', 'insert select'],
    ['scheduled_messages', 'delete insert select update'],
    ['tags', 'insert select update'],
  ]);
  for (const role of ['musterd_reader', 'musterd_editor', 'musterd_role_editor', 'musterd_approver'])
    expect(await rights(role)).toEqual([
      ['conversation_reads', 'select'],
      ['scheduled_messages', 'select'],
      ['tags', 'select'],
    ]);
});
