import { randomBytes } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { CompiledQuery } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { migrate } from '../../src/mirror/migrations.ts';
import { readGuardHistory } from '../../src/mirror/users/held-batches.ts';
import { temporaryFolder } from '../support/checkout.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { servers } from '../support/servers.ts';
import { runMusterd } from '../system/run-musterd.ts';

/** What the command `dump` of 0.1.0 wrote of a mirror with a request in each state; it makes its schema itself. */
const dumpFile = fileURLToPath(new URL('mirror-0.1.0.sql.gz', import.meta.url));
const copyBlock = /^(copy [^\n]* from stdin);\n((?:[^\n]*\n)*?)\\\.\n/gm;

async function load({ db }: TestDatabase): Promise<void> {
  const script = gunzipSync(readFileSync(dumpFile)).toString();
  const inside = script.slice(script.indexOf('begin;\n') + 'begin;\n'.length, script.lastIndexOf('commit;'));
  await db.transaction(async (tx) => {
    let done = 0;
    for (const block of inside.matchAll(copyBlock)) {
      const [all, copy = '', rows = ''] = block;
      await tx.executeQuery(CompiledQuery.raw(inside.slice(done, block.index)));
      await tx.executeQuery(CompiledQuery.raw(copy, [Readable.from([rows], { objectMode: false })]));
      done = block.index + all.length;
    }
    await tx.executeQuery(CompiledQuery.raw(inside.slice(done)));
  });
}

const openRequests = [
  'message 00000000-0000-4000-8000-000000000001, 2999-01-16T09:00:00Z, to 15550201, 15550211 (waiting)',
  'message 00000000-0000-4000-8000-000000000002, 2999-01-17T09:00:00Z, to 15550202 (held)',
  'message 00000000-0000-4000-8000-000000000003, 2999-01-18T09:00:00Z, to 15550203 (being sent)',
  'message 00000000-0000-4000-8000-000000000004, 2999-01-19T09:00:00Z, to 15550204 (unknown)',
  'message 905, 2999-01-20T09:00:00Z, to 15550205 (scheduled)',
  'tag 4870faae-5086-402c-8e7a-0f61ce5848d9, Regular (waiting)',
  'read conversation cf51ccf5-b10f-4f76-9489-de588b8b23c2, to 15550120 (waiting)',
];

describe.each(servers())('migrate of a version 0.1.0 mirror with requests on $name', (server) => {
  let loaded: TestDatabase;
  let database: TestDatabase;
  let folder: ReturnType<typeof temporaryFolder>;
  const sql = async (text: string) => (await runSqlText(database.db, text)).rows;
  const musterd = (...args: readonly string[]) => runMusterd(args, { DATABASE_URL: database.url });
  const drop = () => musterd('migrate', '--drop-requests', join(folder.path, 'requests.jsonl'));
  const migrateNow = () => migrate(database.db, { keepRequests: async () => {} });

  beforeAll(async () => {
    loaded = await createTestDatabase({ server, empty: true });
    await load(loaded);
    // Nobody may be connected to what is copied.
    await loaded.db.close();
  });
  afterAll(() => loaded.close());
  const open = async () => {
    folder = temporaryFolder();
    const template = new URL(loaded.url).pathname.slice(1);
    database = await createTestDatabase({ server: { ...server, template } });
  };
  const close = async () => {
    await database.close();
    folder[Symbol.dispose]();
  };

  describe('with open requests', () => {
    beforeEach(open);
    afterEach(close);

    it('migrate and reconcile fail, list the open requests and change nothing', async () => {
      const before = await sql('select name from sync.migrations order by 1');
      for (const args of [['migrate'], ['reconcile']]) {
        const { code, stdout, stderr } = await runMusterd(args, {
          DATABASE_URL: database.url,
          MUSTERD_BASE_URL: 'https://service.example.net',
          MUSTERD_SECRET_ID: 'me',
          MUSTERD_SECRET_KEY: 'my-own-secret-key',
        });
        expect({
          code,
          stdout,
          listed: stderr.split('\n').filter((line) => openRequests.includes(line.trim())),
        }).toEqual({
          code: 1,
          stdout: '',
          listed: openRequests.map((line) => `  ${line}`),
        });
        expect(stderr).toContain('musterd migrate --drop-requests <file>');
      }
      expect(await sql('select name from sync.migrations order by 1')).toEqual(before);
      expect(await sql('select count(*)::int from mirror.scheduled_messages')).toEqual([[9]]);
    });

    it('migrate lists pending cancellations, and the service’s send time if the mirror’s send time differs', async () => {
      await sql(`begin; set local musterd.writing = 'on';
        update mirror.scheduled_messages set cancels = true, id = 901, base = '{"execute_at": "2999-01-16T09:00:00Z"}' where local_id::text like '%1';
        update mirror.scheduled_messages set id = 907, base = '{"execute_at": "2999-01-25T09:00:00Z"}' where local_id::text like '%7';
        commit`);
      const { stderr } = await musterd('migrate');
      for (const line of [
        'message 901, 2999-01-16T09:00:00Z, to 15550201, 15550211 (waiting, to be cancelled)',
        'message 907, 2999-01-22T09:00:00Z, to 15550207 (scheduled; the service sends it at 2999-01-25T09:00:00Z)',
      ])
        expect(stderr).toContain(`  ${line}\n`);
    });

    it('--drop-requests refuses to overwrite an existing file, and drops no request', async () => {
      const file = join(folder.path, 'requests.jsonl');
      writeFileSync(file, 'of another mirror');
      expect(await drop()).toMatchObject({
        code: 64,
        stderr: expect.stringContaining(`${file} is there already`),
      });
      expect(readFileSync(file, 'utf8')).toBe('of another mirror');
      expect(await sql('select count(*)::int from mirror.scheduled_messages')).toEqual([[9]]);
    });

    it('migrate changes a ledger entry "resolve" that chose the service’s value to "discard", and keeps other entries', async () => {
      await sql(`insert into sync.runs (team, team_id, command, outcome, finished_at) values ('default', 41, 'resolve', 'complete', now());
        insert into sync.changes (team_id, user_id, run_id, kind, base, old, new, closed_at, decided_by)
        select 41, user_id, max(run_id), kind, base::jsonb, old::jsonb, new::jsonb, now(), decided_by from sync.runs, (values
          (1, 'pull', '{"email": "old"}', '{"email": "mine"}', '{"email": "web"}', null),
          (1, 'pull', '{"phone": "1"}', '{"phone": "2"}', '{"phone": "3"}', null),
          (1, 'resolve', '{"email": "old"}', '{"email": "web"}', '{"email": "web"}', 'ada'),
          (2, 'resolve', '{"email": "old"}', '{"email": "web"}', '{"email": "mine"}', 'ada')) v (user_id, kind, base, old, new, decided_by)
        group by 1, 2, 4, 5, 6, 7, 8, 9`);
      await migrateNow();
      expect(
        await sql(`select user_id, kind, field, old_text, new_text, decided_by from report.changes
          where run_id = (select max(run_id) from sync.runs where command = 'resolve') order by 1, 2`),
      ).toEqual([
        [1n, 'discard', 'email', 'mine', 'web', 'ada'],
        [1n, 'pull', 'phone', '2', '3', null],
        [2n, 'resolve', 'email', 'web', 'mine', 'ada'],
      ]);
    });

    it('migrate keeps granted rights on changed views and functions, and revokes musterd_messenger’s rights', async () => {
      const role = `test_analyst_${randomBytes(4).toString('hex')}`;
      await sql(`create role ${role}; grant usage on schema report to ${role};
        grant select on report.changes, report.decisions to ${role}; grant select on report.held to ${role} with grant option;
        grant select (team_id, field, held_because) on report.pending to ${role} with grant option;
        grant execute on function sync.settled(interval, boolean, xid8) to ${role} with grant option;
        grant execute on function sync.approve(text, bigint[], text, bigint, bigint[]) to ${role};
        grant execute on function sync.reject(text, bigint[], text, boolean, bigint, bigint[]) to ${role} with grant option`);
      const views = `c.relnamespace = 'report'::regnamespace and c.relname in ('changes', 'decisions', 'held', 'pending')`;
      const granted = `a.grantee::text, a.privilege_type, a.is_grantable`;
      const rights = `
        select c.relname::text as place, ${granted} from pg_class c, aclexplode(c.relacl) a where ${views} and a.grantee <> c.relowner
        union all select c.relname || '.' || replace(t.attname, 'held_because', 'reason'), ${granted} from pg_class c join pg_attribute t on t.attrelid = c.oid, aclexplode(t.attacl) a where ${views}
        union all select p.proname, ${granted} from pg_proc p, aclexplode(p.proacl) a where p.proname in ('approve', 'reject', 'settled') and a.grantee <> p.proowner
        order by 1, 2, 3`;
      const messenger = String((await sql(`select 'musterd_messenger'::regrole::oid::text`)).flat()[0]);
      const before = (await sql(rights)).filter(([, grantee]) => grantee !== messenger);
      await migrateNow();
      expect(await sql(rights)).toEqual(before);
      // Whoever may approve may choose a side, which was a command of the owner's.
      const mayCall = (name: string) =>
        sql(
          `select ${granted} from pg_proc p, aclexplode(p.proacl) a where p.proname = '${name}' and a.grantee <> p.proowner order by 1`,
        );
      expect(await mayCall('resolve')).toEqual(await mayCall('approve'));
      expect(before.map(([place]) => place)).toEqual(
        expect.arrayContaining([
          'approve',
          'reject',
          'changes',
          'held',
          'pending.field',
          'pending.reason',
          'pending.team_id',
          'settled',
        ]),
      );
      expect(
        await sql(
          `select has_schema_privilege('musterd_messenger', 'mirror', 'usage') as enters, has_table_privilege('musterd_messenger', 'mirror.users', 'select') as sees`,
        ),
      ).toEqual([[false, false]]);
      await sql(`drop owned by ${role}; drop role ${role}`);
    });

    it.each([
      ['view', 'select local_id from report.changes'],
      ['view', 'select * from report.schedule'],
      ['materialized view', 'select * from mirror.tags'],
      ['view', 'select id from mirror.scheduled_messages'],
    ])('migrate fails if a foreign %s uses an object that migrate drops: %s', async (kind, query) => {
      await sql(`create schema ours; create ${kind} ours.mine as ${query}`);
      await expect(migrateNow()).rejects.toThrow(
        /Something of yours uses what this version of musterd drops .*ours\.mine.*run "musterd migrate" again/s,
      );
      expect(await sql('select count(*)::int from mirror.scheduled_messages')).toEqual([[9]]);
      await sql(`drop ${kind} ours.mine`);
      await migrateNow();
    });
  });

  describe('after --drop-requests', () => {
    const users = 'select id, email, phone from mirror.users order by id';
    let before: Record<'changes' | 'users', unknown>;
    let dropped: unknown;
    beforeAll(async () => {
      await open();
      await sql(`insert into sync.held_fields (team_id, user_id, field, reason, batch, decision) values
        (41, 5, 'email', 'limit', null, null), (41, 6, 'email', 'limit', null, 'approved'), (41, 7, 'email', 'limit', 'abc', 'approved'),
        (41, 8, 'email', 'limit', 'abc', 'rejected'), (41, 9, 'email', 'conflict', null, null), (41, 10, 'email', 'review', 'abc', null), (41, 11, 'email', 'gone', null, null)`);
      await sql(
        `insert into sync.stale_rows (team_id, id, since, passes) values (41, 2, '2026-11-27 09:00', 2), (41, 9, now(), 1), (42, 1, now(), 1)`,
      );
      before = { changes: await sql('select count(*)::int from sync.changes'), users: await sql(users) };
      dropped = await drop();
    });
    afterAll(close);

    it('migrate writes all requests to a file that only the owner can read, and drops the tables of requests', async () => {
      expect(dropped).toMatchObject({ code: 0, stderr: expect.stringContaining('8 requests written to ') });
      const file = join(folder.path, 'requests.jsonl');
      expect(statSync(file).mode & 0o777).toBe(0o600);
      const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
      expect(lines.map((line) => JSON.parse(line))).toMatchObject([
        { kind: 'message', state: 'waiting', row: { text: 'Message 1', targets: ['15550201', '15550211'] } },
        { kind: 'message', state: 'held' },
        { kind: 'message', state: 'being sent' },
        { kind: 'message', state: 'unknown' },
        { kind: 'message', state: 'scheduled', id: 905, execute_at: '2999-01-20T09:00:00.000Z' },
        { kind: 'message', state: 'refused', recipient: '15550207' },
        { kind: 'tag', recipient: 'Regular' },
        { kind: 'conversation_read', recipient: '15550120', team_id: 41 },
      ]);
      expect(
        await sql(`select c.oid::regclass::text from pg_class c
          where c.relnamespace::regnamespace::text in ('mirror', 'sync', 'report') and c.relname ~ 'schedule|conversation|requests'`),
      ).toEqual([]);
      expect(
        await sql(`select a.attrelid::regclass::text from pg_attribute a join pg_class c on c.oid = a.attrelid
          where c.relnamespace::regnamespace::text in ('mirror', 'sync', 'report') and a.attname = 'local_id'`),
      ).toEqual([]);
      const again = await drop();
      expect(again).toMatchObject({ code: 0, stderr: expect.stringContaining('No request was open') });
    });

    it('migrate keeps all entries of the ledger, and closes open message pushes with the outcome "unknown"', async () => {
      expect(await sql('select count(*)::int from sync.changes')).toEqual(before.changes);
      const of = (n: number) => `coalesce(new -> 'message', old -> 'message') ->> 'local_id' like '%${n}'
        or old -> 'message' ->> 'local_id' like '%${n}'`;
      expect(
        await sql(`select kind, state, outcome ->> 'message' as outcome, new -> 'message' ->> 'text' as text, decided_by, decided_why from sync.changes
          where ${of(4)} order by change_id`),
      ).toEqual([
        ['approve', 'closed', null, 'Message 4', 'carol', 'the spring campaign'],
        ['push', 'closed', 'unknown', 'Message 4', null, null],
      ]);
      expect(
        await sql(
          `select kind, outcome ->> 'message' as outcome, request_id from sync.changes where ${of(8)} order by change_id`,
        ),
      ).toEqual([
        ['approve', null, null],
        ['push', 'confirmed', 'req-8'],
        ['push', 'confirmed', 'req-cancel'],
      ]);
      expect(
        await sql(`select count(*)::int from report.changes where field = 'message' and user_id is null`),
      ).toEqual([[15]]);
      expect(await sql(`select count(*)::int, count(state)::int as known from report.decisions`)).toEqual([
        [7, 0],
      ]);
    });

    it('readGuardHistory does not count a message that 0.1.0 sent today as a push to a user', async () => {
      await sql(
        `update sync.changes set opened_at = now(), sent_at = now() where kind = 'push' and user_id is null`,
      );
      expect((await readGuardHistory(database.db.kysely, 41n)).pushedToday).toEqual(new Set());
    });

    it('migrate keeps users, their edits and holds, and the service’s tags', async () => {
      expect(await sql(users)).toEqual(before.users);
      expect(await sql('select user_id, field, state, reason from report.pending order by 1')).toEqual([
        [1n, 'email', 'waiting', null],
        [2n, 'phone', 'held', 'limit'],
      ]);
      expect(
        await sql('select user_id, field, batch, mirror_text from report.held where user_id < 5'),
      ).toEqual([[2n, 'phone', 'aaaaaaaaaaaa', '15550199']]);
      expect(await sql('select id, tag from mirror.tags order by id')).toEqual([
        [5n, 'VIP'],
        [6n, 'Moved away'],
      ]);
      await expect(
        sql(`insert into mirror.tags (team_id, id, tag) values (41, 7, 'x')`),
      ).rejects.toMatchObject({
        hint: 'Tags are read-only here: "musterd tag create <name>" makes one, at once.',
      });
    });

    it('migrate keeps batch and decision of holds, renames "gone" to "returned", and marks a limit outside a batch as alone', async () => {
      expect(
        await sql(
          'select user_id, reason, alone, batch, decision from sync.held_fields where user_id > 4 order by 1',
        ),
      ).toEqual([
        [5n, 'limit', true, null, null],
        [6n, 'limit', true, null, 'approved'],
        [7n, 'limit', false, 'abc', 'approved'],
        [8n, 'limit', false, 'abc', 'rejected'],
        [9n, 'conflict', false, null, null],
        [10n, 'review', false, 'abc', null],
        [11n, 'returned', false, null, null],
      ]);
    });

    it('migrate copies since and passes of a stale user from sync.stale_rows to sync.user_base', async () => {
      expect(
        await sql('select id, older_since::timestamp::text, older_passes from sync.user_base order by 1'),
      ).toEqual([
        [1n, null, null],
        [2n, '2026-11-27 09:00:00', 2],
      ]);
    });
  });
});
