import { CompiledQuery, sql as kyselySql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createDatabase, type Database } from '../../src/mirror/db/database.ts';
import { editUsers } from '../../src/mirror/users/edits.ts';
import { noteEdits, readEditedUsers, readFreshEdits } from '../../src/mirror/users/fresh-edits.ts';
import { everyEdit } from '../../src/model/run-group.ts';
import { oldestServer } from '../support/servers.ts';
import { rowsLookedAt } from '../support/watched-statements.ts';
import { useDatabase, watchSession } from '../support/use-database.ts';

describe.each([oldestServer()])('edits on $name', (server) => {
  const database = useDatabase({ server });
  const { rows: sql } = database;
  let other: Database;
  beforeAll(async () => {
    other = createDatabase({ url: database.url, applicationName: 'a form' });
  });
  afterAll(() => other.close());
  const teamId = 41n;

  beforeEach(() =>
    sql(`
      begin;
      select set_config('musterd.writing', 'on', true);
      truncate sync.edits, sync.held_fields; delete from sync.due; delete from sync.teams; delete from sync.user_base;
      delete from mirror.users;
      insert into sync.teams (team, team_id) values ('north', 41), ('south', 42);
      insert into mirror.users (team_id, id, name, first_name, last_name, name_split, email, phone, role_id, resolved)
      select t, n, 'Ana Lopez', 'Ana', 'Lopez', 'known', n || '@example.com', null, 2, true
      from generate_series(1, 20) n, unnest('{41,42}'::bigint[]) t;
      insert into sync.user_base (team_id, id, name, first_name, last_name, email, phone, role_id)
      select team_id, id, name, first_name, last_name, email, phone, role_id from mirror.users;
      commit`),
  );
  const edits = () =>
    sql(`select team_id, user_id, field, old_value, new_value from sync.edits order by edit_id, field`);

  it('an editor can empty an email or a role only if the agreed value is empty', async () => {
    await sql(`
      begin; set local musterd.writing = 'on';
      update sync.user_base set email = null, role_id = null where team_id = 41 and id in (1, 2);
      update sync.user_base set email = null where (team_id, id) in ((41, 3), (42, 4));
      update sync.user_base set role_id = null where (team_id, id) in ((41, 4), (42, 3));
      update mirror.users u set email = b.email, role_id = b.role_id from sync.user_base b where b.team_id = u.team_id and b.id = u.id;
      delete from sync.user_base where team_id = 42 and id = 1;
      commit;
      update mirror.users set email = 'new@example.com', role_id = 5 where id < 5`);
    await sql(`update mirror.users set email = null, role_id = null where team_id = 41 and id in (1, 2)`);
    await sql(`update mirror.users set email = null where (team_id, id) in ((41, 3), (42, 4))`);
    await sql(`update mirror.users set role_id = null where (team_id, id) in ((41, 4), (42, 3))`);
    expect(
      await sql(
        `select team_id, id, email, role_id from mirror.users where id < 5 and (email is null or role_id is null) order by 1, 2`,
      ),
    ).toEqual([
      [41n, 1n, null, null],
      [41n, 2n, null, null],
      [41n, 3n, null, 5n],
      [41n, 4n, 'new@example.com', null],
      [42n, 3n, 'new@example.com', null],
      [42n, 4n, null, 5n],
    ]);
    const last = `select field, old_value, new_value, ended_how from sync.edits where team_id = 41 and user_id = 1 order by edit_id`;
    expect(await sql(last)).toEqual([
      ['email', null, 'new@example.com', 'withdrawn'],
      ['role_id', null, 5, 'withdrawn'],
      ['email', 'new@example.com', null, 'withdrawn'],
      ['role_id', 5, null, 'withdrawn'],
    ]);
    for (const [set, which, why] of [
      ['email = null', 'team_id = 41 and id = 4', 'The email of user 4 cannot be emptied'],
      ['email = null', 'team_id = 42 and id = 3', 'The email of user 3 cannot be emptied'],
      ['role_id = null', 'team_id = 41 and id = 3', 'The role of user 3 cannot be emptied'],
      ['role_id = null', 'team_id = 42 and id = 4', 'The role of user 4 cannot be emptied'],
      // Nobody knows what was agreed on.
      ['email = null', 'team_id = 42 and id = 1', 'The email of user 1 cannot be emptied'],
      ['role_id = null', 'team_id = 42 and id = 1', 'The role of user 1 cannot be emptied'],
      [`email = ''`, 'team_id = 41 and id = 1', 'The email of user 1 cannot be emptied'],
      [`email = 'x'`, 'team_id = 41 and id = 1', 'is not an email address'],
      [`phone = '0155501'`, 'team_id = 41 and id = 1', 'is not a phone number'],
      [`first_name = ' ', last_name = ''`, 'team_id = 41 and id = 1', 'needs a first name or a last name'],
    ])
      await expect(sql(`update mirror.users set ${set} where ${which}`)).rejects.toThrow(why);
  });

  describe('the record of edits', () => {
    it('records edits of exactly the rows that a statement changed', async () => {
      await sql(`update mirror.users set email = '1@example.com' where team_id = 41 and id < 3`);
      await sql(`update mirror.users set email = email, phone = phone`);
      expect(await sql('select team_id, id from mirror.users where edited_at is not null')).toEqual([
        [41n, 2n],
      ]);
      expect(await edits()).toEqual([[41n, 2n, 'email', '2@example.com', '1@example.com']]);
    });

    it('records an edit by editUsers, but not a value that a run writes', async () => {
      await database.db.transaction(async (tx) => {
        await tx.executeQuery(CompiledQuery.raw(`select set_config('musterd.writing', 'on', true)`));
        await tx.executeQuery(CompiledQuery.raw(`update mirror.users set email = 'pulled@example.com'`));
        const expected = {
          name: { first: 'Ana', last: 'Lopez' },
          split: 'known' as const,
          email: 'pulled@example.com',
          phone: null,
          roleId: 2n,
        };
        await editUsers(tx, teamId, [{ id: 3n, expected, values: { phone: '15550103' } }]);
      });
      expect(await edits()).toEqual([[41n, 3n, 'phone', null, '15550103']]);
    });

    it('reads at most 20 rows for each user to record the edits of 3,000 users', async () => {
      await sql(`
        begin; select set_config('musterd.writing', 'on', true);
        insert into mirror.users (team_id, id, name, first_name, last_name, resolved)
        select 41, n, 'A', 'A', '', true from generate_series(1001, 4000) n; commit`);
      const watched = await watchSession(database.url);
      const looked = await watched.db.transaction(async (tx) => {
        const edit = async (phone: string, to: number) => {
          watched.take();
          await tx.executeQuery(
            CompiledQuery.raw(
              `update mirror.users set phone = '${phone}' where team_id = 41 and id between 1001 and ${to}`,
            ),
          );
          return rowsLookedAt(watched.take(), 'insert into sync.edits');
        };
        // The plan is made here, for one row.
        const one = await edit('15550100', 1001);
        return { one, many: await edit('15550102', 4000) };
      });
      expect(looked.one).toBeGreaterThan(0);
      // Each before, each after, and each pair of them in a few steps: a nested loop looks at nine million.
      expect(looked.many).toBeLessThanOrEqual(20 * 3_000);
      expect((await sql('select count(*) from sync.edits'))[0]).toEqual([3_001n]);
    });
  });

  describe('readFreshEdits and readEditedUsers', () => {
    const fresh = async () =>
      (await readFreshEdits(database.db.kysely, ['north', 'south'])).flatMap(({ team, isFresh }) =>
        isFresh ? [team] : [],
      );
    const markOf = async () => (await readFreshEdits(database.db.kysely, ['north']))[0]?.mark ?? '';
    const note = async () => noteEdits(database.db, 'north', await markOf());
    const edited = async () => (await readEditedUsers(database.db.kysely, teamId)).map(({ id }) => id);
    const edit = (id: number, team = 41) =>
      sql(`update mirror.users set email = 'new${id}@example.com' where team_id = ${team} and id = ${id}`);

    it('find all differing users at first, and only newer edits after noteEdits', async () => {
      expect([await fresh(), await edited()]).toEqual([[], []]);
      await edit(1);
      await edit(7, 42);
      expect([await fresh(), await edited()]).toEqual([['north', 'south'], [1n]]);
      await note();
      expect([await fresh(), await edited()]).toEqual([['south'], []]);
      await edit(2);
      expect([await fresh(), await edited()]).toEqual([['north', 'south'], [2n]]);
      await edit(1);
      await sql(`update mirror.users set email = 'newer@example.com' where team_id = 41 and id = 1`);
      expect(await edited()).toEqual([1n, 2n]);
    });

    it('find all users with an edited role after an edit of a role, and only the edited user after an edit of an email', async () => {
      const setRole = (id: number, role: number) =>
        sql(`update mirror.users set role_id = ${role} where team_id = 41 and id = ${id}`);
      await setRole(1, 5);
      await edit(2);
      await note();
      expect(await edited()).toEqual([]);
      await edit(3);
      expect(await edited()).toEqual([3n]);
      await setRole(4, 6);
      expect(await edited()).toEqual([1n, 3n, 4n]);
    });

    it('find an edit again if a person has made a decision during its push', async () => {
      await edit(1);
      await note();
      const mark = await markOf();
      expect([await fresh(), await edited()]).toEqual([[], []]);
      await sql(`update sync.due set mark = null where team = 'north'`);
      await noteEdits(database.db, 'north', mark, true);
      expect(await edited()).toEqual([1n]);
      // Nor is a decision lost where there was no mark before.
      for (const decides of [true, false]) {
        await noteEdits(database.db, 'north', everyEdit);
        expect(await readFreshEdits(database.db.kysely, ['north'])).toMatchObject([
          { isFresh: true, isMarked: false },
        ]);
        expect(await edited()).toEqual([1n]);
        if (decides) await sql(`update sync.due set mark = null where team = 'north'`);
        await noteEdits(database.db, 'north', mark, true);
        expect(await edited()).toEqual(decides ? [1n] : []);
      }
    });

    it.each([
      ['partial', 3, [0, 3]],
      ['failed', 3, [3, 3]],
      ['complete', 0, [0, 0]],
    ])(
      'after a %s run with %i failures, return the failures %j: for edits made after, and before, the start of the run',
      async (outcome, failures, are) => {
        await edit(1);
        const failuresNow = async () => (await readFreshEdits(database.db.kysely, ['north']))[0]?.failures;
        await sql(`insert into sync.due (team, run_group, started_at, finished_at, outcome, failures)
        values ('north', 'edits', now() - interval '1 hour', now() - interval '1 hour', '${outcome}', ${failures})`);
        const since = await failuresNow();
        await sql(`update sync.due set started_at = clock_timestamp() where team = 'north'`);
        expect([since, await failuresNow()]).toEqual(are);
        await edit(7, 42);
        expect(await failuresNow()).toBe(failures);
        await edit(2);
        expect(await failuresNow()).toBe(are[0]);
        await sql(
          `update sync.edits set ended_at = clock_timestamp(), ended_how = 'agreed' where team_id = 41`,
        );
        expect(await failuresNow()).toBe(failures);
      },
    );

    it.each(['before the tables were analysed', 'afterwards'])(
      'read only the rows of the user with a new edit, measured %s',
      async (when) => {
        await sql(`
        begin; set local musterd.writing = 'on';
        insert into mirror.users (team_id, id, email, resolved) select 41, n, n || '@example.com', true from generate_series(100, 4000) n;
        insert into sync.user_base (team_id, id, name, first_name, last_name, email)
        select 41, id, name, first_name, last_name, email from mirror.users where team_id = 41 and id >= 100;
        commit`);
        if (when === 'afterwards') await sql('analyze mirror.users, sync.user_base');
        await note();
        await sql(`update mirror.users set email = 'new@example.com' where team_id = 41 and id = 200`);
        const { found, looks } = await database.db.transaction(async (tx) => {
          const rowsRead = async () => {
            const { rows } = await kyselySql<{ rows: number }>`
            select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::int as rows from pg_stat_xact_user_tables
            where relid in ('mirror.users'::regclass, 'sync.user_base'::regclass)`.execute(tx);
            return rows[0]?.rows ?? Number.NaN;
          };
          const before = await rowsRead();
          return { found: await readEditedUsers(tx, teamId), looks: (await rowsRead()) - before };
        });
        expect(found).toEqual([
          { id: 200n, resolved: true, emails: ['200@example.com', 'new@example.com'], phones: [] },
        ]);
        // In mirror and base, whether it was edited and which addresses it has.
        expect(looks).toBe(4);
      },
    );

    it('find an edit whose transaction began before the mark of noteEdits and committed after that mark', async () => {
      await note();
      await other.transaction(async (tx) => {
        await tx.executeQuery(
          CompiledQuery.raw(
            `update mirror.users set email = 'late@example.com' where team_id = 41 and id = 1`,
          ),
        );
        await edit(2);
        await note();
        expect([await fresh(), await edited()]).toEqual([[], []]);
      });
      expect([await fresh(), await edited()]).toEqual([['north'], [1n]]);
      // What was seen is not looked at twice, though an older transaction was under way then.
      await note();
      expect([await fresh(), await edited()]).toEqual([[], []]);
    });

    it('leave out edits that were taken back, and edits of users who have left', async () => {
      await note();
      await edit(1);
      await edit(2);
      await sql(`update mirror.users set email = '1@example.com' where team_id = 41 and id = 1`);
      await sql(
        `begin; select set_config('musterd.writing', 'on', true); update mirror.users set gone_at = now() where id = 2; commit`,
      );
      expect([await fresh(), await edited()]).toEqual([[], []]);
    });

    it('return all users with an edit after a failed run, and after the mark of handled edits was removed', async () => {
      await edit(1);
      await note();
      await edit(2);
      await sql(`update sync.due set failures = 1 where run_group = 'edits'`);
      expect([await fresh(), await edited()]).toEqual([['north'], [1n, 2n]]);
      await sql(`update sync.due set failures = 0 where run_group = 'edits'`);
      expect(await edited()).toEqual([2n]);
      await noteEdits(database.db, 'north', null);
      expect([await fresh(), await edited()]).toEqual([['north'], [1n, 2n]]);
    });

    it('find all differing users if the mark comes from another server', async () => {
      await edit(1);
      await sql(`
        insert into sync.due (team, run_group, mark) values ('north', 'edits', '9000000000:9000000001:9000000000')`);
      await sql(`update sync.edits set xid = '9000000005'`);
      expect([await fresh(), await edited()]).toEqual([['north'], [1n]]);
      await note();
      expect([await fresh(), await edited()]).toEqual([[], []]);
      await edit(2);
      expect(await edited()).toEqual([2n]);
    });

    it('do not find edits made with triggers off', async () => {
      await note();
      await sql(`
        begin; set local session_replication_role = replica;
        update mirror.users set email = 'unheard@example.com' where team_id = 41 and id = 1; commit`);
      expect([await fresh(), await edited(), await edits()]).toEqual([[], [], []]);
    });
  });
});
