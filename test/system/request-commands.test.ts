import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { temporaryFolder } from '../support/checkout.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { runMusterd } from './run-musterd.ts';

interface Shown {
  readonly local_id: string;
  readonly state: string;
  readonly [column: string]: unknown;
}

/** What people ask for with commands, and what those say of it; no run is needed for that. */
describe('commands that ask for tags, messages and read conversations', () => {
  const folder = temporaryFolder();
  let database: TestDatabase;
  const sql = async (text: string) => (await runSqlText(database.db, text)).rows;
  const force = (text: string) => sql(`begin; set local musterd.writing = 'on'; ${text}; commit`);
  beforeAll(async () => {
    database = await createTestDatabase();
    await sql(`insert into sync.teams (team, team_id) values ('default', 41)`);
    await force(`insert into mirror.teams (team_id, name) values (41, 'North');
      insert into mirror.inboxes (team_id, id, name, phones, members) values (41, 7, 'Front desk', '["15550001"]', '[1]'), (41, 8, 'Twice', null, '[]'), (41, 9, 'twice', null, '[]');
      insert into mirror.surveys (team_id, id, name, type, question) values (41, 3, 'After', 'stars', 'How was it?');
      insert into mirror.contact_fields (team_id, id, title) values (41, 5, 'Plan');
      insert into mirror.users (team_id, id, name, email, resolved) values (41, 1, 'Anne Berg', 'anne@example.com', true), (41, 2, 'Eva Dahl', 'eva@example.com', true)`);
  });
  afterAll(async () => {
    await database.close();
    folder[Symbol.dispose]();
  });
  beforeEach(() =>
    force(`delete from mirror.scheduled_messages; delete from mirror.tags; delete from mirror.conversation_reads;
      truncate sync.edits, sync.held_fields; delete from sync.changes;
      update sync.teams set writes = '{"tags": true, "schedule": true, "conversations": true, "timezone": "Europe/Berlin"}'`),
  );

  const withSettings = (settings: Readonly<Record<string, string>>, ...args: readonly string[]) =>
    runMusterd(args, {
      DATABASE_URL: database.url,
      MUSTERD_BASE_URL: 'https://service.example.net',
      MUSTERD_SECRET_ID: 'me',
      MUSTERD_SECRET_KEY: 'my-own-secret-key',
      MUSTERD_ACTOR: 'anna',
      MUSTERD__write__tags: 'true',
      MUSTERD__write__schedule: 'true',
      MUSTERD__write__conversations: 'true',
      MUSTERD__write__timezone: 'Europe/Berlin',
      ...settings,
    });
  const musterd = (...args: readonly string[]) => withSettings({}, ...args);
  const json = async (...args: readonly string[]) => {
    const { code, stdout, stderr } = await musterd(...args, '--json');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return (JSON.parse(stdout) as { readonly requests: readonly Shown[] }).requests;
  };
  /** As a run would hold it. */
  const hold = () =>
    force(`insert into sync.held_fields (team_id, local_id, field, reason, base_value, mirror_value, batch, edit_id)
      select r.team_id, r.local_id, r.field, 'review', r.base, r.wanted, 'abc123abc123', e.edit_id
      from sync.requests r join sync.edits e on e.local_id = r.local_id and e.ended_at is null;
      update mirror.scheduled_messages set state = 'held'`);
  const unknown = () =>
    force(`insert into sync.changes (team_id, local_id, kind, state, new, edits)
      select team_id, local_id, 'push', 'open', jsonb_build_object(field, new_value), jsonb_build_object(field, edit_id)
      from sync.edits where ended_at is null;
      update mirror.scheduled_messages set state = 'unknown'`);
  const message = ['--inbox', 'front DESK', '--user', 'anne@example.com', '--at', '2031-12-01 09:15'];
  const create = async (...more: readonly string[]): Promise<Shown> => {
    const [created] = await json('schedule', 'create', ...message, ...more);
    return created as Shown;
  };
  const row = async () =>
    (
      await sql(
        `select to_jsonb(m) - '{created_at,edited_at,local_id,raw}'::text[] from mirror.scheduled_messages m`,
      )
    )[0]?.[0];

  it('creates a message with every column', async () => {
    const text = join(folder.path, 'text.txt');
    writeFileSync(text, 'Hello {{Plan}},\nsee you\n');
    const image = '{"name":"a.png","type":"image/png","url":"https://x.example/a"}';
    const created = await create(
      '--to',
      '15550100,15550101',
      '--to',
      '15550102',
      '--text-file',
      text,
      '--template',
      '12',
      '--attachment',
      image,
      '--gallery',
      '[{"url":"https://x.example/b"}]',
      '--is-email',
      'true',
    );
    expect(await row()).toMatchObject({
      team_id: 41,
      inbox_id: 7,
      user_id: 1,
      text: 'Hello {{Plan}},\nsee you',
      template_id: 12,
      attachments: [JSON.parse(image)],
      gallery: [{ url: 'https://x.example/b' }],
      is_email: true,
      targets: ['15550100', '15550101', '15550102'],
      phone_number: null,
      execute_at: '2031-12-01T08:15:00+00:00',
      state: 'waiting',
      recipients: 3,
    });
    expect(created).toMatchObject({
      field: 'message',
      state: 'waiting',
      local_time: '2031-12-01 09:15',
      timezone: 'Europe/Berlin',
      inbox: 'Front desk',
      sender: 'Anne Berg',
      recipients: 3,
      target_kind: 'numbers',
      edited_by: 'anna',
    });
    expect(await sql(`select actor, authors @> '{anna}' from sync.edits`)).toEqual([['anna', true]]);
  });

  it.each([
    [['--list', '5'], { list_id: 5 }],
    [['--conversation', '6'], { conversation_id: 6 }],
    [['--phone', '15550100'], { phone_number: '15550100' }],
  ])('%j says who gets it, and takes the place of whoever got it before', async (given, columns) => {
    const { local_id: id } = await create('--to', '15550109', '--text', 'Hello');
    await json('schedule', 'update', id, ...given);
    const nobody = { list_id: null, conversation_id: null, phone_number: null, targets: null };
    expect(await row()).toMatchObject({ ...nobody, ...columns, text: 'Hello' });
  });

  it('changes what is given, and clears with nothing', async () => {
    const { local_id: id } = await create('--phone', '15550100', '--text', 'Hello', '--template', '12');
    await json('schedule', 'update', id, '--template', '', '--user', '', '--at', '2031-12-01T09:30:00+05:45');
    expect(await row()).toMatchObject({
      template_id: null,
      user_id: null,
      text: 'Hello',
      execute_at: '2031-12-01T03:45:00+00:00',
    });
  });

  it.each([
    ['2031-03-30 02:30', 'In Europe/Berlin it is 2031-03-30 02:30 never: clocks change'],
    ['2031-10-26 02:30', 'In Europe/Berlin it is 2031-10-26 02:30 twice: clocks change'],
    ['tomorrow', '--at "tomorrow" is not a time'],
    ['2031-02-30 09:15', '--at "2031-02-30 09:15" is not a time'],
    ['2031-12-01', '--at "2031-12-01" is not a time'],
    ['2031-12-01 09:20', 'execute_at is not on a full 15 minutes'],
    ['2020-12-01 09:15', 'execute_at is less than 15 minutes ahead'],
  ])('%s is not when a message can be sent', async (at, words) => {
    const { code, stderr } = await musterd(
      'schedule',
      'create',
      '--inbox',
      '7',
      '--phone',
      '15550100',
      '--text',
      'Hi',
      '--at',
      at,
    );
    expect({ code, words: stderr.split('\n')[0] }).toEqual({ code: 64, words: `musterd: ${words}` });
    expect(await sql('select from mirror.scheduled_messages')).toEqual([]);
  });

  it('says which of two moments it could be', async () => {
    const { stderr } = await musterd('schedule', 'create', '--at', '2031-10-26 02:30');
    expect(stderr).toContain('Say which: 2031-10-26T00:30:00.000Z or 2031-10-26T01:30:00.000Z.');
  });

  it.each([
    [
      ['schedule', 'create', ...message, '--phone', 'call me', '--text', 'x'],
      'is not a phone number',
      'Write the country code',
    ],
    [
      ['schedule', 'create', ...message, '--phone', '15550100', '--text', '{{Colour}}'],
      'No contact field is called "Colour"',
      'mirror.contact_fields',
    ],
    [['schedule', 'create', '--inbox', 'back office'], 'No inbox is called "back office"', 'musterd inboxes'],
    [['schedule', 'create', '--inbox', 'Twice'], 'More than one inbox is called "Twice"', 'musterd inboxes'],
    [['schedule', 'create', '--user', 'nobody@example.com'], 'No user matches', 'Give an id'],
    [['schedule', 'create', '--template', 'x'], '--template "x" is not an id of the service', ''],
    [['schedule', 'create', '--list', 'all'], '--list "all" is not an id of the service', ''],
    [
      ['schedule', 'create', '--conversation', '9223372036854775808'],
      '--conversation "9223372036854775808" is not an id of the service',
      '',
    ],
    [['schedule', 'create', '--is-email', 'maybe'], '--is-email is true or false', ''],
    [['schedule', 'create'], '--inbox and --at', ''],
    [['schedule', 'create', '--inbox', '7', '--phone', '15550100', '--text', 'Hi'], '--inbox and --at', ''],
    [['schedule', 'create', '--at', '2031-12-01 09:15', '--text', 'Hi'], '--inbox and --at', ''],
    [['schedule', 'update', 'x', '--text', 'Hi'], 'There is no such message', 'musterd schedule list'],
    [['schedule', 'create', '--text', 'a', '--text-file', 'b'], 'Give either --text or --text-file', ''],
    [['schedule', 'create', '--gallery', '{'], '--gallery is not JSON', 'Write it as'],
    [['schedule', 'update', '7c9e6679-7425-40de-944b-e07fc1f90ae7'], 'Say what is to change', '--text'],
    [
      ['schedule', 'update', '7c9e6679-7425-40de-944b-e07fc1f90ae7', '--text', 'x'],
      'There is no such message',
      'musterd schedule list',
    ],
    [['schedule', 'cancel', 'x'], 'There is no such message', 'musterd schedule list'],
    [['schedule', 'resolve', 'x', '--was-not-sent'], 'There is no such message', 'musterd schedule list'],
    [['schedule', 'show', 'x'], 'There is no message, tag or conversation "x"', 'musterd schedule list'],
    [['schedule', 'resolve', 'x'], '--is <id>, or --was-not-sent', ''],
    [['schedule', 'resolve', 'x', '--is', '1', '--was-not-sent'], '--is <id>, or --was-not-sent', ''],
    [['schedule', 'resolve', 'x', '--is', 'y'], '"y" is not an id', ''],
    [['conversations', 'read', '--inbox', '7'], '--inbox and --user', ''],
    [['conversations', 'read', '--inbox', '7', '--user', '1'], 'Either target or targets', ''],
    [['tag', 'create', ' '], 'A tag needs a name', ''],
    [
      ['why', '7c9e6679-7425-40de-944b-e07fc1f90ae7'],
      'There is no message, tag or conversation',
      'musterd schedule list',
    ],
  ])('%j is wrong', async (args, words, hint) => {
    const { code, stderr } = await musterd(...args);
    expect(code).toBe(64);
    expect(stderr).toContain(words);
    expect(stderr).toContain(hint);
  });

  it('is refused where the settings do not allow it', async () => {
    await force(`update sync.teams set writes = '{}'`);
    const { code, stderr } = await withSettings({ MUSTERD__write__tags: 'false' }, 'tag', 'create', 'VIP');
    expect(code).toBe(64);
    expect(stderr).toContain('write.tags is off');
    expect(stderr).toContain('MUSTERD__write__tags');
  });

  it('says what happens next, and with --wait who has to decide', async () => {
    const { stdout, stderr, code } = await musterd(
      'schedule',
      'create',
      ...message,
      '--phone',
      '15550100',
      '--text',
      'Hi\n\u001b[31m',
    );
    expect(code).toBe(0);
    expect(stdout).toContain('\tFront desk\tAnne Berg\t15550100\t');
    expect(stdout).toContain('2031-12-01 09:15 Europe/Berlin');
    expect(stdout).not.toContain('\u001b');
    expect(stderr).toContain('The next run holds it until somebody else approves it');
    const waiting = musterd('tag', 'create', 'VIP', 'Moved', '--wait', '60');
    await eventually('both are asked for', async () => (await sql('select from mirror.tags')).length === 2);
    await force(`insert into sync.held_fields (team_id, local_id, field, reason, batch, edit_id)
      select e.team_id, e.local_id, e.field, 'limit', 'dddddddddddd', e.edit_id from sync.edits e where e.field = 'tag'`);
    const held = await waiting;
    expect(held.code).toBe(3);
    expect(held.stderr).toBe('Waits for an approval: musterd approve dddddddddddd --reason …\n');
  });

  it('says that a tag which an earlier request has made is there already', async () => {
    const waiting = musterd('tag', 'create', 'VIP', '--wait', '60');
    await eventually('it is asked for', async () => (await sql('select from mirror.tags')).length === 1);
    await force(
      `update sync.edits set ended_at = now(), ended_how = 'agreed' where field = 'tag'; delete from mirror.tags`,
    );
    expect(await waiting).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'It is there already: an earlier request has made it.\n',
    });
  });

  it('lists, shows, explains and cancels', async () => {
    const { local_id: id } = await create('--phone', '15550100', '--text', 'Hello');
    await hold();
    const { stdout: status } = await musterd('status');
    expect(status).toMatch(
      /^held in a batch {3}1 request waits .*; musterd approve abc123abc123 --reason …\nnames/m,
    );
    const [listed] = await json('schedule', 'list');
    expect(listed).toMatchObject({
      local_id: id,
      state: 'held',
      reason: 'review',
      batch: 'abc123abc123',
      text: 'Hello',
    });
    const shown = await musterd('schedule', 'show', id);
    expect(shown.stdout).toMatch(
      /^create {12}\S+\nstate {13}held, review\ndue {15}2031-12-01 09:15 Europe\/Berlin\n/,
    );
    expect(shown.stdout).toMatch(/next .*musterd approve abc123abc123 --reason …\n$/);
    expect((await musterd('why', id)).stdout).toBe(shown.stdout);
    expect(await json('schedule', 'cancel', id)).toMatchObject([{ state: 'cancelled', cancels: true }]);
    expect(await json('schedule', 'list')).toEqual([]);
    expect(await json('schedule', 'list', '--all')).toMatchObject([{ state: 'cancelled' }]);
    const { code, stderr } = await musterd('schedule', 'cancel', id);
    expect({ code, stderr }).toMatchObject({
      code: 64,
      stderr: expect.stringContaining('This message is cancelled already'),
    });
  });

  it.each([
    [['--is', '900'], { state: 'scheduled', id: 900 }],
    [['--was-not-sent', '--reason', 'not in the app'], { state: 'held', id: null }],
  ])('resolves with %j', async (found, after) => {
    const { local_id: id } = await create('--phone', '15550100', '--text', 'Hello');
    await unknown();
    const { stdout } = await musterd('schedule', 'list');
    expect(stdout).toContain(`musterd schedule resolve ${id} --is <id>, or --was-not-sent`);
    expect(await json('schedule', 'resolve', id, ...found)).toMatchObject([after]);
    expect((await musterd('changes', '--field', 'message')).stdout).toContain(`\t${id}\t`);
    expect((await musterd('changes', '--field', 'tag')).stdout).toBe('');
    const { stdout: why } = await musterd('why', id);
    expect(why).toContain(`\tresolve\t`);
    expect(why).toContain(
      `\tanna\t${found[2] === undefined ? 'musterd schedule resolve' : 'not in the app'}\t`,
    );
  });

  /** As a run would have sent what was approved. */
  const arrive = () =>
    force(`insert into sync.changes (team_id, local_id, run_id, kind, base, new, edits, outcome)
      select r.team_id, r.local_id, null, 'push', jsonb_build_object(r.field, r.base), jsonb_build_object(r.field, r.wanted),
        jsonb_build_object(r.field, e.edit_id), jsonb_build_object(r.field, 'confirmed')
      from sync.requests r join sync.edits e on e.local_id = r.local_id and e.ended_at is null;
      update mirror.scheduled_messages m set id = 900, state = 'scheduled', base = sync.wanted('message', to_jsonb(m));
      update mirror.tags set id = 77; update mirror.conversation_reads set state = 'sent';
      update sync.edits set ended_at = now(), ended_how = 'agreed' where ended_at is null; truncate sync.held_fields`);
  const approve = async () => {
    await sql(`begin; set local musterd.actor = 'ben'; select from sync.approve('abc123abc123'); commit`);
    return (await sql('select max(decision_id)::text from sync.changes'))[0]?.[0] as string;
  };
  const undo = async (decision: string, ...more: readonly string[]) => {
    const { code, stdout, stderr } = await musterd('undo', '--decision', decision, '--json', ...more);
    expect(stderr).toBe('');
    const { requests } = JSON.parse(stdout) as { readonly requests: readonly object[] };
    return { code, requests };
  };

  it('an approved message is undecided again, and one that was sent is cancelled or set back', async () => {
    const { local_id: id } = await create('--phone', '15550100', '--text', 'Hello');
    await hold();
    const first = await approve();
    expect(await undo(first, '--exit-code')).toMatchObject({
      code: 2,
      requests: [{ local_id: id, undo: 'undecided', reason: null }],
    });
    expect(await undo(first, '--apply')).toMatchObject({ code: 0, requests: [{ undo: 'undecided' }] });
    expect(await sql('select decision, batch from sync.held_fields')).toEqual([[null, 'abc123abc123']]);
    const second = await approve();
    await arrive();
    expect(await undo(second)).toMatchObject({ requests: [{ undo: 'cancel' }] });
    expect((await musterd('undo', '--decision', second)).stderr).toContain(
      'undecided again, 0 fields to set back, 1 request to take back, 0 left as they are\n',
    );
    const sent = await row();

    await json('schedule', 'update', id, '--text', 'Bye', '--list', '5', '--template', '12', '--user', '');
    expect(await undo(second)).toMatchObject({ requests: [{ undo: 'left', reason: 'it was edited since' }] });
    await hold();
    const third = await approve();
    await arrive();
    expect(await undo(third, '--apply')).toMatchObject({ code: 0, requests: [{ undo: 'back' }] });
    expect(await row()).toEqual({
      ...(sent as object),
      state: 'waiting',
      base: expect.objectContaining({ text: 'Bye' }),
    });
    await hold();
    await approve();
    await arrive();
    expect(await undo(second, '--apply')).toMatchObject({ requests: [{ undo: 'cancel' }] });
    expect(await row()).toMatchObject({ cancels: true, state: 'waiting' });
    expect(await sql(`select actor from sync.edits where ended_at is null`)).toEqual([['anna']]);
    const { stdout, stderr } = await musterd('undo', '--decision', third);
    expect(stderr).toContain('undecided again, 0 fields to set back, 1 left as they are\n');
    expect(stdout).toContain(`\t${id}\tleft\tmessage\t\t\tit was edited since\n`);
  });

  it('what the service cannot take back is left, and why', async () => {
    await json('tag', 'create', 'VIP');
    await json('conversations', 'read', '--inbox', '7', '--user', '1', '--target', 'a');
    await hold();
    const decision = await approve();
    await arrive();
    const { code, requests } = await undo(decision, '--exit-code');
    expect(code).toBe(0);
    expect(requests).toMatchObject([
      { undo: 'left', reason: expect.stringMatching(/^the service gives no way to /) },
      { undo: 'left', reason: expect.stringMatching(/^the service gives no way to /) },
    ]);
  });

  it('asks for conversations and tags', async () => {
    await json(
      'conversations',
      'read',
      '--inbox',
      '7',
      '--user',
      'Anne Berg',
      '--targets',
      'a, b',
      '--reassign',
      '2',
    );
    expect(
      await sql(
        'select inbox_id::int, user_id::int, target, targets, reassign_id::int from mirror.conversation_reads',
      ),
    ).toEqual([[7, 1, null, ['a', 'b'], 2]]);
    expect(await json('conversations')).toMatchObject([
      { field: 'conversation_read', inbox: 'Front desk', sender: 'Anne Berg', target: 'a, b' },
    ]);
    expect(await json('tag', 'create', 'VIP', ' Moved  away ')).toMatchObject([
      { text: 'VIP' },
      { text: 'Moved away' },
    ]);
  });

  it('a conversation that got no answer is over, and nobody is asked about it', async () => {
    const [read] = await json('conversations', 'read', '--inbox', '7', '--user', '1', '--target', 'a');
    await force(`update mirror.conversation_reads set state = 'unknown', detail = 'no answer came'`);
    const { stdout } = await musterd('why', read?.local_id ?? '');
    expect(stdout).toMatch(/^next {14}Nothing: no answer came, and it is not sent again\.$/m);
    expect((await musterd('conversations')).stdout).not.toContain('schedule resolve');
  });

  it('shows inboxes and surveys', async () => {
    expect((await musterd('inboxes')).stdout).toContain('7\tFront desk\t15550001\t1\n');
    expect(JSON.parse((await musterd('surveys', '--json')).stdout)).toMatchObject([
      { id: 3, name: 'After', question: 'How was it?' },
    ]);
  });
});
