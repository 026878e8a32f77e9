import contactFields from '../../src/model/listed/contact-fields.ts';
import tags from '../../src/model/listed/tags.ts';
import { sql } from 'kysely';
import pg from 'pg';
import { beforeEach, describe, expect, it } from 'vitest';
import { applyAbsences } from '../../src/mirror/users/absences.ts';
import { readKnownTeam } from '../../src/mirror/team/known-team.ts';
import { publishListing, tableOf } from '../../src/mirror/listings/listings.ts';
import { writeTeam } from '../../src/mirror/team/pinned-teams.ts';
import { writeRoles } from '../../src/mirror/users/roles.ts';
import { withSpool } from '../../src/mirror/db/spool.ts';
import type { ListedRow } from '../../src/model/listed-resource.ts';
import { oldestServer } from '../support/servers.ts';
import { rowsLookedAt } from '../support/watched-statements.ts';
import { useDatabase, watchSession } from '../support/use-database.ts';

const teamId = 41n;
const run = { teamId, runId: 1n };
const tag = (id: number, name: string | null, color = 'red', rev = 1n): ListedRow => ({
  id: BigInt(id),
  tag: name,
  color,
  rev,
  created: null,
  updated: null,
  raw: { rev: Number(rev) },
});
const field = (id: number, title: string): ListedRow => ({
  id: BigInt(id),
  title,
  op: null,
  rev: null,
  tid: null,
  uid: null,
  raw: {},
});

describe.each([oldestServer()])('the history of listings on $name', (server) => {
  const database = useDatabase({ server });
  const { rows: query, write, force } = database;
  const show = (...rows: readonly ListedRow[]) =>
    withSpool(tableOf(tags), rows, (spool) => write((tx) => publishListing(tx, run, spool)));
  const showFields = (...of: readonly ListedRow[]) =>
    withSpool(tableOf(contactFields), of, (spool) => write((tx) => publishListing(tx, run, spool)));
  const lose = (resource: 'tags' | 'contact_fields', ...ids: readonly bigint[]) =>
    write((tx) =>
      applyAbsences(tx, run, resource, {
        missing: ids,
        gone: ids,
        found: [],
        lost: [],
        withheld: null,
      }),
    );
  const learnRoles = () => write((tx) => writeRoles(tx, teamId));
  const kept = () =>
    query(
      'select resource, id, kind, old, new from sync.listing_changes where team_id = 41 order by change_id',
    );
  const roles = () =>
    query(
      `select role_id, role, members::int, present from report.roles where team_id = 41 order by role_id`,
    );

  beforeEach(() =>
    force(`truncate sync.listing_changes, sync.runs cascade; truncate mirror.roles, mirror.tags, mirror.contact_fields, mirror.teams,
      mirror.users, sync.user_base, sync.edits, sync.held_fields, sync.absences;
      delete from sync.teams; insert into sync.teams (team, team_id) values ('north', 41), ('south', 42)`),
  );

  it('records a changed name or color, a gone and a returned row, but not the first sight of a row', async () => {
    await show(tag(9, 'There before'));
    await showFields(field(9, 'There before'));
    await show(tag(1, 'VIP'), tag(2, 'New'), tag(3, 'Old'), tag(4, null));
    await showFields(field(1, 'Size'));
    await show(tag(1, 'VIP'), tag(2, 'New', 'red', 2n), tag(3, 'Old'), tag(4, null));
    expect(await kept()).toEqual([]);
    await show(tag(1, 'Very "important"'), tag(2, 'New', 'blue'), tag(3, 'Old'), tag(4, 'Named'));
    await showFields(field(1, 'Shoe size'));
    await lose('tags', 2n, 3n);
    await lose('contact_fields', 1n);
    await show(tag(1, 'Very "important"'), tag(2, 'Newer', 'blue'), tag(3, 'Old'), tag(4, 'Named'));
    expect(await kept()).toEqual([
      ['tags', 1n, 'changed', { tag: 'VIP' }, { tag: 'Very "important"' }],
      ['tags', 2n, 'changed', { color: 'red' }, { color: 'blue' }],
      ['tags', 4n, 'changed', { tag: null }, { tag: 'Named' }],
      ['contact_fields', 1n, 'changed', { title: 'Size' }, { title: 'Shoe size' }],
      ['tags', 2n, 'gone', {}, {}],
      ['tags', 3n, 'gone', {}, {}],
      ['contact_fields', 1n, 'gone', {}, {}],
      ['tags', 2n, 'back', { tag: 'New' }, { tag: 'Newer' }],
      ['tags', 3n, 'back', {}, {}],
    ]);
    const history =
      'tag_id, tag, kind, field, old_value, new_value from report.tag_history where tag_id in (2, 4)';
    expect(await query(`select ${history} order by tag_id, changed_at, kind, field`)).toEqual([
      [2n, 'Newer', 'added', 'tag', null, 'New'],
      [2n, 'Newer', 'changed', 'color', 'red', 'blue'],
      [2n, 'Newer', 'gone', null, null, null],
      [2n, 'Newer', 'back', 'tag', 'New', 'Newer'],
      [4n, 'Named', 'added', 'tag', null, null],
      [4n, 'Named', 'changed', 'tag', null, 'Named'],
    ]);
    const whenGone = `select count(*) from sync.listing_changes c join mirror.contact_fields f on f.gone_at = c.changed_at where kind = 'gone'`;
    expect(await query(whenGone)).toEqual([[1n]]);
    // What it was called at first, however often it was renamed.
    await show(tag(1, 'Third'));
    const added = `select new_value, name from report.listing_history where kind = 'added' and id in (1, 9)`;
    expect(await query(`${added} order by resource`)).toEqual([
      ['Size', 'Shoe size'],
      ['VIP', 'Third'],
    ]);
  });

  it('records a changed name of a team, but not a changed number of contacts', async () => {
    const team = { id: teamId, name: 'Acme', listSize: 5n, members: [], rejected: [], raw: {} };
    await write((tx) => writeTeam(tx, team));
    await write((tx) => writeTeam(tx, { ...team, listSize: 6n }));
    await write((tx) => writeTeam(tx, { ...team, name: 'Acme Ltd' }));
    expect(
      await query('select resource, id, name, kind, field, old_value, new_value from report.listing_history'),
    ).toEqual([['teams', 41n, 'Acme Ltd', 'changed', 'name', 'Acme', 'Acme Ltd']]);
  });

  it('writes the history in one statement that reads at most 10 rows for each changed row', async () => {
    const many = (name: string) => Array.from({ length: 4000 }, (_, n) => tag(n + 1, `${name} ${n}`));
    await show(...many('Tag'));
    const watched = await watchSession(database.url);
    const looked = async (...rows: readonly ListedRow[]) => {
      watched.take();
      await withSpool(tableOf(tags), rows, (spool) =>
        watched.db.transaction(async (tx) => {
          await sql`select set_config('musterd.writing', 'on', true)`.execute(tx);
          await publishListing(tx, run, spool);
        }),
      );
      const statements = watched.take();
      const writes = statements.filter(({ text }) => text.includes('insert into sync.listing_changes'));
      expect(writes).toHaveLength(1);
      return rowsLookedAt(writes, '');
    };
    // A plan that were kept would be the one for one row.
    expect(await looked(tag(1, 'One'))).toBeGreaterThan(0);
    // Each before, each after, and each pair of them in a few steps: a nested loop looks at sixteen million.
    expect(await looked(...many('Many'))).toBeLessThanOrEqual(10 * 4_000);
    expect(await query('select count(*)::int from sync.listing_changes')).toEqual([[4001]]);
  });

  it('report.tag_growth counts tags by day, with null for days without a complete read of the tags', async () => {
    await force(`
      insert into mirror.tags (team_id, id, tag, first_seen_at, gone_at)
      select t, n, 'Tag ' || n, now() - interval '6 days', case n when 3 then now() - interval '4 days' end
      from generate_series(1, 5) n, unnest('{41,42}'::bigint[]) t;
      insert into mirror.tags (team_id, id, tag, first_seen_at) values (41, 6, 'Late', now() - interval '1 day');
      insert into sync.listing_changes (team_id, resource, id, kind, changed_at) values
        (41, 'tags', 3, 'gone', now() - interval '4 days'), (41, 'tags', 4, 'gone', now() - interval '4 days'),
        (41, 'tags', 4, 'back', now() - interval '1 day'), (41, 'tags', 1, 'changed', now() - interval '1 day'),
        (41, 'contact_fields', 1, 'gone', now() - interval '4 days');
      insert into sync.runs (team, team_id, command, groups, outcome, finished_at)
      select 'north', 41, 'daemon', g, o, now() - d * interval '1 day' from (values
        (5, '{users,listings}'::text[], 'complete'), (3, '{listings}', 'failed'), (2, '{users}', 'complete')) v (d, g, o)`);
    const growth = `select tags::int, added::int, changed::int, gone::int, back::int from report.tag_growth where team_id = 41 order by day`;
    const none = [null, null, null, null, null];
    expect(await query(growth)).toEqual([
      [5, 0, 0, 0, 0],
      [5, 0, 0, 0, 0],
      [3, 0, 0, 2, 0],
      none,
      none,
      [5, 1, 1, 0, 1],
      none,
    ]);
    expect(
      await query(
        `select count(*)::int as days, count(tags)::int as known from report.tag_growth where team_id = 42`,
      ),
    ).toEqual([[7, 1]]);
  });

  it('the history begins at the first complete run that read the tags, or without such a run at the first tag', async () => {
    await force(`
      insert into mirror.tags (team_id, id, tag, first_seen_at)
      select t, n, 'Tag ' || n, now() - (9 - n) * interval '1 hour' from generate_series(1, 5) n, unnest('{41,42}'::bigint[]) t;
      insert into mirror.contact_fields (team_id, id, title, first_seen_at) select team_id, id, tag, first_seen_at from mirror.tags`);
    const added = async () => [
      await query(`select resource, array_agg(id::int order by id) from report.listing_history
        where kind = 'added' and team_id = 41 group by 1 order by 1`),
      await query(`select sum(added)::int, max(tags)::int from report.tag_growth where team_id = 41`),
    ];
    const both = (...ids: readonly number[]) => [
      ['contact_fields', ids],
      ['tags', ids],
    ];
    expect(await added()).toEqual([both(2, 3, 4, 5), [[4, 5]]]);
    const ran = (team: number, outcome: string, groups: string, hours: number) =>
      force(`insert into sync.runs (team, team_id, command, groups, outcome, finished_at)
        values ('north', ${team}, 'daemon', '${groups}', '${outcome}', now() - interval '${hours} hours')`);
    await ran(41, 'partial', '{users,listings}', 7.5);
    await ran(41, 'complete', '{users}', 6.5);
    await ran(42, 'complete', '{listings}', 6.5);
    expect(await added()).toEqual([both(2, 3, 4, 5), [[4, 5]]]);
    await ran(41, 'complete', '{listings}', 5.5);
    await ran(41, 'complete', '{listings}', 4.5);
    expect(await added()).toEqual([both(4, 5), [[2, 5]]]);
    await force(`delete from sync.runs`);
    await ran(41, 'complete', '{listings}', 12);
    expect(await added()).toEqual([both(1, 2, 3, 4, 5), [[5, 5]]]);
  });

  describe('the roles of a team', () => {
    /** Users of both teams: the first have the role, and the base knows it. */
    const people = (from: number, to: number, roleId: number, role: string) =>
      force(`
        insert into mirror.users (team_id, id, role_id, role, resolved) select t, n, ${roleId}, '${role}', true
        from generate_series(${from}, ${to}) n, unnest('{41,42}'::bigint[]) t;
        insert into sync.user_base (team_id, id, name, first_name, last_name, role_id) select t, n, '', '', '', ${roleId}
        from generate_series(${from}, ${to}) n, unnest('{41,42}'::bigint[]) t`);

    it('writeRoles stores each agreed role of users, under the name that most users show', async () => {
      await people(1, 5, 1, 'Agent');
      await people(6, 7, 2, 'Owner');
      await people(8, 8, 3, '');
      // An edit that waits, one of whom the service shows another role, one who has left, one whom no lookup resolves, and
      // one of whom no role is known.
      await force(`update mirror.users set role_id = 9 where id = 1; update mirror.users set role = 'Owner' where id in (2, 3);
        update mirror.users set gone_at = now() where id = 6; update mirror.users set resolved = false where id = 8;
        insert into sync.held_fields (team_id, user_id, field, reason) values (41, 7, 'role_id', 'conflict');
        insert into mirror.users (team_id, id, role, resolved) values (41, 9, 'Agent', true);
        insert into sync.user_base (team_id, id, name, first_name, last_name) values (41, 9, '', '', '')`);
      await learnRoles();
      expect(await roles()).toEqual([
        [1n, 'Agent', 5, true],
        [2n, null, 1, true],
      ]);
      expect(await query('select count(*)::int from mirror.roles where team_id = 42')).toEqual([[0]]);
      const before = await query('select xmin::text from mirror.roles');
      await learnRoles();
      expect(await query('select xmin::text from mirror.roles')).toEqual(before);
      await force(`delete from sync.held_fields; update mirror.users set role = 'Agent 2' where id <= 5;
        update mirror.users set resolved = true where id = 8; update mirror.users set gone_at = now() where id = 7`);
      await learnRoles();
      await force(
        `update mirror.users set gone_at = null where id = 7; update mirror.users set role = '' where id <= 5`,
      );
      await learnRoles();
      expect(await roles()).toEqual([
        [1n, 'Agent 2', 5, true],
        [2n, 'Owner', 1, true],
        [3n, null, 1, true],
      ]);
      await expect(query('update mirror.roles set members = 9')).rejects.toThrow('is not possible');
      expect(await kept()).toEqual([
        ['roles', 1n, 'changed', { name: 'Agent' }, { name: 'Agent 2' }],
        ['roles', 2n, 'gone', {}, {}],
        ['roles', 2n, 'back', { name: null }, { name: 'Owner' }],
      ]);
      const added = `select id from report.listing_history where kind = 'added' and resource = 'roles'`;
      expect(await query(added)).toEqual([[3n]]);
    });

    it('readKnownTeam returns mayLackRoles = true after a resync, until the next run of the users', async () => {
      const runs = async (...each: readonly string[]) => {
        await force(`truncate sync.runs cascade; insert into sync.teams (team, team_id) values ('main', 41) on conflict do nothing;
          insert into sync.runs (team, team_id, command, outcome, groups) values
          ${each.map((one) => `('${one.startsWith('other') ? 'other' : 'main'}', 41, '${one}', 'complete', '${one.includes('users') ? '{users}' : '{}'}')`).join(', ')}`);
      };
      const change = async (command: string, kind: string, moved: string) =>
        force(`insert into sync.changes (team_id, user_id, run_id, kind, new)
          select 41, 1, run_id, '${kind}', '{"${moved}": 1}' from sync.runs where command = '${command}'`);
      const mayLack = async () => (await readKnownTeam(database.db.kysely, 'main')).mayLackRoles;
      const isBehindAfter = async (...changed: Parameters<typeof change>) => {
        await runs('before', 'earlier users', 'users', 'resync');
        await change(...changed);
        return await mayLack();
      };
      expect(await isBehindAfter('resync', 'pull', 'role_id')).toBe(true);
      expect(await isBehindAfter('resync', 'pull', 'role')).toBe(true);
      expect(await isBehindAfter('users', 'push', 'role_id')).toBe(true);
      expect(await isBehindAfter('users', 'pull', 'role_id')).toBe(true);
      // Whatever a resync did, the next run of the users looks.
      expect(await isBehindAfter('resync', 'pull', 'email')).toBe(true);
      await runs('before', 'earlier users', 'users');
      await change('users', 'adopt', 'role_id');
      expect(await mayLack()).toBe(false);
      await runs('before', 'earlier users', 'users');
      await change('users', 'pull', 'email');
      expect(await mayLack()).toBe(false);
      await runs('before', 'earlier users', 'users');
      await change('earlier users', 'push', 'role_id');
      expect(await mayLack()).toBe(false);
      await runs('resync');
      expect(await mayLack()).toBe(true);
      // The run of the users after it has counted whom it adopted.
      await runs('resync', 'users');
      await change('resync', 'adopt', 'role_id');
      expect(await mayLack()).toBe(false);
    });

    it('Postgres warns an editor who sets a role that no user of the team has, and lists the known roles', async () => {
      await people(1, 40, 1, 'Agent');
      await people(41, 42, 2, 'Owner');
      await learnRoles();
      const client = new pg.Client({ connectionString: database.url });
      await client.connect();
      const told: string[] = [];
      client.on('notice', ({ message, detail, hint }) =>
        told.push([message, detail, hint].filter(Boolean).join(' / ')),
      );
      const tell = async (text: string) => {
        await client.query(text);
        return told.splice(0);
      };
      try {
        expect(await tell('update mirror.users set role_id = 2 where team_id = 41 and id < 4')).toEqual([]);
        // Nothing is known of the other team's roles.
        expect(await tell('update mirror.users set role_id = 8 + id % 2 where id in (4, 5)')).toEqual([
          'No user of team 41 has the role 8, 9: the service may not know it / Roles of the users: 1 (Agent), 2 (Owner).',
        ]);
        expect(await tell(`update mirror.users set email = 'a@example.com' where id = 4`)).toEqual([]);
        expect(await tell('update mirror.users set role_id = 9 where team_id = 41 and id = 5')).toEqual([]);
        await force(`update mirror.users set role_id = 8 where team_id = 42 and id = 5;
          insert into mirror.roles (team_id, role_id, name, members) values (42, 8, 'Theirs', 1)`);
        expect(await tell('update mirror.users set role_id = 8 where team_id = 41 and id = 6')).toHaveLength(
          1,
        );
        // One of them has it already.
        expect(await tell('update mirror.users set role_id = 9 where id = 5')).toEqual([
          'No user of team 42 has the role 9: the service may not know it / Roles of the users: 8 (Theirs).',
        ]);
        await force('update mirror.roles set gone_at = now() where role_id = 2');
        expect(await tell('update mirror.users set role_id = 2 where team_id = 41 and id = 30')).toHaveLength(
          1,
        );
      } finally {
        await client.end();
      }
    });
  });
});
