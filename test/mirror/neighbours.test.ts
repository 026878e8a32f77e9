import tags from '../../src/model/listed/tags.ts';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { readLookups } from '../../src/mirror/users/addresses.ts';
import type { Transaction } from '../../src/mirror/db/database.ts';
import { noteEnd, wakeForEdits } from '../../src/mirror/team/due.ts';
import { readLastEdit, readOpenPush } from '../../src/mirror/users/explain-read.ts';
import { readPlanKey } from '../../src/mirror/users/applied-plans.ts';
import { markSent } from '../../src/mirror/users/intents.ts';
import { takeLease } from '../../src/mirror/team/lease.ts';
import { publishListing, tableOf, writeRejectedRows } from '../../src/mirror/listings/listings.ts';
import { withSpool } from '../../src/mirror/db/spool.ts';
import { hasRun } from '../../src/mirror/users/moved-fields.ts';
import { checkTeam, pinTeam, readTeamId } from '../../src/mirror/team/pinned-teams.ts';
import { countPresentUsers } from '../../src/mirror/users/present-users.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { readStatus } from '../../src/mirror/runs/read-status.ts';
import { finishRun, noteTeam } from '../../src/mirror/runs/runs.ts';
import { readName } from '../../src/mirror/users/users-read.ts';
import { readSentMessages, readSnapshot } from '../../src/mirror/users/verify-read.ts';
import type { AnsweredRequest, RequestOutcome } from '../../src/model/requests.ts';
import { readRequests } from '../../src/mirror/requests/requests-read.ts';
import {
  findInboxes,
  findOwnNumber,
  readRequestMoves,
  readShownRequests,
  tallyRequests,
} from '../../src/mirror/requests/shown-requests.ts';
import {
  lockUndoneMessages,
  readUndoneRequests,
  takeRequestsBack,
} from '../../src/mirror/requests/undone-requests.ts';
import { createListener } from '../../src/mirror/team/listen.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { createRequestWorld, type RequestWorld } from '../support/request-world.ts';
import { noteEdits } from '../../src/mirror/users/fresh-edits.ts';
import { actsOf, askIn, outcomesIn, still } from './acts-of-a-team.ts';
import { readAllOf } from './reads-of-a-team.ts';
import { writesOf } from './writes-of-a-team.ts';

/** Two teams that have everything alike: a statement about one of them must leave the other alone. */
let database: TestDatabase;
const write = <R>(work: (tx: Transaction) => Promise<R>) =>
  database.db.transaction(async (tx) => {
    await sql`select set_config('musterd.writing', 'on', true)`.execute(tx);
    return work(tx);
  });
const rowsOf = async (query: string) =>
  (await sql<Record<string, unknown>>`${sql.raw(query)}`.execute(database.db.kysely)).rows.map((row) =>
    Object.values(row).join(' '),
  );

beforeAll(async () => {
  database = await createTestDatabase();
  await write(async (tx) => {
    for (const statement of [
      `insert into sync.teams (team, team_id) values ('one', 41), ('two', 42)`,
      `insert into mirror.teams (team_id, name) values (41, 'First'), (42, 'Second')`,
      `insert into mirror.users (team_id, id, name, first_name, resolved, gone_at, edited_at, edited_by) values
         (41, 1, 'Anne', 'Anne', true, null, '2026-03-01', 'anne'), (41, 2, 'Bert', 'Bert', true, null, null, null),
         (41, 3, 'Carl', 'Carl', true, now(), null, null), (42, 1, 'Dora', 'Dora', true, null, null, null)`,
      `insert into mirror.user_lookups (team_id, email) values (41, 'one@example.com'), (42, 'two@example.com')`,
      `insert into sync.runs (team, team_id, command) values ('one', 41, 'daemon'), ('one', 41, 'daemon'), ('two', 42, 'daemon')`,
      `insert into sync.changes (team_id, user_id, run_id, kind, state, request_id) values
         (41, 1, 2, 'push', 'open', 'mine'), (41, 2, 2, 'push', 'open', 'other'), (42, 1, 3, 'push', 'open', 'theirs'),
         (41, 1, 1, 'push', 'closed', 'over')`,
      `insert into sync.due (team, run_group, failures, mark) select team, run_group, 2, '7:9:8'
         from unnest('{one,two}'::text[]) team, unnest('{users,counts,edits}'::text[]) run_group`,
    ])
      await sql.raw(statement).execute(tx);
  });
});
afterAll(() => database.close());

it('publishes a listing and keeps its rejected rows apart from those of other listings and teams', async () => {
  await write(async (tx) => {
    const all = sql`unnest('{41,42}'::bigint[]) t, unnest('{tags,contact_fields}'::text[]) r`;
    await sql`insert into sync.absences (team_id, resource, id, missing_since)
      select t, r, i, now() from ${all}, unnest('{1,2}'::bigint[]) i`.execute(tx);
    await sql`insert into sync.rejected_rows (team_id, run_id, resource, reason, excerpt)
      select t, 1, r, 'before', '' from ${all}`.execute(tx);
    const tag = {
      id: 1n,
      teamId: 41n,
      tag: 'a',
      color: null,
      rev: null,
      created: null,
      updated: null,
      raw: {},
    };
    const run = { teamId: 41n, runId: 1n };
    await withSpool(tableOf(tags), [tag], (spool) => publishListing(tx, run, spool));
    await writeRejectedRows(tx, run, 'tags', [{ resource: 'tags', id: null, reason: 'now', excerpt: '' }]);
  });
  expect(await rowsOf('select team_id, resource, id from sync.absences order by 1, 2, 3')).toEqual([
    '41 contact_fields 1',
    '41 contact_fields 2',
    '41 tags 2',
    '42 contact_fields 1',
    '42 contact_fields 2',
    '42 tags 1',
    '42 tags 2',
  ]);
  expect(await rowsOf('select team_id, resource, reason from sync.rejected_rows order by 1, 2')).toEqual([
    '41 contact_fields before',
    '41 tags now',
    '42 contact_fields before',
    '42 tags before',
  ]);
});

it('notes and forgets the edits of one team', async () => {
  const due = () => rowsOf('select team, run_group, mark, failures from sync.due order by 1, 2');
  const others = ['one users 7:9:8 2', 'two counts 7:9:8 2', 'two edits 7:9:8 2', 'two users 7:9:8 2'];
  await noteEdits(database.db, 'one', '7:7:');
  expect(await due()).toEqual(['one counts 7:9:8 2', 'one edits 7:7: 2', ...others]);
  await write((tx) => wakeForEdits(tx, 'one'));
  expect(await due()).toEqual(['one counts 7:9:8 2', 'one edits  2', ...others]);
  const ended = sql`select 'one' as team, '{users}'::text[] as groups`;
  await write((tx) => noteEnd(ended, 'complete').execute(tx));
  expect(await due()).toEqual([
    'one counts 7:9:8 2',
    'one edits  0',
    'one users 7:9:8 0',
    ...others.slice(1),
  ]);
});

it('ends a run once, and only that one', async () => {
  const waiting = { teamId: 43n, departures: 2, atLeast: 1 };
  const end = {
    outcome: 'partial',
    reasons: ['a'],
    counts: { pulled: 1 },
    waiting,
    requests: 3,
    endpoints: {},
  } as const;
  await noteTeam(database.db, 1n, 43n);
  await write((tx) => finishRun(tx, 1n, { ...end, requestIds: ['x'] }));
  await write((tx) => finishRun(tx, 1n, { ...end, outcome: 'failed', requestIds: ['y'] }));
  expect(
    await rowsOf(`select run_id, team_id, outcome, reasons, waiting, requests, request_ids,
                         counts ->> 'pulled' as pulled, finished_at is not null as ended from sync.runs order by 1`),
  ).toEqual(['1 43 partial a 2 3 x 1 true', '2 41 running  0 0   false', '3 42 running  0 0   false']);
  expect(await hasRun(database.db.kysely, 'one', 3n)).toBe(false);
  expect(await hasRun(database.db.kysely, 'one', 2n)).toBe(true);
});

it('reads of one user and one team', async () => {
  const { kysely } = database.db;
  expect(await readLookups(kysely, 41n)).toEqual({ emails: ['one@example.com'], phones: [] });
  expect(await countPresentUsers(kysely, 41n)).toBe(2);
  expect(await readName(kysely, 42n, 1n)).toEqual({ first: 'Dora', last: '' });
  expect(await readName(kysely, 42n, 2n)).toBeNull();
  expect(await readLastEdit(kysely, 41n, 1n)).toEqual({ at: new Date('2026-03-01'), by: 'anne' });
  expect(await readLastEdit(kysely, 42n, 1n)).toBeNull();
  expect(await readLastEdit(kysely, 42n, 2n)).toBeNull();
  expect(await readOpenPush(kysely, 41n, 1n)).toMatchObject({ runId: 2n, requestId: 'mine' });
  expect(await readOpenPush(kysely, 41n, 2n)).toMatchObject({ requestId: 'other' });
  expect(await readOpenPush(kysely, 42n, 1n)).toMatchObject({ requestId: 'theirs' });
  expect(await readOpenPush(kysely, 42n, 2n)).toBeNull();
});

it('marks the push of one user', async () => {
  await write((tx) => markSent(tx, 41n, [1n]));
  expect(await rowsOf('select request_id from sync.changes where sent_at is not null')).toEqual(['mine']);
});

it('pins a team to one name, and a name to one team', async () => {
  const { db } = database;
  await expect(checkTeam(db.kysely, 'three', 41n)).rejects.toMatchObject({ code: 'wrong-team' });
  await expect(pinTeam(db, 'one', 43n)).rejects.toMatchObject({ code: 'wrong-team' });
  await pinTeam(db, 'three', 43n);
  await pinTeam(db, 'three', 43n);
  expect(await readTeamId(db.kysely, 'three')).toBe(43n);
  expect(await readTeamId(db.kysely, 'one')).toBe(41n);
  expect(await readPlanKey(db.kysely, 'one')).not.toBe(await readPlanKey(db.kysely, 'two'));
});

it('tells by the lease which team has a run under way', async () => {
  const { db } = database;
  const running = async (team: string, teamId: bigint) => [
    (await readStatus(db, team)).name,
    (await readStatus(db, team)).running?.pid,
    (await readSnapshot(db, team, teamId)).team?.name,
    (await readSnapshot(db, team, teamId)).isRunning,
  ];
  const pid = BigInt(process.pid);
  const [one, two] = [
    await takeLease(db, 'one', { ttlMs: 60_000 }),
    await takeLease(db, 'two', { ttlMs: 60_000 }),
  ];
  await two.release();
  expect(await running('one', 41n)).toEqual(['First', pid, 'First', true]);
  expect(await running('two', 42n)).toEqual(['Second', undefined, 'Second', false]);
  await one.check();
  await sql`update sync.leases set expires_at = clock_timestamp() where team = 'one'`.execute(db.kysely);
  await expect(one.check()).rejects.toMatchObject({ code: 'lease-lost' });
  expect(await running('one', 41n)).toEqual(['First', undefined, 'First', false]);
  await one.release();
  expect(await rowsOf('select team from sync.leases')).toEqual([]);
});

describe('requests of two teams that have everything alike, also the ids', () => {
  /** The other team has the lower id, so that what looks for any row finds its first. */
  let world: RequestWorld;
  beforeAll(async () => {
    world = await createRequestWorld();
    await world.query(`insert into sync.teams (team, team_id) values ('south', 40);
      insert into sync.due (team, run_group, mark) select team, 'edits', pg_current_snapshot() from sync.teams`);
  });
  afterAll(() => world.close());
  beforeEach(async () => {
    await world.clear();
    await world.force(`update mirror.teams set list_size = 300`);
  });
  afterEach(() =>
    world.force(`delete from mirror.inboxes where team_id = 40; delete from mirror.users where team_id = 40;
      delete from mirror.teams where team_id = 40`),
  );

  const key = '11111111-1111-4111-8111-111111111111';
  const other = '22222222-2222-4222-8222-222222222222';
  const batch = 'abc123abc123';
  const insert = (to = "phone_number = '15550100'", localId = key) => `
    insert into mirror.scheduled_messages (team_id, local_id, inbox_id, user_id, text, ${to.split(' = ')[0]}, execute_at)
    values (41, '${localId}', 7, 1, 'Hello', ${to.split(' = ')[1]}, date_trunc('hour', now()) + interval '1 day')`;
  const insertTag = `insert into mirror.tags (team_id, local_id, tag) values (41, '${key}', 'VIP')`;
  const insertRead = `insert into mirror.conversation_reads (team_id, local_id, inbox_id, user_id, target) values (41, '${key}', 7, 1, 'a')`;
  const edit = `update mirror.scheduled_messages set text = 'Bye' where team_id = 41`;
  const cancel = 'delete from mirror.scheduled_messages where team_id = 41';

  const tables = ['scheduled_messages', 'tags', 'conversation_reads', 'inboxes', 'users', 'teams'].map(
    (name) => `mirror.${name}`,
  );
  const records = ['sync.edits', 'sync.held_fields', 'sync.changes'];
  /** Gives the other team the rows of the first, under other names and with numbers of its own. */
  const copy = async () => {
    for (const table of [...tables, ...records]) {
      const [{ columns } = {}] = await world.query(`
        select string_agg(quote_ident(attname), ', ') as columns from pg_attribute
        where attrelid = '${table}'::regclass and attnum > 0 and not attisdropped and attgenerated = ''`);
      await world.force(`
        insert into ${table} (${String(columns)}) overriding system value
        select ${String(columns)} from (
          select (jsonb_populate_record(null::${table}, t.row || '{"team_id": 40}' || case when t.row ? 'name' then '{"name": "South"}'::jsonb else '{}' end
            || coalesce((select jsonb_object_agg(k, (t.row ->> k)::bigint + 1000000)
              from unnest('{edit_id,change_id,decision_id}'::text[]) k where t.row ->> k is not null), '{}')
            || coalesce((select jsonb_build_object('edits', jsonb_object_agg(k.key, k.value::bigint + 1000000))
              from jsonb_each_text(nullif(t.row -> 'edits', 'null')) k having count(*) > 0), '{}'))).*
          from (select to_jsonb(o) as row from ${table} o where o.team_id = 41) t
        ) s`);
    }
  };
  const theirs = async () => [
    await world.query(`select to_jsonb(d) as row from sync.due d where team = 'south'`),
    ...(await Promise.all(
      [...tables, ...records].map((table) =>
        world.query(
          `select to_jsonb(t) as row from ${table} t where team_id = 40 order by to_jsonb(t)::text`,
        ),
      ),
    )),
  ];

  const only = async (kind?: string) => {
    const all = (await world.requests.read()).all.filter((one) => kind === undefined || one.kind === kind);
    const [request] = all;
    if (request === undefined || all.length > 1) throw new Error(`${all.length} requests`);
    return request;
  };
  const hold = async () =>
    world.requests.hold({ request: await only(), reason: 'review', detail: '', batch });
  const approve = () => world.as('ben', `select sync.approve('${batch}', team => 41)`);
  const sent = async () => {
    const request = await only();
    const open = await world.requests.open(request);
    if (open === null || !(await world.requests.markSent(request, open))) throw new Error('it was not sent');
    return { request, open };
  };
  const answered = ({ request, open }: Pick<AnsweredRequest, 'request' | 'open'>, outcome: RequestOutcome) =>
    world.requests.apply({ request, open, outcome, requestId: 'r-1' });
  const confirmed: RequestOutcome = { kind: 'confirmed', id: 900n, answer: 'ok' };
  const unknown: RequestOutcome = { kind: 'unknown', isForGood: true, detail: 'no answer' };
  /** A message that the service has, and as another of which it is asked for, approved. */
  const replaced = async () => {
    await world.as('anna', insert());
    await answered(await sent(), confirmed);
    await world.as('anna', edit);
    await hold();
    await approve();
  };

  /** What comes before, which both teams have; it returns what is then done for the first. */
  const scenes: Readonly<Record<string, () => Promise<() => Promise<unknown>>>> = {
    'is written down': async () => {
      await world.as('anna', insert());
      return sent;
    },
    'was approved and is written down': async () => {
      await replaced();
      return sent;
    },
    'is held': async () => {
      await world.as('anna', insert());
      return hold;
    },
    'is sent again': async () => {
      await world.as('anna', insert());
      const { open } = await sent();
      return () => world.requests.markSentAgain(open);
    },
    ...Object.fromEntries(
      [
        confirmed,
        unknown,
        { kind: 'refused', detail: 'no' } as const,
        { kind: 'late', detail: 'late' } as const,
        { kind: 'gone', detail: 'gone' } as const,
        { kind: 'conflict', shown: { text: 'Theirs' } } as const,
        { kind: 'unanswered' } as const,
        { kind: 'unsent' } as const,
      ].map((outcome) => [
        `is replaced: ${outcome.kind}`,
        async () => {
          await replaced();
          const request = await sent();
          return () => answered(request, outcome);
        },
      ]),
    ),
    'is cancelled': async () => {
      await replaced();
      await world.as('anna', cancel);
      const request = await sent();
      return () => answered(request, confirmed);
    },
    'is taken back before it left': async () => {
      await world.as('anna', insert());
      const request = await sent();
      await world.as('anna', cancel);
      return () => answered(request, { kind: 'unsent' });
    },
    'is given up': async () => {
      await replaced();
      const request = await only();
      return () => world.requests.giveUp(request, 'late');
    },
    'is past': async () => {
      await world.as('anna', insert());
      await answered(await sent(), confirmed);
      await world.force(`update mirror.scheduled_messages set execute_at = now() - interval '1 s'`);
      return () => world.requests.passTime();
    },
    ...Object.fromEntries(
      (
        [
          ['nothing', null],
          ['the same', {}],
          ['another text', { text: 'Theirs' }],
        ] as const
      ).flatMap(([words, shown]) =>
        [true, false].map((isEdited) => [
          `shows ${words}${isEdited ? ', and was edited' : ''}`,
          async () => {
            await replaced();
            if (!isEdited) await answered(await sent(), confirmed);
            return () => world.requests.applyShown(key, shown === null ? null : { shown, raw: { id: 900 } });
          },
        ]),
      ),
    ),
    'is edited': async () => {
      await replaced();
      return () => world.as('anna', edit.replace('Bye', 'Later'));
    },
    'is deleted': async () => {
      await replaced();
      return () => world.as('anna', cancel);
    },
    'is approved': async () => {
      await world.as('anna', insert());
      await hold();
      return approve;
    },
    'is given back': async () => {
      await replaced();
      return () => world.as('ben', `select sync.reject('${batch}', revert => true, team => 41)`);
    },
    'is undecided': async () => {
      await replaced();
      const [{ decision_id: decision } = {}] = await world.query(
        'select max(decision_id) as decision_id from sync.changes',
      );
      return () => world.as('ben', `select sync.undecide(${String(decision)})`);
    },
    ...Object.fromEntries(
      ['900', 'null'].map((id) => [
        `is resolved with ${id}`,
        async () => {
          await world.as('anna', insert());
          await hold();
          await approve();
          await answered(await sent(), unknown);
          return () => world.as('ben', `select sync.resolve_message(41, '${key}', ${id}, null)`);
        },
      ]),
    ),
    ...Object.fromEntries(
      [false, true].map((isReplaced) => [
        `is undone${isReplaced ? ' where it was replaced' : ''}`,
        async () => {
          await replaced();
          if (isReplaced) await answered(await sent(), confirmed);
          else await world.as('anna', edit.replace('Bye', 'Hello'));
          const undone = await readUndoneRequests(world.db.kysely, 41n, { kind: 'run', number: 7n });
          expect(undone).toMatchObject([{ undo: isReplaced ? 'back' : 'cancel' }]);
          return () => world.db.transaction((tx) => takeRequestsBack(tx, 41n, undone));
        },
      ]),
    ),
    'is a tag that is made': async () => {
      await world.as('anna', insertTag);
      const request = await sent();
      return () => answered(request, confirmed);
    },
    'is a tag that was there': async () => {
      await world.as('anna', insertTag);
      const request = await sent();
      await world.force(
        `insert into mirror.tags (team_id, local_id, id, tag) values (41, '${other}', 900, 'vip')`,
      );
      return () => answered(request, confirmed);
    },
    'is a tag that is deleted': async () => {
      await world.as('anna', insertTag);
      await hold();
      return () => world.as('anna', 'delete from mirror.tags where team_id = 41');
    },
    'is a tag that is rejected': async () => {
      await world.as('anna', insertTag);
      await hold();
      return () => world.as('ben', `select sync.reject('${batch}', revert => true, team => 41)`);
    },
    ...Object.fromEntries(
      [confirmed, { kind: 'refused', detail: 'no' } as const, { kind: 'unanswered' } as const].map(
        (outcome) => [
          `is a conversation: ${outcome.kind}`,
          async () => {
            await world.as('anna', insertRead);
            const request = await sent();
            return () => answered(request, outcome);
          },
        ],
      ),
    ),
    'is a conversation that is held and approved': async () => {
      await world.as('anna', insertRead);
      await hold();
      return approve;
    },
    'is a conversation that is rejected': async () => {
      await world.as('anna', insertRead);
      await hold();
      return () => world.as('ben', `select sync.reject('${batch}', revert => true, team => 41)`);
    },
  };

  it.each(Object.entries(scenes))('nothing of the other one moves where a request %s', async (_, prepare) => {
    const act = await prepare();
    await copy();
    const before = await theirs();
    expect(before.flat().length).toBeGreaterThan(3);
    await act();
    expect(await theirs()).toEqual(before);
  });

  it('a tag that the other one has is no tag of this one', async () => {
    await world.as('anna', insertTag);
    await world.force(`insert into mirror.tags (team_id, id, tag) values (40, 900, 'VIP')`);
    await answered(await sent(), confirmed);
    const tags = () => world.query('select id, local_id from mirror.tags where team_id = 41');
    expect(await tags()).toEqual([{ id: 900n, local_id: key }]);

    // The listing brought it before its answer came, under an id that is one of a request of the other team.
    await world.clear();
    await world.as('anna', insertTag);
    await world.force(`insert into mirror.tags (team_id, local_id, id, tag) values (41, '${other}', 900, 'VIP');
      insert into sync.changes (team_id, local_id, kind) values (40, '${other}', 'push')`);
    await answered(await sent(), confirmed);
    expect(await tags()).toEqual([{ id: 900n, local_id: key }]);
  });

  it('what the other one has, sends or knows of the service counts for none of this one', async () => {
    await world.force(`
      insert into sync.learned (team, topic, value) values ('south', 'schedule', '{"grid_minutes": 60, "margin_minutes": 6000}');
      insert into mirror.scheduled_messages (team_id, local_id, inbox_id, id, state, execute_at) values (40, '${other}', 7, 900, 'scheduled', now());
      insert into mirror.scheduled_messages (team_id, local_id, inbox_id, execute_at) values (40, '${key}', 7, now());
      insert into sync.edits (xid, team_id, local_id, field, edited_at, authors) values (pg_current_xact_id(), 40, '${key}', 'message', now(), '{ben}');
      insert into sync.held_fields (team_id, local_id, field, reason, decision, edit_id)
      select team_id, local_id, field, 'review', 'approved', edit_id from sync.edits;
      insert into sync.changes (team_id, local_id, kind, state, new, edits) values (40, '${key}', 'push', 'open', '{"message": {}}', '{"message": 1}')`);
    const states = () => world.query('select id, state from mirror.scheduled_messages where team_id = 41');
    const ended = () =>
      world.query('select ended_how from sync.edits where team_id = 41 order by edit_id desc limit 1');

    await world.as('anna', insertTag);
    await world.as('anna', 'delete from mirror.tags where team_id = 41');
    expect(await ended()).toEqual([{ ended_how: 'withdrawn' }]);

    await world.as('anna', insert().replace("interval '1 day'", "interval '1 day 15 minutes'"));
    await world.as('anna', cancel);
    expect(await states()).toEqual([{ id: null, state: 'cancelled' }]);
    expect(await ended()).toEqual([{ ended_how: 'withdrawn' }]);

    await world.force('delete from mirror.scheduled_messages where team_id = 41');
    await world.as('anna', insert());
    expect(await only()).toMatchObject({ open: null, hold: null });
    const request = await sent();
    expect(
      await world.query(`select approved from sync.changes where team_id = 41 and kind = 'push'`),
    ).toEqual([{ approved: false }]);
    await answered(request, unknown);
    await world.as('ben', `select sync.resolve_message(41, '${key}', 900, null)`);
    expect(await states()).toEqual([{ id: 900n, state: 'scheduled' }]);
    expect(await world.requests.readDue(9)).toEqual([{ localId: key, id: 900n }]);

    await world.requests.applyShown(key, { shown: { text: 'Theirs' }, raw: {} });
    expect(await world.query('select text from mirror.scheduled_messages where team_id = 41')).toEqual([
      { text: 'Theirs' },
    ]);
    await world.as('anna', edit);
    await hold();
    const decided = await world.as('ben', `select outcome from sync.approve('${batch}', team => 41)`);
    expect(decided).toEqual([{ outcome: 'approved' }]);
    await answered(await sent(), { kind: 'refused', detail: 'no' });
    expect(await world.query('select reason, decision from sync.held_fields where team_id = 41')).toEqual([
      { reason: 'refused', decision: null },
    ]);
  });

  it.each([
    [
      'moved',
      () => world.requests.applyShown(key, { shown: { text: 'Theirs' }, raw: {} }),
      { state: 'waiting', was: 'Hello' },
    ],
    [
      'gone',
      async () => {
        await answered(await sent(), { kind: 'gone', detail: 'gone' });
        await world.requests.applyShown(key, null);
      },
      { state: 'cancelled', detail: 'gone', was: null },
    ],
  ] as const)(
    'a message that is %s is judged by itself, not by that of the other one',
    async (_, act, becomes) => {
      await replaced();
      await copy();
      await world.force(`update mirror.scheduled_messages set id = 800, state = 'waiting',
      base = '{"text": "Other", "execute_at": "2026-01-01T00:00:00Z"}' where team_id = 40`);
      // The row that was written last comes last: what takes any one takes the other's.
      await world.force('update mirror.scheduled_messages set detail = detail where team_id = 41');
      await act();
      const own = `select m.state, m.detail, c.base #>> '{message,text}' as was from mirror.scheduled_messages m
      left join sync.changes c on c.team_id = 41 and c.kind = 'pull' where m.team_id = 41`;
      expect(await world.query(own)).toMatchObject([becomes]);
    },
  );

  it('what is read of one has nothing of the other', async () => {
    await replaced();
    const [tag, conversation] = [
      '33333333-3333-4333-8333-333333333333',
      '44444444-4444-4444-8444-444444444444',
    ];
    await world.as(
      'anna',
      `${insert('list_id = 3', other)}; ${insertTag.replace(key, tag)}; ${insertRead.replace(key, conversation)}`,
    );
    await world.force(`insert into sync.held_fields (team_id, local_id, field, reason, edit_id)
      select team_id, local_id, field, 'refused', edit_id from sync.edits where field = 'tag'`);
    const [{ decision_id: decision } = {}] = await world.query(
      'select max(decision_id) as decision_id from sync.changes',
    );
    expect(await world.requests.open(await only('conversation_read'))).not.toBeNull();
    const views = ['schedule', 'held', 'pending', 'changes', 'decisions', 'inbox_members'].map(
      (view) => `report.${view}`,
    );
    const { kysely } = world.db;
    const read = async () => ({
      requests: await world.requests.read(),
      due: await world.requests.readDue(9),
      sent: await readSentMessages(kysely, 41n),
      shown: await readShownRequests(kysely, 41n, 'all'),
      moves: await readRequestMoves(kysely, 41n, key),
      inboxes: await findInboxes(kysely, 41n, '7'),
      ownNumber: await findOwnNumber(kysely, 41n),
      tally: await tallyRequests(kysely, ['north']),
      run: await readUndoneRequests(kysely, 41n, { kind: 'run', number: 7n }),
      decision: await readUndoneRequests(kysely, 41n, { kind: 'decision', number: decision as bigint }),
      views: await Promise.all(
        views.map((view) =>
          world.query(
            `select to_jsonb(v) as row from ${view} v where team_id = 41 order by to_jsonb(v)::text`,
          ),
        ),
      ),
    });
    /** Without what passes by itself. */
    const still = (value: unknown) =>
      JSON.stringify(value, (name, part: unknown) =>
        name.endsWith('InMs') || name === 'ageMs' ? null : typeof part === 'bigint' ? String(part) : part,
      );
    const before = await read();
    expect(before.requests.all).toHaveLength(4);
    expect(before.shown).toHaveLength(4);
    expect(before.moves).not.toEqual([]);
    expect(before.views.map((rows) => rows.length > 0)).toEqual(views.map(() => true));
    await copy();
    await world.force(`update mirror.inboxes set phone = '15550123' where team_id = 40`);
    expect(still(await read())).toBe(still(before));
    // A decision is of the team that it was made for, whoever asks for its number.
    expect(await readUndoneRequests(kysely, 40n, { kind: 'decision', number: decision as bigint })).toEqual(
      [],
    );
  });

  it('what was made and learned for one counts for that one', async () => {
    await world.force(`
      insert into sync.learned (team, topic, value)
        values ('north', 'schedule', '{"margin_minutes": 41}'), ('south', 'schedule', '{"margin_minutes": 40}');
      insert into sync.changes (team_id, local_id, kind, sent_at, outcome)
        values (40, '${key}', 'push', now(), '{"tag": "confirmed"}'), (40, '${other}', 'push', now(), '{"tag": "confirmed"}'),
          (41, '${key}', 'push', now(), '{"tag": "confirmed"}')`);
    const known = async (teamId: bigint) => {
      const { newTags, times } = await readRequests(world.db.kysely, teamId);
      return [newTags, times.marginMinutes];
    };
    expect([await known(40n), await known(41n)]).toEqual([
      [2, 40],
      [1, 41],
    ]);
    expect(
      await world.query('select team_id, margin_minutes from mirror.message_terms() order by 1'),
    ).toEqual([
      { team_id: 40n, margin_minutes: 40 },
      { team_id: 41n, margin_minutes: 41 },
    ]);
  });

  it('what is decided or undone of one does not wait for the other', async () => {
    await world.as('anna', insert());
    await answered(await sent(), confirmed);
    await world.as('anna', edit);
    await hold();
    await world.force(
      `insert into sync.user_base (team_id, id, name, first_name, last_name) select team_id, id, name, first_name, last_name from mirror.users where team_id = 41`,
    );
    onTestFinished(async () => {
      await world.force('delete from sync.user_base; delete from sync.absences');
    });
    await world.as('anna', `update mirror.users set email = 'anne.berg@example.com' where team_id = 41`);
    await world.force(`insert into sync.held_fields (team_id, user_id, field, reason, edit_id, batch, mirror_value)
      select team_id, user_id, field, 'review', edit_id, '${batch}', new_value from sync.edits where field = 'email'`);
    await copy();
    await world.force(`insert into sync.absences (team_id, resource, id, missing_since, batch, detail, scope, withheld_at)
      select team_id, 'tags', 5, now(), 'aa', 'few', 's', now() from mirror.teams`);
    await world.db.transaction(async (theirs) => {
      for (const table of [...tables, 'sync.held_fields', 'sync.absences'])
        await sql`select from ${sql.raw(table)} where team_id = 40 for update`.execute(theirs);
      await world.db.transaction(async (tx) => {
        await sql`set local lock_timeout = '1s'`.execute(tx);
        await lockUndoneMessages(tx, 'north', { kind: 'run', number: 7n });
        await sql`select sync.approve('aa', team => 41)`.execute(tx);
        await sql`select sync.approve(${batch}, team => 41)`.execute(tx);
        await sql`select sync.undecide((select max(decision_id) from sync.changes))`.execute(tx);
        await sql`select sync.reject(${batch}, revert => true, team => 41)`.execute(tx);
      });
    });
  });

  it('what waits in a backup is held under its own edit, and what is to be cancelled in the other one is not', async () => {
    await world.as('anna', insert());
    await copy();
    await world.force('update mirror.scheduled_messages set cancels = true where team_id = 40');
    await world.force(`select sync.hold_messages('restored')`);
    expect(
      await world.query(`select m.team_id, m.state, h.edit_id = e.edit_id as is_own from mirror.scheduled_messages m
        left join sync.edits e on e.team_id = m.team_id
        left join sync.held_fields h on h.team_id = m.team_id order by 1`),
    ).toEqual([
      { team_id: 40n, state: 'waiting', is_own: null },
      { team_id: 41n, state: 'held', is_own: true },
    ]);
  });

  it('a daemon of the other one does not hear of them', async () => {
    await world.as('anna', insert());
    await answered(await sent(), unknown);
    const heard = new Map<string, number>();
    const listening = Promise.withResolvers<void>();
    const listener = createListener({
      url: world.url,
      onEdit: (team) => heard.set(team, (heard.get(team) ?? 0) + 1),
      onListening: listening.resolve,
      onLost: listening.reject,
    });
    onTestFinished(() => listener.close());
    await listening.promise;
    const keys = await world.query('select edit_key::text as key from sync.teams order by team_id');
    const [south = '', north = ''] = keys.map((row) => String(row['key']));
    await world.as('ben', `select sync.resolve_message(41, '${key}', 900, null)`);
    await world.query(`update mirror.users set email = 'anne@example.com' where team_id = 41`);
    await world.query(`insert into mirror.tags (team_id, local_id, tag) values (41, '${other}', 'VIP')`);
    await world.force(`insert into sync.held_fields (team_id, local_id, field, reason, edit_id, batch)
      select team_id, local_id, field, 'review', edit_id, '${batch}' from sync.edits where field = 'tag'`);
    await approve();
    for (const team of [40, 41])
      await world.query(`insert into mirror.tags (team_id, tag) values (${team}, 'VIP too')`);
    await eventually('all are heard of', () => (heard.get(north) ?? 0) >= 5);
    expect(heard).toEqual(
      new Map([
        [north, 5],
        [south, 1],
      ]),
    );
  });
});

const isNothing = (value: unknown): boolean =>
  value === null ||
  value === undefined ||
  value === 0 ||
  value === '' ||
  (value instanceof Map || value instanceof Set
    ? value.size === 0
    : Array.isArray(value) && value.length === 0);

describe('the views of a team beside one that has everything alike, also the ids', () => {
  let own: TestDatabase;
  /** Gives the team a bit of everything. */
  const fill = async ({ db }: TestDatabase) => {
    await runSqlText(
      db,
      `insert into sync.teams (team, team_id, writes) values ('north', 41, '{"tags": true, "schedule": true, "conversations": true}');
       insert into sync.runs (team, team_id, command, outcome, groups, finished_at, requests, endpoints)
         select 'north', 41, 'reconcile', 'complete', '{users,listings,counts}', now() - interval '2 days', 1, '{"GET /v1/team": {"requests": 1, "ms": 1}}';
       insert into sync.due (team, run_group, complete_at, outcome) select 'north', g, now(), 'complete' from unnest('{users,listings,counts,edits}'::text[]) g;
       begin; set local musterd.writing = 'on'; set local musterd.run = '1';
       insert into mirror.teams (team_id, name, list_size) values (41, 'Own', 300);
       insert into mirror.roles (team_id, role_id, name, members) values (41, 3, 'Own', 1), (41, 4, 'Own two', 1);
       insert into mirror.users (team_id, id, name, first_name, last_name, email, role_id, role, resolved)
         select 41, n, 'Own ' || n, 'Own', n::text, 'own' || n || '@example.com', 3, 'Own', true from generate_series(1, 3) n;
       insert into sync.user_base (team_id, id, name, first_name, last_name, email, role_id) select team_id, id, name, first_name, last_name, email, role_id from mirror.users where team_id = 41;
       insert into mirror.inboxes (team_id, id, name, members) values (41, 7, 'Own', '[1, 2]');
       insert into mirror.tags (team_id, id, tag) values (41, 5, 'Own');
       insert into mirror.contact_fields (team_id, id, title) values (41, 5, 'Own');
       insert into mirror.surveys (team_id, id, name) values (41, 5, 'Own');
       insert into mirror.contact_counts (team_id, segment, count, counted_at) values (41, 'all', 5, now() - interval '1 day'), (41, 'all', 6, now());
       commit`,
    );
    // In one statement, all of it would be of one moment.
    await runSqlText(
      db,
      `begin; set local musterd.writing = 'on'; set local musterd.run = '1';
       update mirror.tags set color = 'red'; update mirror.roles set name = name || ' new';
       update mirror.users set role_id = 4 where team_id = 41 and id = 2; update mirror.users set gone_at = now() where team_id = 41 and id = 3;
       insert into mirror.tags (team_id, id, tag) values (41, 6, 'Own later');
       insert into sync.absences (team_id, resource, id, missing_since, batch, detail, scope, withheld_at) values (41, 'tags', 5, now(), 'aa', 'few', 's', now());
       commit;
       begin; set local musterd.writing = 'on'; update mirror.tags set tag = 'Own, renamed' where id = 6; commit;
       insert into sync.absences (team_id, resource, id, missing_since, verdict, decided_at) values (41, 'users', 1, now(), 'approved', now());
       insert into sync.changes (team_id, user_id, kind, decision_id, decided_by) values (41, 1, 'approve', 6, 'Own');
       begin; set local musterd.actor = 'Own editor';
       update mirror.users set email = 'edited@example.com', phone = '15550100' where team_id = 41 and id = 1;
       insert into mirror.tags (team_id, local_id, tag) values (41, '11111111-1111-4111-8111-111111111111', 'Asked');
       insert into mirror.scheduled_messages (team_id, local_id, inbox_id, user_id, text, phone_number, execute_at)
         values (41, '22222222-2222-4222-8222-222222222222', 7, 1, 'Own', '15550100', date_trunc('hour', now()) + interval '1 day');
       commit;
       insert into sync.held_fields (team_id, user_id, local_id, field, reason, edit_id, batch)
         select team_id, user_id, local_id, field, 'review', edit_id, 'bb' from sync.edits where ended_at is null and field in ('email', 'message');
       insert into sync.changes (team_id, user_id, local_id, run_id, kind, decision_id, base, old, new, edits, decided_by)
         select e.team_id, e.user_id, e.local_id, 1, k, case k when 'approve' then 5 end, '{}', '{}', jsonb_build_object(e.field, e.new_value),
           jsonb_build_object(e.field, e.edit_id), 'Own'
         from sync.edits e, unnest('{approve,push}'::text[]) k where e.ended_at is null`,
    );
    await runSqlText(
      db,
      `begin; set local musterd.writing = 'on'; set local musterd.run = '1';
       insert into mirror.users (team_id, id, name, first_name, phone, resolved) select 41, n, 'Own ' || n, 'Own', '1', true from generate_series(4, 6) n;
       insert into sync.user_base (team_id, id, name, first_name, last_name, phone) select team_id, id, name, first_name, last_name, phone from mirror.users where team_id = 41 and id > 3;
       insert into mirror.user_lookups (team_id, email) values (41, 'own@example.com');
       insert into mirror.roles (team_id, role_id, name, members) values (41, 5, 'Own late', 1);
       update mirror.roles set name = 'Own later' where team_id = 41 and role_id = 5;
       update mirror.teams set name = 'Own name' where team_id = 41;
       update mirror.tags set first_seen_at = now() - interval '5 days' where team_id = 41 and id = 5;
       insert into sync.stale_rows (team_id, id) values (41, 4);
       insert into sync.rejected_rows (team_id, run_id, resource, reason, excerpt) values (41, 1, 'tags', 'Own', '');
       commit;
       update mirror.users set phone = '15550105' where team_id = 41 and id = 5;
       insert into mirror.conversation_reads (team_id, local_id, inbox_id, user_id, target) values (41, '33333333-3333-4333-8333-333333333333', 7, 1, 'a');
       insert into sync.held_fields (team_id, user_id, field, reason, detail, shown_value, edit_id)
         select team_id, user_id, field, 'conflict', 'Own', '"2"', edit_id from sync.edits where user_id = 5;
       insert into sync.changes (team_id, user_id, run_id, kind, state, old, new, outcome, batch, decision_id, decided_by, closed_at) values
         (41, 4, 1, 'push', 'closed', '{"phone": "1"}', '{"phone": "4"}', '{"phone": "ineffective"}', null, null, null, null),
         (41, 4, 1, 'push', 'open', '{"phone": "1"}', '{"phone": "4"}', '{}', null, null, null, null),
         (41, 5, 1, 'push', 'closed', '{"phone": "1"}', '{"phone": "5"}', '{"phone": "unanswered"}', null, null, null, null),
         (41, 6, 1, 'resolve', 'closed', '{"phone": "1"}', '{"phone": "2"}', '{}', null, 5, 'Own', null),
         (41, 6, 1, 'pull', 'closed', '{"phone": "1"}', '{"phone": "2"}', '{}', null, null, null, null),
         (41, 6, 1, 'approve', 'closed', '{"phone": "1"}', '{"phone": "2"}', '{}', 'bb', null, 'Own', now());
       insert into sync.learned (team, topic, value, hashes, learned_at) values
         ('north', 'users at rest', jsonb_build_object('mark', sync.mark()), 'Own', now()), ('north', 'tags at rest', jsonb_build_object('mark', sync.mark()), null, now()),
         ('north', 'credential Own', '{}', null, now()), ('north', 'refusal told', '{}', null, now() - interval '2 days'),
         ('north', 'a version moves though no value does', '{"users": 9, "shown": 9}', null, now());
       insert into sync.changes (team_id, local_id, kind, state) select 41, local_id, 'push', 'open' from mirror.tags where team_id = 41 and local_id is not null;
       insert into sync.changes (team_id, user_id, run_id, kind, new) values (41, 6, 2, 'push', '{"role_id": 3}');
       insert into sync.held_fields (team_id, user_id, field, reason, until) values (41, 4, 'role_id', 'conflict', '2100-01-01'),
         (41, 6, 'email', 'asked', '2100-01-01'), (41, null, 'phone', 'limit', null);
       insert into sync.leases (team, lease_id, host, pid, process, taken_at, expires_at)
         values ('north', gen_random_uuid(), 'Own', 1, 'Own', now(), now() + interval '1 hour');
       insert into sync.rate_limits (team, next_at) values ('north', now() + interval '1 hour');
       insert into sync.runs (team, team_id, command, outcome, error_code, groups, finished_at)
         values ('north', 41, 'daemon', 'failed', 'credentials', '{counts}', now()), ('north', 41, 'resync', 'complete', null, '{users}', now());
       update sync.due set schedule = '* * * * *', due_at = now() + case run_group when 'counts' then interval '1 hour' else '-1 hour' end,
         outcome = case run_group when 'counts' then 'failed' else outcome end where team = 'north'`,
    );
  };
  beforeAll(async () => {
    own = await createTestDatabase();
    await fill(own);
  });
  afterAll(() => own.close());

  const northern = {
    team: 'north',
    teamId: 41n,
    decision: 5n,
    runId: 1n,
    batch: 'bb',
    users: [1n, 2n, 3n, 4n, 5n, 6n],
    requests: ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222'],
    email: 'own1@example.com',
  };

  /** Gives another team the same, under other names and with numbers of its own. */
  const copyOf = async (tx: Transaction, by: number) => {
    const ask = askIn(tx);
    await ask(`set local session_replication_role = replica`);
    const tables =
      await ask(`select c.oid::regclass::text as name, string_agg(quote_ident(a.attname), ', ') as columns
      from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
      where c.relnamespace::regnamespace::text in ('mirror', 'sync') and c.relkind = 'r' and c.relname <> 'team_roles'
        and exists (select from pg_attribute t where t.attrelid = c.oid and t.attname in ('team_id', 'team')) group by c.oid`);
    for (const { name, columns } of tables)
      await ask(`
        insert into ${String(name)} (${String(columns)}) overriding system value
        select ${String(columns)} from (
          select (jsonb_populate_record(null::${String(name)}, t.row
            || coalesce((select jsonb_object_agg(k, case k when 'team' then '"south"' when 'team_id' then '40' when 'edit_key' then to_jsonb(gen_random_uuid()) when 'plan_key' then to_jsonb(gen_random_uuid())
                when 'local_id' then t.row -> k else to_jsonb((t.row ->> k)::bigint + ${by}) end)
              from unnest('{team,team_id,edit_key,plan_key,lookup_id,rejected_id,run_id,change_id,edit_id,decision_id}'::text[]) k where t.row ->> k is not null), '{}')
            || coalesce((select jsonb_build_object('edits', jsonb_object_agg(k.key, k.value::bigint + ${by}))
              from jsonb_each_text(nullif(t.row -> 'edits', 'null')) k having count(*) > 0), '{}')
            -- Of two periods, the later one counts.
            || coalesce((select jsonb_object_agg(k, (t.row ->> k)::timestamptz + interval '1 microsecond')
              from unnest('{valid_from,valid_to}'::text[]) k where t.row ? k), '{}'))).*
          from (select replace(to_jsonb(o)::text, 'Own', 'Other')::jsonb as row from ${String(name)} o) t
        ) s`);
    // And what only the other one has: other times, pushes under way, a hold.
    await ask(`
      insert into mirror.contact_counts (team_id, segment, counted_at, count)
        select 40, segment, counted_at + d, count + 1 from mirror.contact_counts, unnest('{-3 days,1 minute,3 days}'::interval[]) d where team_id = 41;
      insert into sync.runs (team, team_id, command, outcome, groups, finished_at)
        select 'south', 40, 'reconcile', 'complete', '{users,listings,counts}', now() - d from unnest('{9 days,1 day}'::interval[]) d;
      update mirror.roles set first_seen_at = first_seen_at - interval '5 days' where team_id = 40 and role_id = 3;
      update mirror.conversation_reads set state = 'refused' where team_id = 40;
      insert into sync.changes (team_id, user_id, kind, state) select 40, id, 'push', 'open' from mirror.users where team_id = 41 on conflict do nothing;
      insert into sync.changes (team_id, local_id, kind, state) select 40, local_id, 'push', 'open' from sync.requests where team_id = 41 on conflict do nothing;
      insert into sync.held_fields (team_id, user_id, field, reason, until) values (40, 1, 'phone', 'asked', '2100-01-01')`);
    await ask(`set local session_replication_role = origin`);
  };

  it.each([1_000_000, -1_000_000])('have nothing of that one, whose numbers are others by %i', async (by) => {
    const undone = new Error('undone');
    const work = own.db.transaction(async (tx) => {
      const ask = askIn(tx);
      const views = (
        await ask(`select format('report.%I', c.relname) as view from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'team_id'
          where c.relnamespace = 'report'::regnamespace order by 1`)
      ).map((row) => String(row['view']));
      const read = async () => {
        const shown: Record<string, unknown> = {};
        // What depends on the clock of the moment is not compared.
        for (const view of [
          ...views,
          'report.roster_as_of(now())',
          'sync.requests',
          'sync.role_names',
          'mirror.inbox_members',
        ])
          shown[view] = await ask(
            `select to_jsonb(v) - '{age,age_seconds,late_by,overdue_for}'::text[] as row from ${view} v where team_id = 41 order by to_jsonb(v)::text`,
          );
        return { ...shown, ...(still(await readAllOf(own.db, tx, northern)) as object) };
      };
      const before = await read();
      expect(Object.entries(before).flatMap(([name, read]) => (isNothing(read) ? [name] : []))).toEqual([]);
      await copyOf(tx, by);
      expect(await read()).toEqual(before);
      throw undone;
    });
    await expect(work).rejects.toBe(undone);
  });

  it('stay as they are, whatever is written for that one', async () => {
    const undone = new Error('undone');
    const work = own.db.transaction(async (tx) => {
      const ask = askIn(tx);
      await copyOf(tx, 1_000_000);
      await ask(`set local musterd.writing = 'on'; set local musterd.run = '1'`);
      const tables = await ask(`select c.oid::regclass::text as name,
          case when min(a.attname) = 'team' then $$t.team in ('north', 'south')$$ else 't.team_id in (40, 41)' end as of_both,
          case when min(a.attname) = 'team' then $$case t.team when 'south' then 'theirs' else 'own' end$$ else $$case t.team_id when 40 then 'theirs' else 'own' end$$ end as whose
        from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname in ('team_id', 'team') and not a.attisdropped
        where c.relnamespace::regnamespace::text in ('mirror', 'sync') and c.relkind = 'r' and c.relname <> 'team_roles' group by c.oid order by 1`);
      /** A row that was written again has another `xmin`. */
      const rows = async () =>
        (
          await ask(
            `select whose, jsonb_agg(entry order by entry::text)::text as rows from (${tables
              .map(
                ({ name, of_both, whose }) =>
                  `select ${whose} as whose, jsonb_build_array('${name}', t.xmin::text, to_jsonb(t)) as entry from ${name} t where ${of_both}`,
              )
              .join(' union all ')}) r group by whose order by whose`,
          )
        ).map((row) => row['rows']);
      const [mine, theirs] = await rows();
      for (const [what, write] of Object.entries(writesOf(tx, northern))) {
        await ask('savepoint before');
        await write();
        const [after, others] = await rows();
        expect([what, others]).toEqual([what, theirs]);
        expect([what, after]).not.toEqual([what, mine]);
        await ask('rollback to savepoint before');
      }
      throw undone;
    });
    await expect(work).rejects.toBe(undone);
  });

  /** Makes of the other team what would decide otherwise wherever the one is asked about. */
  const turnAround = async (tx: Transaction) => {
    const ask = askIn(tx);
    await ask(`set local session_replication_role = replica`);
    await ask(`
      update sync.teams set four_eyes = true where team_id = 40;
      update sync.user_base set first_name = 'Other base', last_name = 'Other base', phone = '15550105',
        email = case when email is null and id <> 5 then 'base@example.com' end, role_id = case when role_id is null then 3 end where team_id = 40;
      update mirror.users set gone_at = case when gone_at is null then now() end where team_id = 40;
      update mirror.roles set gone_at = now() where team_id = 40;
      insert into sync.edits (xid, team_id, user_id, field, old_value, new_value, edited_at, edited_by, authors)
        select '10', 40, u.id, f, '"Other"', case f when 'role_id' then '4' else '"Other new"' end::jsonb, now(), 'ben', '{ben}'
        from mirror.users u, unnest('{name,email,phone,role_id}'::text[]) f where u.team_id = 41 on conflict do nothing;
      insert into sync.held_fields (team_id, user_id, field, reason, batch, edit_id)
        select team_id, user_id, field, 'unsupported', 'bb', edit_id from sync.edits where team_id = 40 and ended_at is null and user_id is not null
        on conflict (team_id, user_id, field, local_id) do update set reason = excluded.reason, batch = excluded.batch, decision = 'rejected';
      update sync.changes set new = case when user_id = 5 then '{"phone": "a"}' else '{"name": {}, "email": "a", "phone": "a", "role_id": 1, "tag": {"id": 77}}' end::jsonb,
        outcome = '{}', base = '{}' where team_id = 40 and kind = 'push' and state = 'open';
      update sync.user_periods set role_id = 5, role_arrived_at = 'infinity', valid_from = '2999-01-01' where team_id = 40 and user_id = 2 and valid_to = 'infinity';
      insert into sync.absences (team_id, resource, id, missing_since, batch, detail, scope, withheld_at)
        select 40, r, n, now(), 'aa', 'few', 's', now() from unnest('{users,tags}'::text[]) r, generate_series(1, 9) n on conflict do nothing`);
    await ask(`
      insert into mirror.users (team_id, id, name, first_name, email, resolved) values (40, 77, 'Other', 'Other', 'user77@example.com', true);
      insert into sync.user_base (team_id, id, name, first_name, last_name) values (40, 78, 'Other', 'Other', '');
      insert into sync.changes (team_id, user_id, kind, new) select 40, n, 'pull', '{"name": {}, "email": "a", "phone": "a", "role_id": 1}'
        from unnest('{1,2,3,4,5,6,79}'::bigint[]) n`);
    await ask(`
      insert into sync.runs (run_id, team, team_id, command, outcome, groups, started_at, finished_at) overriding system value
        values (500, 'south', 40, 'daemon', 'complete', '{}', '2020-01-01', '2020-01-01'), (2000000, 'south', 40, 'daemon', 'complete', '{users}', '2999-01-01', '2999-01-01');
      insert into sync.edits (xid, team_id, user_id, field, edited_at, edited_by, authors, ended_at, ended_how)
        values ('5', 40, 1, 'email', '2020-01-01', 'ben', '{ben}', '2020-01-01', 'agreed');
      insert into mirror.contact_counts (team_id, segment, count, counted_at)
        select 40, 'all', 1, timestamptz '2020-01-01T00:00Z' + n * interval '1 hour' from generate_series(1, 2) n`);
    // The rows that were written last come last: what takes any one takes the other's.
    for (const table of ['sync.user_base', 'mirror.users', 'sync.held_fields', 'sync.edits'])
      await ask(`update ${table} set team_id = team_id where team_id = 41`);
    await ask(`set local session_replication_role = origin`);
  };

  it('do the same for the one, whatever the other one is like', async () => {
    const undone = new Error('undone');
    const work = own.db.transaction(async (tx) => {
      const ask = askIn(tx);
      const outcomeOf = await outcomesIn(tx);
      const all = Object.entries(actsOf(own.db, tx, northern));
      await ask(`
        set local musterd.writing = off;
        update sync.due set mark = '7:9:8' where team = 'north';
        set local session_replication_role = replica;
        update mirror.users set phone = '15550166' where team_id = 41 and id = 6;
        set local session_replication_role = origin;
        update sync.held_fields h set base_value = to_jsonb(b.email), mirror_value = e.new_value, service_value = to_jsonb(b.email), shown_value = to_jsonb(b.email)
          from sync.user_base b, sync.edits e where b.id = h.user_id and h.batch = 'bb' and e.edit_id = h.edit_id`);
      const alone = new Map<string, unknown>();
      for (const [what, act] of all) alone.set(what, await outcomeOf(act));
      await copyOf(tx, 1_000_000);
      await ask(`update sync.edits set xid = '10' where team_id = 40`);
      for (const makeOther of [() => Promise.resolve(), () => turnAround(tx)]) {
        await makeOther();
        for (const [what, act] of all) expect([what, await outcomeOf(act)]).toEqual([what, alone.get(what)]);
      }
      throw undone;
    });
    await expect(work).rejects.toBe(undone);
  });

  it('are not taken for those of a team in which nothing happens', async () => {
    const database = await createTestDatabase();
    onTestFinished(() => database.close());
    await runSqlText(
      database.db,
      `begin; set local musterd.writing = 'on';
       insert into sync.teams (team, team_id) values ('calm', 40);
       insert into sync.runs (run_id, team, team_id, command, outcome, groups, finished_at) overriding system value
         values (0, 'calm', 40, 'reconcile', 'complete', '{users,listings,counts}', now());
       insert into mirror.teams (team_id, name) values (40, 'Calm');
       insert into mirror.users (team_id, id, name, first_name, role_id, role, resolved)
         select 40, n, 'Calm ' || n, 'Calm', n, 'Calm ' || n, true from generate_series(1, 6) n;
       insert into sync.user_base (team_id, id, name, first_name, last_name, role_id) select team_id, id, name, first_name, last_name, role_id from mirror.users;
       insert into sync.due (team, run_group, mark, outcome, started_at) values ('calm', 'edits', pg_current_snapshot(), 'complete', now());
       commit`,
    );
    // Somebody edited, and took it back.
    await runSqlText(database.db, `update mirror.users set email = 'calm@example.com' where id = 1`);
    await runSqlText(database.db, `update mirror.users set email = null where id = 1`);
    const read = async () =>
      still(
        await database.db.transaction((tx) =>
          readAllOf(database.db, tx, { ...northern, team: 'calm', teamId: 40n }),
        ),
      );
    const before = await read();
    await fill(database);
    expect(await read()).toEqual(before);
  });
});
