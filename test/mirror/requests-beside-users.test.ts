/** What reads edits, holds and the ledger of users leaves requests out, or shows them in words. */
import { CompiledQuery, sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readStatus } from '../../src/mirror/runs/read-status.ts';
import { readHeldDetails, readTeamsNow } from '../../src/mirror/runs/told.ts';
import { readUsersInBatches } from '../../src/mirror/runs/metrics-read.ts';
import { readKnownTeam } from '../../src/mirror/team/known-team.ts';
import { readListingRests, readRest } from '../../src/mirror/team/read-rest.ts';
import { readPages } from '../../src/mirror/tools/export-read.ts';
import { readPushed } from '../../src/mirror/users/applied-plans.ts';
import { readFreshEdits, noteEdits } from '../../src/mirror/users/fresh-edits.ts';
import { readBatches, readBatchFields, readGuardHistory } from '../../src/mirror/users/held-batches.ts';
import { readHeldFields } from '../../src/mirror/users/held.ts';
import { readWaitingFields, waitingOf } from '../../src/mirror/users/holds.ts';
import { readIntents } from '../../src/mirror/users/intents.ts';
import { readLedger } from '../../src/mirror/users/ledger.ts';
import { ofRun, readMovedFields } from '../../src/mirror/users/moved-fields.ts';
import { readKnownAddresses, readSnapshot } from '../../src/mirror/users/verify-read.ts';
import { showValue } from '../../src/model/field-values.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { runMusterd } from '../system/run-musterd.ts';

type Row = Record<string, unknown>;

let database: TestDatabase;
const query = async (text: string): Promise<Row[]> =>
  (await database.db.kysely.executeQuery<Row>(CompiledQuery.raw(text))).rows;
/** As a run writes. */
const force = (text: string) =>
  database.db.transaction(async (tx) => {
    await sql`select set_config('musterd.writing', 'on', true)`.execute(tx);
    await tx.executeQuery(CompiledQuery.raw(text));
  });
/** As somebody who is called so. */
const as = (who: string, text: string) =>
  database.db.transaction(async (tx) => {
    await sql`select set_config('musterd.actor', ${who}, true)`.execute(tx);
    await tx.executeQuery(CompiledQuery.raw(text));
  });

const keys = {
  tag: '11111111-1111-4111-8111-111111111111',
  message: '22222222-2222-4222-8222-222222222222',
  conversation_read: '33333333-3333-4333-8333-333333333333',
};
const batch = 'abc123abc123';
const ask = () =>
  as(
    'anna',
    `insert into mirror.tags (team_id, local_id, tag) values (41, '${keys.tag}', 'VIP');
     insert into mirror.scheduled_messages (team_id, local_id, inbox_id, user_id, text, phone_number, execute_at)
       values (41, '${keys.message}', 7, 1, 'Hello', '15550100', '2031-01-01T10:15:00Z');
     insert into mirror.conversation_reads (team_id, local_id, inbox_id, user_id, target)
       values (41, '${keys.conversation_read}', 7, 1, '15550100')`,
  );
/** Message and tag in one batch, the conversation by itself. */
const hold = () =>
  force(`insert into sync.held_fields (team_id, local_id, field, reason, base_value, mirror_value, batch, edit_id, detail)
    select r.team_id, r.local_id, r.field, case r.field when 'conversation_read' then 'refused' else 'review' end, r.base, r.wanted,
      case when r.field <> 'conversation_read' then '${batch}' end, e.edit_id, 'it says so'
    from sync.requests r join sync.edits e on e.local_id = r.local_id and e.ended_at is null`);
const open = (outcome = '{}', state = 'open') =>
  force(`insert into sync.changes (team_id, local_id, run_id, kind, state, new, edits, outcome)
    select team_id, local_id, (select max(run_id) from sync.runs), 'push', '${state}', jsonb_build_object(field, new_value),
      jsonb_build_object(field, edit_id), case '${outcome}' when '{}' then '{}' else jsonb_build_object(field, '${outcome}') end
    from sync.edits where ended_at is null and local_id is not null`);

beforeAll(async () => {
  database = await createTestDatabase();
  await query(`insert into sync.teams (team, team_id, writes)
    values ('default', 41, '{"tags": true, "schedule": true, "conversations": true}')`);
  await query(
    `insert into sync.runs (team, team_id, command, outcome, finished_at) values ('default', 41, 'reconcile', 'complete', now())`,
  );
  await force(`insert into mirror.teams (team_id, name) values (41, 'North');
    insert into mirror.inboxes (team_id, id, name, members) values (41, 7, 'Front desk', '[1]');
    insert into mirror.tags (team_id, id, tag) values (41, 3, 'There');
    insert into mirror.users (team_id, id, name, first_name, last_name, resolved) values (41, 1, 'Anne', 'Anne', '', true);
    insert into sync.user_base (team_id, id, name, first_name, last_name) values (41, 1, 'Anne', 'Anne', '')`);
});
afterAll(() => database.close());

const message = { inbox_id: 7, user_id: 1, execute_at: '2026-12-01T10:15:00Z' };
it.each([
  ['VIP', { tag: 'VIP' }],
  [
    '"Hello {{Plan}}" to 15550100, 2026-12-01 10:15 UTC',
    { ...message, text: 'Hello\n {{Plan}}', phone_number: '15550100' },
  ],
  [`"${'é'.repeat(60)}…" to list 3, 2026-12-01 10:15 UTC`, { ...message, text: 'é'.repeat(61), list_id: 3 }],
  [
    `"${'x'.repeat(60)}" to conversation 4, 2026-12-01 10:15 UTC`,
    { ...message, text: 'x'.repeat(60), conversation_id: 4 },
  ],
  ['template 12 to 15550100, 2026-12-01 10:15 UTC', { ...message, template_id: 12, targets: ['15550100'] }],
  [
    'attachments to 2 numbers, 2026-12-01 10:15 UTC',
    { ...message, text: '', attachments: [{}], targets: ['1555', '1556'] },
  ],
  ['15550100 in inbox 7', { inbox_id: 7, user_id: 1, target: '15550100' }],
  ['15550100 in inbox 7', { inbox_id: 7, user_id: 1, targets: ['15550100'] }],
  ['3 conversations in inbox 7', { inbox_id: 7, user_id: 1, targets: ['a', 'b', 'c'] }],
])('%s is what a person reads of such a request, in SQL and elsewhere', async (words, wanted) => {
  const { rows } = await sql<Row>`select mirror.field_text(${JSON.stringify(wanted)}::jsonb) as text`.execute(
    database.db.kysely,
  );
  expect([rows[0]?.['text'], showValue(wanted)]).toEqual([words, words]);
});

describe('requests beside users', () => {
  beforeEach(async () => {
    await force(`delete from mirror.scheduled_messages; delete from mirror.tags where id is null; delete from mirror.conversation_reads;
      truncate sync.edits, sync.held_fields; delete from sync.changes; delete from sync.due; delete from sync.learned`);
    await ask();
  });
  const db = () => database.db.kysely;

  it('that are being sent are no pushes to users', async () => {
    await open();
    expect(await readIntents(db(), 41n)).toEqual([]);
    expect((await readKnownTeam(db(), 'default')).hasIntents).toBe(false);
    expect(await readKnownAddresses(db(), 41n)).toEqual([{ id: 1n, email: null, phone: null }]);
    expect((await readGuardHistory(db(), 41n)).pushedToday).toEqual(new Set());
  });

  it('that were sent by a run are neither undone nor counted as users that it pushed to', async () => {
    await open('confirmed', 'closed');
    const [{ run_id: runId } = {}] = await query('select max(run_id) as run_id from sync.runs');
    expect(await readMovedFields(db(), 41n, ofRun(runId as bigint))).toEqual([]);
    expect(await readPushed(db(), runId as bigint)).toEqual(new Map());
  });

  it('that are held are no fields of all users, and wait for a person', async () => {
    await hold();
    expect(await readGuardHistory(db(), 41n)).toMatchObject({
      waiting: [],
      lacking: [],
      accepted: [],
      isOld: false,
    });
    expect(await readWaitingFields(db(), 41n)).toEqual([]);
    expect((await waitingOf(41n).execute(db())).rows).toEqual([{ held: 1, inBatches: 2 }]);
    expect(await readBatches(db(), 41n)).toEqual([
      {
        hash: batch,
        since: expect.any(Date) as Date,
        users: 0,
        requests: 2,
        lacking: [],
        reasons: ['it says so'],
      },
    ]);
    expect(await readUsersInBatches(db(), ['default'])).toEqual([{ team: 'default', users: 2 }]);
    expect((await readTeamsNow(database.db, ['default'])).batches).toMatchObject([
      { hash: batch, unit: 'requests', count: 2 },
    ]);
    const held = await readHeldFields(db(), 41n, null);
    expect(Object.fromEntries(held.map(({ field, local_id }) => [field, local_id]))).toEqual(keys);
    expect(held.map(({ user_id }) => user_id)).toEqual([null, null, null]);
    expect((await readBatchFields(db(), 41n, batch)).map(({ localId }) => localId)).toEqual([
      keys.message,
      keys.tag,
    ]);
    expect(await readHeldDetails(db(), 'default', false)).toMatchObject([
      { user_id: null, field: 'conversation_read', local_id: keys.conversation_read },
    ]);
  });

  it('count with the users that wait in the same batch, and not as one field that all users lack', async () => {
    await force(`update mirror.users set phone = '15550177'`);
    await hold();
    await force(
      `insert into sync.held_fields (team_id, user_id, field, reason, batch) values (41, 1, 'phone', 'limit', '${batch}')`,
    );
    expect((await waitingOf(41n).execute(db())).rows).toEqual([{ held: 1, inBatches: 3 }]);
    expect(await readBatches(db(), 41n)).toMatchObject([{ users: 1, requests: 2 }]);
    await force(`update mirror.users set phone = null`);
  });

  it('leave users and tags at rest', async () => {
    // A transaction of another database that ends just now may count as one of ours: then the mark is taken again.
    await eventually('users and tags are at rest', async () => {
      await query(`insert into sync.learned (team, topic, value)
        select 'default', t || ' at rest', jsonb_build_object('mark', sync.mark(), 'planned', '[]'::jsonb)
        from unnest('{users,tags}'::text[]) t
        on conflict (team, topic) do update set value = excluded.value`);
      const { present } = await readRest(db(), 41n);
      return present === 1 && (await readListingRests(db(), 41n)).get('tags')?.present === 1;
    });
    await query('delete from mirror.tags where id is null');
    await query(`insert into mirror.tags (team_id, tag) values (41, 'Another')`);
    await hold();
    await open();
    expect(await readRest(db(), 41n)).toMatchObject({ noted: [], written: [], present: 1 });
    expect((await readListingRests(db(), 41n)).get('tags')).toMatchObject({ present: 1 });
  });

  it('that wait are no tags, neither to verify nor in a file', async () => {
    expect((await readSnapshot(database.db, 'default', 41n)).listed.get('tags')?.map(({ id }) => id)).toEqual(
      [3n],
    );
    const read = async (what: string) => {
      const pages: unknown[] = [];
      await readPages(database.db, 41n, what, (page) => Promise.resolve(void pages.push(...page)));
      return pages;
    };
    expect(await read('tags')).toMatchObject([{ id: 3n }]);
    await open();
    expect(await read('changes')).toMatchObject(
      [keys.tag, keys.message, keys.conversation_read].map((local_id) => ({ user_id: null, local_id })),
    );
  });

  it('are counted by status as what waits', async () => {
    for (const most of [100, 0]) {
      const { rows, pending, isNotedOnly } = await readStatus(database.db, 'default', most);
      expect([rows['tags'], pending, isNotedOnly]).toEqual([1, { waiting: 3 }, most === 0]);
    }
    await hold();
    expect((await readStatus(database.db, 'default')).held).toEqual({ refused: 1 });
  });

  it('wake the daemon once, and again when somebody has decided', async () => {
    const isFresh = async () => (await readFreshEdits(db(), ['default']))[0]?.isFresh;
    const note = async () => {
      const [fresh] = await readFreshEdits(db(), ['default']);
      await noteEdits(database.db, 'default', fresh?.mark ?? null);
    };
    expect(await isFresh()).toBe(true);
    await note();
    expect(await isFresh()).toBe(false);
    await query(`update mirror.scheduled_messages set text = 'Bye'`);
    expect(await isFresh()).toBe(true);
    await note();
    await query('delete from mirror.tags where id is null');
    expect(await isFresh()).toBe(false);
    await hold();
    await as('ben', `select * from sync.approve('${batch}')`);
    expect(await isFresh()).toBe(true);
  });

  it('stand in the ledger and among the decisions under their own id', async () => {
    await hold();
    await as('ben', `select * from sync.approve('${batch}', reason => 'fine')`);
    const ledger = await readLedger(db(), 41n, {
      userId: null,
      runId: null,
      field: null,
      kind: null,
      outcome: null,
      since: null,
      limit: 10,
    });
    expect(
      ledger.map(({ user_id, field, local_id, decided_by }) => [user_id, field, local_id, decided_by]),
    ).toEqual([
      [null, 'tag', keys.tag, 'ben'],
      [null, 'message', keys.message, 'ben'],
    ]);
    const decisions = () =>
      query(
        `select field, local_id, user_id, mirror_text, state, detail from report.decisions order by local_id`,
      );
    expect(await decisions()).toEqual([
      { field: 'tag', local_id: keys.tag, user_id: null, mirror_text: 'VIP', state: 'waiting', detail: null },
      {
        field: 'message',
        local_id: keys.message,
        user_id: null,
        mirror_text: '"Hello" to 15550100, 2031-01-01 10:15 UTC',
        state: 'waiting',
        detail: null,
      },
    ]);
    await open();
    expect((await decisions()).map(({ detail }) => detail)).toEqual(['it is being sent', 'it is being sent']);
    await force(`update sync.changes set outcome = '{"tag": "unknown"}' where state = 'open' and new ? 'tag';
      update sync.edits set ended_at = now(), ended_how = 'agreed' where field = 'message'`);
    expect((await decisions()).map(({ state }) => state)).toEqual(['unknown', 'confirmed']);
  });

  it('are told by the command line in words', async () => {
    await hold();
    const env = {
      DATABASE_URL: database.url,
      MUSTERD_ACTOR: 'ben',
      MUSTERD__write__schedule: 'true',
      MUSTERD__write__tags: 'true',
    };
    const run = async (...args: readonly string[]) => {
      const { code, stdout, stderr } = await runMusterd(args, env);
      return { code, said: stdout + stderr };
    };
    const told = '"Hello" to 15550100, 2031-01-01 10:15 UTC';
    const held = await run('held');
    for (const words of [keys.message, told, 'VIP', '15550100 in inbox 7'])
      expect(held.said).toContain(words);
    expect(JSON.parse((await run('held', '--json')).said)).toMatchObject({
      held: expect.arrayContaining([
        expect.objectContaining({ field: 'tag', local_id: keys.tag, user_id: null }),
      ]) as unknown,
    });
    expect((await run('status')).said).toContain(`2 requests wait since`);
    const one = await run('approve', batch, '--only', keys.message.toUpperCase(), '--reason', 'fine');
    expect(one).toEqual({
      code: 0,
      said: expect.stringMatching(/^1 request approved, 1 wait on \(decision \d+\)\n/) as string,
    });
    expect((await run('approve', batch, '--only', keys.conversation_read)).said).toContain(
      `no request ${keys.conversation_read} in`,
    );
    const all = await run('reject', batch, '--only', keys.tag, '--reason', 'no');
    expect(all.said).toMatch(/^1 request rejected, 0 wait on/);
    expect(all.said).not.toContain('users');
    const changes = await run('changes');
    for (const words of [keys.message, told, 'approve', 'reject', 'ben'])
      expect(changes.said).toContain(words);
    const [{ decision_id: decision } = {}] = await query(
      `select decision_id from sync.changes where kind = 'approve'`,
    );
    const undo = await run('undo', '--decision', String(decision), '--apply');
    for (const words of [keys.message, 'undecided']) expect(undo.said).toContain(words);
    expect(await query(`select decision from sync.held_fields where field = 'message'`)).toEqual([
      { decision: null },
    ]);
  });
});
