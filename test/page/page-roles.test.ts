/** What each view of the page reads with the rights of somebody who may only read, and of one team at that. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { pageViews } from '../../src/page/serve/page-views.ts';
import { createDatabase, type Database } from '../../src/mirror/db/database.ts';
import { readPageFrame, readPulse } from '../../src/page/read/page-reader.ts';
import { rolesForPeople } from '../../src/mirror/db/roles-for-people.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { fillMirror, largeTeam } from '../support/large-mirror.ts';
import { startMusterd } from '../system/run-musterd.ts';

const role = `test_page_${randomBytes(4).toString('hex')}`;
let database: TestDatabase;
let reader: Database;
beforeAll(async () => {
  database = await createTestDatabase();
  const size = { ...largeTeam, users: 30, changes: 60, tags: 3, days: 1 };
  await fillMirror(database.db, [
    { ...size, team: 'north', teamId: 7 },
    { ...size, team: 'south', teamId: 8 },
  ]);
  await runSqlText(
    database.db,
    `insert into sync.absences (team_id, resource, id, missing_since, batch, detail, withheld_at)
       select t, 'tags', 1, now(), '0f', 'too many', now() from generate_series(7, 8) t;
     update sync.held_fields set batch = 'abc', reason = 'limit' where team_id in (7, 8);
     create role ${role} login password 'for this test' in role musterd_reader;
     delete from mirror.team_roles; insert into mirror.team_roles (role_name, team_id) values ('${role}', 7)`,
  );
  const url = new URL(database.url);
  url.username = role;
  url.password = 'for this test';
  reader = createDatabase({ url: url.href });
});
afterAll(async () => {
  await reader.close();
  await runSqlText(database.db, `drop owned by ${role}; drop role ${role}`);
  await database.close();
});

const asText = (value: unknown) =>
  JSON.stringify(value, (_, one: unknown) => (typeof one === 'bigint' ? `id ${one}` : one));

it.each(pageViews)(
  '$path needs the right to read alone, and shows nothing of another team',
  async ({ path, read }) => {
    const asked = {
      params: { team: 'north', batch: 'abc', id: path.startsWith('/runs') ? '1' : '4' },
      query: new URLSearchParams(),
      details: true,
      isCsv: false,
    };
    const found = await readPageFrame(reader, null, async (frame) => {
      expect(frame.seen.map(({ team }) => team)).toEqual(['north']);
      return await read(frame.reader, asked);
    });
    expect(found).not.toBeNull();
    expect(asText(found)).not.toMatch(/south|"teamId":"id 8"/);
  },
);

/** What makes a login into what the manual calls so. */
const grants: Readonly<Record<string, (login: string) => string>> = {
  ...Object.fromEntries(
    rolesForPeople.map((people) => [people, (login: string) => `grant ${people} to ${login}`]),
  ),
  'a daemon of its own role': (login) => `grant usage on schema mirror, sync, report to ${login};
    grant select, insert, update, delete on all tables in schema mirror, sync to ${login};
    grant select on all tables in schema report to ${login}`,
};

it.each([
  ...Object.entries(grants).map(([who, grant]) => [who, grant, 200] as const),
  ['the owner', (login: string) => `alter role ${login} superuser`, 200],
  ['anybody who can connect', () => 'select', 403],
] as const)('musterd page serves %s', async (_, grant, status) => {
  const login = `${role}_login`;
  await runSqlText(database.db, `create role ${login} login password 'for this test'; ${grant(login)}`);
  const url = new URL(database.url);
  [url.username, url.password] = [login, 'for this test'];
  const page = startMusterd(['page', '--port', '0'], {
    DATABASE_URL: url.href,
    MUSTERD__log__level: 'silent',
  });
  try {
    const ended = page.ended.then((end) => end.stderr);
    const address = await Promise.race([
      eventually('it says where', () => /^http:\S+/.exec(page.output().stdout)?.[0]),
      ended,
    ]);
    expect(address).toMatch(/^http:/);
    expect((await fetch(address)).status).toBe(status);
  } finally {
    page.process.kill('SIGTERM');
    await page.ended;
    await runSqlText(database.db, `drop owned by ${login}; drop role ${login}`);
  }
});

it('counts waiting fields in the given teams that the role can read', async () => {
  const waitingOf = async (db: Database, team: string | null) =>
    await readPageFrame(db, team, async ({ waiting, reader: { teams } }) => [waiting, teams.length]);
  expect(await waitingOf(reader, null)).toEqual([2, 1]);
  expect(await waitingOf(reader, 'south')).toEqual([0, 0]);
  expect(await waitingOf(database.db, null)).toEqual([4, 2]);
  expect(await waitingOf(database.db, 'south')).toEqual([2, 1]);
});

it('writes nothing, whatever the role may', async () => {
  const write = async () =>
    await readPageFrame(database.db, null, async ({ reader: { db } }) => {
      await db.deleteFrom('mirror.user_lookups').execute();
    });
  await expect(write()).rejects.toThrow('read-only transaction');
});

it('the pulse of the page changes after a hold and after a run', async () => {
  const before = await readPulse(reader);
  expect(await readPulse(reader)).toBe(before);
  await runSqlText(database.db, `delete from sync.held_fields where team_id = 7`);
  const after = await readPulse(reader);
  expect(after).not.toBe(before);
  await runSqlText(
    database.db,
    `insert into sync.runs (team, team_id, command) values ('north', 7, 'daemon')`,
  );
  expect(await readPulse(reader)).not.toBe(after);
});
