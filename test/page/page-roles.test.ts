/** What each view of the page reads with the rights of somebody who may only read, and of one team at that. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { pageViews } from '../../src/page/serve/page-views.ts';
import { createDatabase, type Database } from '../../src/mirror/db/database.ts';
import { readPageFrame, readPulse } from '../../src/page/read/page-reader.ts';
import { fillMirror, largeTeam } from '../support/large-mirror.ts';
import { useDatabase } from '../support/use-database.ts';
import { askToStop, runMusterd } from '../system/run-musterd.ts';
import { loginAt } from '../system/stage.ts';

const role = `test_page_${randomBytes(4).toString('hex')}`;
const database = useDatabase();
let reader: Database;
beforeAll(async () => {
  const size = { ...largeTeam, users: 30, changes: 60, tags: 3, days: 1 };
  await fillMirror(database.db, [
    { ...size, team: 'north', teamId: 7 },
    { ...size, team: 'south', teamId: 8 },
  ]);
  await database.rows(
    `insert into sync.absences (team_id, resource, id, missing_since, batch, detail, withheld_at)
       select t, 'tags', 1, now(), '0f', 'too many', now() from generate_series(7, 8) t;
     update sync.held_fields set batch = 'abc', reason = 'limit' where team_id in (7, 8);
     create role ${role} login password 'secret' in role musterd_reader;
     delete from mirror.team_roles; insert into mirror.team_roles (role_name, team_id) values ('${role}', 7)`,
  );
  reader = createDatabase({ url: loginAt(database.url, role) });
});
afterAll(async () => {
  await reader.close();
  await database.rows(`drop owned by ${role}; drop role ${role}`);
});

const asText = (value: unknown) =>
  JSON.stringify(value, (_, one: unknown) => (typeof one === 'bigint' ? `id ${one}` : one));

it.each(pageViews)(
  'the view $path returns to a role that may read one team the data of this team, and nothing of another team',
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

it.each([
  [
    'with rights on the tables',
    (login: string) => `grant usage on schema mirror, sync, report to ${login};
      grant select, insert, update, delete on all tables in schema mirror, sync to ${login};
      grant select on all tables in schema report to ${login}`,
    200,
  ],
  ['that may only connect', () => 'select', 403],
] as const)('musterd page answers $2 to a role $0', async (_, grant, status) => {
  const login = `${role}_login`;
  await database.rows(`create role ${login} login password 'secret'; ${grant(login)}`);
  const env = { DATABASE_URL: loginAt(database.url, login), MUSTERD__log__level: 'silent' };
  let answered: Promise<number> | undefined;
  const { code } = await runMusterd(['page', '--port', '0'], env, (text) => {
    const [address] = /^http:\S+/.exec(text) ?? [];
    if (address !== undefined)
      answered = fetch(address)
        .then((answer) => answer.status)
        .finally(askToStop);
  });
  expect([code, await answered]).toEqual([0, status]);
  await database.rows(`drop owned by ${login}; drop role ${login}`);
});

it('readPageFrame counts waiting fields of the requested team or of all teams, except teams that the role may not read', async () => {
  const waitingOf = async (db: Database, team: string | null) =>
    await readPageFrame(db, team, async ({ waiting, reader: { teams } }) => [waiting, teams.length]);
  expect(await waitingOf(reader, null)).toEqual([2, 1]);
  expect(await waitingOf(reader, 'south')).toEqual([0, 0]);
  expect(await waitingOf(database.db, null)).toEqual([4, 2]);
  expect(await waitingOf(database.db, 'south')).toEqual([2, 1]);
});

it('readPageFrame opens a read-only transaction, so that not even an owner of the tables can write (S27)', async () => {
  const write = async () =>
    await readPageFrame(database.db, null, async ({ reader: { db } }) => {
      await db.deleteFrom('mirror.user_lookups').execute();
    });
  await expect(write()).rejects.toThrow('read-only transaction');
});

it('readPulse returns a new value once a hold is removed or a run is recorded', async () => {
  const before = await readPulse(reader);
  expect(await readPulse(reader)).toBe(before);
  await database.rows(`delete from sync.held_fields where team_id = 7`);
  const after = await readPulse(reader);
  expect(after).not.toBe(before);
  await database.rows(`insert into sync.runs (team, team_id, command) values ('north', 7, 'daemon')`);
  expect(await readPulse(reader)).not.toBe(after);
});
