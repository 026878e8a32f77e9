/** The view of scheduled messages over a mirror that SQL made: what it shows, and what is decided there. */
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { createPageServer, type StatusServer } from '../../src/http/server.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { createPage } from '../../src/page/serve/create-page.ts';
import { pageRoutes } from '../../src/page/serve/page-routes.ts';
import type { Setup } from '../../src/runs/open.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { fillMirror, largeTeam } from '../support/large-mirror.ts';
import { evil, fillMessages, keyOf } from '../support/messages.ts';
import { createVisitor, type PageForm } from '../system/agreed/page-forms.ts';

const token = 'a token of the page for tests';
const log = { warn: () => {}, info: () => {}, debug: () => {}, error: () => {} } as unknown as Setup['log'];

let database: TestDatabase;
let server: StatusServer;
let kim: ReturnType<typeof createVisitor>;
const rowsOf = async (text: string) => (await runSqlText(database.db, text)).rows;
const owned = async (text: string) =>
  await runSqlText(database.db, `begin; set local musterd.writing = 'on'; ${text}; commit`);

/** @param user the name that the token belongs to; `null`: it serves everybody */
async function visit({ user = 'kim' as string | null, details = true, fourEyes = false } = {}) {
  await server?.close();
  const status = { token, details, decide: true, ...(user === null ? {} : { user }) };
  const page = createPage({
    db: database.db,
    configs: () => [
      configSchema.parse({
        status,
        push: { fourEyes },
        write: { schedule: true, timezone: 'Europe/Zurich' },
      }),
    ],
    version: '0',
    decide: { mirror: { db: database.db } as Setup['mirror'], log },
  });
  server = await createPageServer({ host: '127.0.0.1', port: 0, page: pageRoutes(page) });
  kim = createVisitor(`http://127.0.0.1:${server.port}`, token, 'kim');
}
const htmlOf = async (path: string) => {
  const answer = await fetch(`http://127.0.0.1:${server.port}${path}`, {
    headers: { authorization: `Basic ${Buffer.from(`kim:${token}`).toString('base64')}` },
  });
  return await answer.text();
};
/** The forms of one message. */
const formOf = async (number: number, verb: string): Promise<PageForm | undefined> =>
  (await kim.ask('/messages')).forms.find(
    ({ hidden, buttons }) =>
      hidden.some(([name, value]) => name === 'row' && value.startsWith(keyOf(number))) &&
      buttons.some(({ pair }) => pair?.[1] === verb),
  );
async function decide(number: number, verb: string, more: readonly (readonly [string, string])[] = []) {
  const form = await formOf(number, verb);
  if (form === undefined) throw new Error(`There is no button ${verb}.`);
  const asked = await kim.press(form, form.buttons[0]?.words ?? '');
  const question = asked.forms.find(({ asksWhy }) => asksWhy);
  if (question === undefined) throw new Error(`Nothing was asked: ${asked.text}`);
  const done = await kim.press(
    { ...question, hidden: [...question.hidden, ...more] },
    question.buttons[0]?.words ?? '',
  );
  return { asked, done };
}
const stateOf = async (number: number) =>
  (
    await rowsOf(`select m.state, h.decision from mirror.scheduled_messages m
      left join sync.held_fields h using (team_id, local_id) where m.local_id = '${keyOf(number)}'`)
  )[0]?.join(' ');

beforeAll(async () => {
  database = await createTestDatabase();
  await fillMirror(database.db, [{ ...largeTeam, users: 20, changes: 20, tags: 1, days: 1 }]);
  await owned('delete from sync.held_fields');
});
beforeEach(async () => {
  await owned(`delete from mirror.scheduled_messages; delete from mirror.inboxes; delete from sync.held_fields; delete from sync.edits;
    delete from sync.changes where local_id is not null; delete from mirror.tags where id is null; delete from mirror.conversation_reads;
    update sync.teams set four_eyes = false`);
  await fillMessages(database.db);
  await visit();
});
afterAll(async () => {
  await server.close();
  await database.close();
});

describe('the view of messages', () => {
  it('does not make the clocks of a team anew for each message of the day of each that waits', async () => {
    await owned(`insert into mirror.scheduled_messages (team_id, inbox_id, user_id, text, phone_number, execute_at, state)
      select 41, 1, 1, 'Hello', '15550100', now() + interval '60 days' + n * interval '1 minute', 'scheduled' from generate_series(1, 100) n`);
    const made = vi.spyOn(Intl, 'DateTimeFormat');
    await kim.ask('/messages');
    const times = made.mock.calls.length;
    made.mockRestore();
    expect(times).toBeGreaterThan(0);
    expect(times).toBeLessThan(200);
  });

  it('says what somebody has to say, what waits for whom, and all of it by day', async () => {
    const { text } = await kim.ask('/messages');
    for (const part of [
      '1 message is scheduled, of 1 nobody knows, 3 wait for an approval, 1 cannot be sent',
      'Times are those of the team, Europe/Zurich (UTC+',
      'we asked the service to schedule this and got no answer',
      `musterd schedule resolve ${keyOf(1)} --was-not-sent`,
      'List 8812; nobody here knows how many',
      '214 recipients, 1555010100, 1555010101, 1555010102and 211 more',
      'Grüezi first_name, ',
      'In frames: what the service fills in for each recipient.',
      'Limit214 of 500 recipients that day, with this one',
      'You did not write it, so you may decide.Reject…Approve for 214…',
      'You wrote it, so somebody else has to approve it.Withdraw…',
      'unless cancelling it is approved before',
      'It is refused by the service. No such number.',
      `musterd schedule cancel ${keyOf(5)}`,
      'It was taken back before it was sent',
      'Earlier days',
    ])
      expect(text).toContain(part);
    expect(text).not.toContain('Long ago');
    expect((await kim.ask('/messages?days=earlier')).text).toMatch(/1 its time has passed to 1.*Long ago/s);
  });

  it('says of one without an answer when it was sent, whatever was decided about it since', async () => {
    const askedAt = async () => /Asked at ([^,]+),/.exec((await kim.ask('/messages')).text)?.[1];
    const before = await askedAt();
    expect(before).toBeDefined();
    await owned(`insert into sync.changes (team_id, local_id, kind, new, opened_at)
      values (41, '${keyOf(1)}', 'resolve', '{"message": {}}', '2100-01-01')`);
    expect(await askedAt()).toBe(before);
  });

  it('shows a hostile text as text, and cuts none that is to be approved', async () => {
    const html = await htmlOf('/messages');
    expect(html).not.toMatch(/<img src=x|\u202e/);
    expect(html).toContain('&lt;img src=x onerror=alert(1)&gt;');
    expect(evil).toContain('onerror');
    const csv = await htmlOf('/messages.csv');
    expect(csv.split('\r\n')[0]).toBe(
      'team,local_id,execute_at,state,recipients,inbox,user_id,sender,target,text,written_by,approved_by,detail',
    );
  });

  it('has a tab where messages may be written, or there are any', async () => {
    expect((await kim.ask('/runs')).links).toContain('/messages');
    await owned(`update sync.teams set writes = '{}'`);
    expect((await kim.ask('/runs')).links).toContain('/messages');
    await owned('delete from sync.held_fields; delete from mirror.scheduled_messages');
    expect((await kim.ask('/runs')).links).not.toContain('/messages');
    await owned(`update sync.teams set writes = '{"schedule": true}'`);
    expect((await kim.ask('/messages')).text).toContain('Nothing is scheduled');
  });

  it('is counted once in Waiting, and linked from there and from the first view', async () => {
    const waiting = await kim.ask('/waiting');
    expect(waiting.text).toContain('5 things wait for somebody');
    expect(waiting.text).toContain(
      '4 messages wait for somebody, and of one nobody knows whether the service has it',
    );
    expect(waiting.text).toContain('Waiting 5, 5 things wait for somebody');
    expect(waiting.links.filter((one) => one === '/messages')).toHaveLength(3);
    expect(waiting.forms).toEqual([]);
    expect((await kim.ask('/')).text).toContain('4 messages wait for somebody, and of one nobody knows');
  });

  it('shows neither texts nor numbers where details are off, and decides nothing there', async () => {
    await visit({ details: false });
    const { text, forms } = await kim.ask('/messages');
    expect(text).not.toMatch(/Merci|Grüezi|15550100/);
    expect(forms).toEqual([]);
    expect(await htmlOf('/messages.csv')).not.toMatch(/Merci|15550100/);
  });

  it('decides nothing where it cannot tell who looks, and says so', async () => {
    await visit({ user: null });
    const { text, forms } = await kim.ask('/messages');
    expect([text.includes('This page cannot tell who you are'), forms]).toEqual([true, []]);
    expect(text).toContain("musterd approve aaaabbbbcccc --reason '…'");
  });

  it('tells the times of each team by its own clocks, and says whose they are', async () => {
    await rowsOf(`insert into sync.teams (team, team_id, writes) values ('south', 42, '{"schedule": true, "timezone": "Asia/Tokyo"}');
      insert into sync.due (team, run_group, since) values ('south', 'users', now())`);
    await owned(`insert into mirror.teams (team_id, name) values (42, 'South'); insert into mirror.scheduled_messages (team_id, inbox_id, text, phone_number, execute_at, state)
      values (42, 7, 'Of south', '15550100', date_trunc('day', now()) + interval '3 days 3 hours', 'scheduled')`);
    const { text } = await kim.ask('/messages');
    expect(text).toContain('Times are those of each team.');
    expect(text).toMatch(/12:00Scheduled1 recipient.*Of south/s);
    expect(text).toContain('we asked the service to schedule this and got no answer in default');
    expect((await kim.ask('/messages?team=south')).text).toContain('Asia/Tokyo (UTC+9)');
    await owned(`delete from sync.due where team = 'south'; delete from mirror.scheduled_messages where team_id = 42;
      delete from mirror.teams where team_id = 42; delete from sync.teams where team_id = 42`);
  });

  it('a time after which nobody can approve any more has passed in words', async () => {
    await owned(`update mirror.scheduled_messages set execute_at = now() + interval '10 minutes' where local_id = '${keyOf(2)}';
      update mirror.scheduled_messages set execute_at = now() - interval '1 hour' where local_id in ('${keyOf(1)}', '${keyOf(3)}', '${keyOf(4)}')`);
    const { text } = await kim.ask('/messages');
    for (const part of [
      'and the service takes nothing later than 15 minutes before. It is not sent any more.',
      'Its time has passed while it waited. It was not sent.',
      'Its time has passed while it waited to be cancelled. It went out.',
      'If it was there, it went out.',
    ])
      expect(text).toContain(part);
    expect([await formOf(2, 'Approve'), await formOf(4, 'Approve')]).toEqual([undefined, undefined]);
    expect(await formOf(2, 'Reject')).toBeDefined();
  });
});

describe('a decision about a message', () => {
  it('approves one of a batch and leaves the other, and says so above', async () => {
    const { asked, done } = await decide(2, 'Approve');
    expect(asked.text).toContain('Approve for 214?');
    expect(asked.text).toContain('&lt;img'.replace('&lt;', '<'));
    expect([done.status, done.location]).toEqual([303, expect.stringMatching(/^\/messages\?done=\d+$/)]);
    expect([await stateOf(2), await stateOf(3)]).toEqual(['waiting approved', 'held ']);
    const receipt = await kim.ask(done.location ?? '');
    expect(receipt.text).toMatch(/1 approved by you at .* No daemon runs, so nothing is sent/);
    expect((await kim.ask('/waiting')).text).toMatch(/Decided last.*1 approvedIt goes with the next run/s);
  });

  it('rejects, withdraws one’s own, and approves a cancel', async () => {
    await decide(2, 'Reject');
    expect(await stateOf(2)).toBe('held rejected');
    expect((await kim.ask('/messages')).text).toContain('Rejected');
    expect(await htmlOf('/messages')).not.toMatch(new RegExp(`<section[^>]* id="m-${keyOf(2)}`));
    const { done } = await decide(3, 'Withdraw');
    expect(await stateOf(3)).toBe('cancelled ');
    expect((await kim.ask(done.location ?? '')).text).toMatch(/1 withdrawn by you at .* Nothing was sent/);
    expect(await formOf(3, 'Approve')).toBeUndefined();
    const { asked } = await decide(4, 'Approve');
    expect(asked.text).toContain('Approve cancelling it?');
    expect(await stateOf(4)).toBe('waiting approved');
  });

  it('comes to nothing if the message was edited meanwhile, or is one’s own', async () => {
    const form = await formOf(2, 'Approve');
    const own = await formOf(3, 'Withdraw');
    await owned(`update sync.edits set ended_at = now(), ended_how = 'replaced' where local_id = '${keyOf(2)}';
      delete from sync.held_fields where local_id = '${keyOf(2)}'`);
    const moved = await kim.press(form as PageForm, 'Approve');
    expect([moved.status, moved.text.includes('It was edited or decided about while you looked')]).toEqual([
      409,
      true,
    ]);
    const forged = {
      ...(own as PageForm),
      buttons: [{ words: 'Approve', pair: ['verb', 'Approve'] as const }],
    };
    const asked = await kim.press(forged, 'Approve');
    const question = asked.forms.find(({ asksWhy }) => asksWhy) as PageForm;
    const done = await kim.press(question, question.buttons[0]?.words ?? '');
    expect([done.status, done.text]).toEqual([409, expect.stringContaining('wrote what is to be approved')]);
    expect(await stateOf(3)).toBe('held ');
  });

  describe('that may go unattended', () => {
    beforeEach(() => rowsOf(`update sync.teams set writes = writes || '{"schedule": "unattended"}'`));

    it('is for whoever wrote it as well, unless four eyes are on', async () => {
      expect(await formOf(3, 'Approve')).toBeDefined();
      await visit({ fourEyes: true });
      expect(await formOf(2, 'Approve')).toBeDefined();
      expect(await formOf(3, 'Approve')).toBeUndefined();
    });

    it('is for nobody who just types a name where a command has asked for four eyes', async () => {
      await visit({ user: null });
      await rowsOf('update sync.teams set four_eyes = true');
      const { done } = await decide(2, 'Approve');
      expect([done.status, done.text]).toEqual([409, expect.stringContaining('four eyes')]);
      expect(await stateOf(2)).toBe('held ');
    });
  });

  it('asks for the number of a message that is there, and has it from then on', async () => {
    expect((await decide(1, 'There', [['is', 'x']])).done.status).toBe(400);
    const { asked, done } = await decide(1, 'There', [['is', '907']]);
    expect(asked.text).toContain('Its number there');
    expect(done.location).toBe('/messages?note=there');
    expect((await kim.ask(done.location ?? '')).text).toContain('What you found is on record.');
    expect(await stateOf(1)).toBe('scheduled ');
    expect(
      await rowsOf(`select m.id, c.decided_by, c.decided_why from mirror.scheduled_messages m
        join sync.changes c on c.local_id = m.local_id and c.kind = 'resolve' where m.local_id = '${keyOf(1)}'`),
    ).toEqual([[907n, 'kim', 'a test']]);
  });

  it('lets one that is not there wait for another approval', async () => {
    expect((await decide(1, 'Not there')).done.location).toBe('/messages?note=not-there');
    expect(await stateOf(1)).toBe('held ');
    expect((await kim.ask('/messages')).text).toContain('A person found that it was not sent.');
  });
});

describe('tags and read conversations', () => {
  const batch = 'abcabcabcabc';
  beforeEach(async () => {
    await rowsOf(`update sync.teams set writes = '{"tags": true, "conversations": true}';
      insert into mirror.tags (team_id, tag) values (41, 'VIP <b>'), (41, 'Late');
      insert into mirror.conversation_reads (team_id, inbox_id, user_id, target) values (41, 7, 11, '15550199')`);
    await owned(`insert into sync.held_fields (team_id, local_id, field, reason, base_value, mirror_value, batch, edit_id)
      select r.team_id, r.local_id, r.field, 'review', r.base, r.wanted, '${batch}', e.edit_id
      from sync.requests r join sync.edits e on e.local_id = r.local_id and e.ended_at is null where r.field <> 'message'`);
  });

  it('wait in a list of their own, and are decided like everything else', async () => {
    const { text } = await kim.ask('/waiting');
    expect(text).toMatch(/2 tags and 1 read conversation wait for an approval/);
    expect(text).toContain('a new tag');
    const list = await kim.ask(`/waiting/${batch}`);
    const form = list.forms.find(({ buttons }) =>
      buttons.some(({ words }) => words.startsWith('Approve')),
    ) as PageForm;
    expect(form.ticks).toHaveLength(3);
    const asked = await kim.press(form, 'Approve', (row) => row.includes('VIP'));
    expect(asked.text).toContain('Approve 1 of 3, leave 2 waiting?');
    expect(asked.text).toContain('The next run sends 1 value, in 1 request.');
    const question = asked.forms.find(({ asksWhy }) => asksWhy) as PageForm;
    const done = await kim.press(question, 'Approve');
    expect(done.location).toMatch(/^\/waiting\?done=\d+$/);
    expect((await kim.ask(done.location ?? '')).text).toContain('1 approved by you');
    expect(
      await rowsOf(
        `select t.tag, h.decision from mirror.tags t join sync.held_fields h using (team_id, local_id) order by 1`,
      ),
    ).toEqual([
      ['Late', null],
      ['VIP <b>', 'approved'],
    ]);
  });

  it('are withdrawn, so that nobody asks for them', async () => {
    await owned(
      `update sync.edits set authors = array[sync.person('kim')]; update sync.teams set four_eyes = true`,
    );
    const list = await kim.ask(`/waiting/${batch}`);
    const form = list.forms.find(({ buttons }) =>
      buttons.some(({ words }) => words.startsWith('Reject')),
    ) as PageForm;
    const asked = await kim.press(form, 'Reject', (row) => row.includes('15550199'));
    expect(asked.text).toContain('Reject 1 of 3');
  });

  it('are told in the ledger and not called the mirror, nor somebody', async () => {
    await owned(`insert into sync.changes (team_id, local_id, kind, base, old, new, edits, closed_at, outcome)
      select team_id, local_id, 'push', jsonb_build_object(field, base), jsonb_build_object(field, base), jsonb_build_object(field, wanted), '{}', now(), jsonb_build_object(field, 'confirmed')
      from sync.requests where state in ('waiting', 'unknown')`);
    const { text, links } = await kim.ask('/changes');
    expect(text).toMatch(/a new tag.*VIP <b>/s);
    expect(text).toContain('a conversation');
    expect(links).toContain(`/messages#m-${keyOf(1)}`);
    expect((await kim.ask('/changes?field=tag')).text).not.toContain('a conversation');
    expect((await kim.ask('/')).status).toBe(200);
    expect((await kim.ask('/tags')).text).not.toContain('VIP');
  });
});
