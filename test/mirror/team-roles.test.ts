import { randomBytes } from 'node:crypto';
import { CompiledQuery } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runReconcile } from '../../src/runs/sync/reconcile-team.ts';
import { createEmulator } from '../../src/emulator/create-emulator.ts';
import { createLog } from '../../src/log.ts';
import { createDatabase } from '../../src/mirror/db/database.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { servers, type TestServer } from '../support/servers.ts';
import { configFor, createStage, type Stage } from '../system/stage.ts';

/** Every table or view of a schema, with the column that says whose a row is. */
const PLACES = `
  select c.oid::regclass::text as place, a.attname as column, c.relrowsecurity::text as on,
    (select p.polname || ' ' || p.polcmd::text || ' ' || p.polroles::text || ' '
       || pg_get_expr(p.polqual, p.polrelid) || coalesce(' check ' || pg_get_expr(p.polwithcheck, p.polrelid), '')
     from pg_policy p where p.polrelid = c.oid) as policy,
    array_to_string(c.reloptions, ',') as options
  from pg_class c
  join pg_attribute a on a.attrelid = c.oid
    and a.attname = case when exists (select from pg_attribute t where t.attrelid = c.oid and t.attname = 'team_id')
                         then 'team_id' else 'team' end
  where c.relnamespace::regnamespace::text in ('mirror', 'sync', 'report') and c.relkind in ('r', 'p', 'v', 'm')
  order by 1`;

/** A database of two teams, 41 and 42, whose owner is a superuser, and roles of its own. */
async function createTwoTeams(server: TestServer) {
  const stage = await createStage({ server, emulator: { users: 5, tags: 2, fields: 1 } });
  const other = await createEmulator({ http: true, teamId: 42, users: 4, tags: 3, fields: 2 });
  const south = configFor(other.environment, { team: 'south' });
  await stage.run();
  await runReconcile(stage.db, south, 'reconcile', { log: createLog({ level: 'silent' }) });
  await other.close();
  const suffix = randomBytes(4).toString('hex');
  const role = (name: string) => `test_${name}_${suffix}`;
  await runSqlText(
    stage.db,
    `begin; set local musterd.writing = 'on';
     update mirror.tags t set first_seen_at = now() + interval '1 s'
       where id = (select max(id) from mirror.tags m where m.team_id = t.team_id);
     commit;
     update mirror.users u set phone = '15550199', role_id = 1 + coalesce(role_id, 0) % 4
       where id = (select min(id) from mirror.users m where m.team_id = u.team_id);
     insert into sync.held_fields (team_id, user_id, field, edit_id, reason)
       select team_id, user_id, field, edit_id, 'conflict' from sync.edits where ended_at is null;
     insert into sync.changes (team_id, user_id, kind, new, decided_by)
       select team_id, min(id), 'resolve', '{"email": "a@example.com"}', 'kim' from mirror.users group by team_id;
     insert into sync.absences (team_id, resource, id, missing_since, batch, detail, withheld_at)
       select team_id, 'tags', 1, now(), 'ab', 'few', now() from mirror.teams;
     begin; set local musterd.writing = 'on';
     commit;
     insert into mirror.user_lookups (team_id, email) values (41, 'a@example.com'), (42, 'b@example.com');
     create role ${role('north')} in role musterd_reader;
     create role ${role('northern_analyst')} in role ${role('north')};
     create role ${role('editor')} in role musterd_editor;
     create role ${role('office')} in role musterd_reader;
     create role ${role('unlisted')} in role musterd_reader;
     create role ${role('creator')} createrole in role musterd_reader;
     set role ${role('creator')};
     create role ${role('made')};
     reset role;
     create role ${role('reports_only')};
     grant usage on schema report to ${role('reports_only')};
     grant select on all tables in schema report to ${role('reports_only')};
     grant usage on schema sync to ${role('north')}, ${role('office')};
     grant select on all tables in schema sync to ${role('north')}, ${role('office')};
     delete from mirror.team_roles;
     insert into mirror.team_roles (role_name, team_id) select r, 41
       from unnest(array['${role('north')}', '${role('editor')}', '${role('reports_only')}', '${role('made')}',
                         '${role('nobody')}', 'No "such" role']) r;
     insert into mirror.team_roles (role_name, all_teams) values ('${role('office')}', true)`,
  );
  const names = 'north northern_analyst editor office unlisted made creator reports_only'.split(' ');
  return { stage, role, close: () => dropAll(server, stage, names.map(role)) };
}

async function dropAll(server: TestServer, stage: Stage, roles: readonly string[]) {
  await stage.close();
  const admin = createDatabase({ url: server.url });
  try {
    await runSqlText(admin, roles.map((name) => `drop role ${name}`).join(';'));
  } finally {
    await admin.close();
  }
}

describe.each(servers())('roles that see one team on $name', (server) => {
  let stage: Stage;
  let role: (name: string) => string;
  let close: () => Promise<void>;
  let places: readonly (readonly string[])[];
  beforeAll(async () => {
    ({ stage, role, close } = await createTwoTeams(server));
    places = await stage.sql(PLACES);
  });
  afterAll(() => close());

  /** The first column of what that role is answered. */
  const as = (name: string, text: string, before = 'select') =>
    stage.db.transaction(async (tx) => {
      await tx.executeQuery(CompiledQuery.raw(`${before}; set local role ${name}`));
      const { rows } = await tx.executeQuery<Record<string, unknown>>(CompiledQuery.raw(text));
      return rows.map((row) => String(Object.values(row)[0]));
    });
  const teamsIn = (name: string, place: string, column = 'team_id') =>
    as(name, `select distinct ${column} from ${place} where ${column} is not null order by 1`);
  /** Views of sync read with the rights of whoever asks, and need no policy of their own. */
  const tables = () =>
    places.filter(
      ([place, , , , options]) => !place?.startsWith('report.') && options !== 'security_invoker=true',
    );
  const views = () => places.filter(([place]) => place?.startsWith('report.'));

  it('every table with a team column has the policy seen_teams (S2)', () => {
    const policy = (column: string, seen: string) =>
      `seen_teams * {0} (( SELECT mirror.sees_all_teams() AS sees_all_teams) OR (${column} IN ( SELECT mirror.${seen}() AS ${seen})))`;
    const guarded = tables().filter(([place]) => place !== 'mirror.team_roles');
    expect(guarded.length).toBeGreaterThan(15);
    for (const [place = '', column = '', on, found] of guarded) {
      const expected = policy(column, column === 'team' ? 'seen_team_names' : 'seen_teams');
      expect([place, on, found]).toEqual([place, 'true', expected]);
    }
  });

  it('every table and view except sync.migrations has a team column', async () => {
    const all = await stage.sql(`select c.oid::regclass::text from pg_class c
      where c.relnamespace::regnamespace::text in ('mirror', 'sync', 'report') and c.relkind in ('r', 'p', 'v', 'm')`);
    const known = new Set(places.map(([place]) => place));
    const others = all.flat().filter((place) => !known.has(place));
    expect(others.toSorted()).toEqual(['sync.migrations']);
  });

  it('every report view filters by team, with the rights of its reader', async () => {
    expect(views().length).toBeGreaterThan(7);
    for (const [place, , , , options] of views()) {
      expect([place, options]).toEqual([place, 'security_invoker=true']);
      const [[definition = ''] = []] = await stage.sql(`select pg_get_viewdef('${place}'::regclass)`);
      expect(definition).toContain('SELECT mirror.sees_all_teams()');
      expect(definition).toContain('mirror.seen_teams()');
    }
  });

  it.each(['north', 'northern_analyst'])('%s sees only its team in every table and view', async (name) => {
    let filled = 0;
    for (const [place = '', column = ''] of places.filter((found) => found[0] !== 'mirror.team_roles')) {
      const own = column === 'team' ? 'default' : '41';
      const all = (
        await stage.sql(`select distinct ${column} from ${place} where ${column} is not null`)
      ).flat();
      expect([place, await teamsIn(role(name), place, column)]).toEqual([
        place,
        all.includes(own) ? [own] : [],
      ]);
      filled += all.length > 1 ? 1 : 0;
    }
    expect(filled).toBeGreaterThan(16);
    for (const [place = ''] of views()) expect(await teamsIn(role(name), place)).toEqual(['41']);
  });

  it('a role listed for all teams sees both teams, and an unlisted role sees no team', async () => {
    for (const [place = ''] of views()) {
      expect([place, await teamsIn(role('office'), place)]).toEqual([place, ['41', '42']]);
      expect([place, await teamsIn(role('unlisted'), place)]).toEqual([place, []]);
    }
    expect(await teamsIn(role('office'), 'sync.user_base')).toEqual(['41', '42']);
    expect(await teamsIn(role('unlisted'), 'mirror.users')).toEqual([]);
    // What a member of musterd_reader turns into with "set role musterd_reader".
    expect(await teamsIn('musterd_reader', 'mirror.users')).toEqual([]);
  });

  it('an unlisted role sees all teams while public is listed for all teams', async () => {
    const before = `insert into mirror.team_roles (role_name, all_teams) values ('public', true)`;
    const text = `select array_agg(distinct team_id order by team_id) from `;
    expect(await as(role('unlisted'), `${text} mirror.users`, before)).toEqual(['41,42']);
    expect(await as(role('unlisted'), `${text} report.roster`)).toEqual(['41,42']);
    await stage.sql(`delete from mirror.team_roles where role_name = 'public'`);
    expect(await teamsIn(role('unlisted'), 'mirror.users')).toEqual([]);
  });

  it('a role with rights on the report views, but not on their tables, gets an error', async () => {
    for (const [place = ''] of views())
      await expect(teamsIn(role('reports_only'), place)).rejects.toThrow(
        /permission denied for (table|view role_names)/,
      );
  });

  it('the creator of a listed role does not see the teams of that role', async () => {
    expect(await teamsIn(role('made'), 'report.roster').catch(String)).toMatch(/permission denied/);
    expect(await teamsIn(role('creator'), 'report.roster')).toEqual([]);
  });

  it('an editor can edit only the users of its own team', async () => {
    const edited = await as(
      role('editor'),
      `with e as (update mirror.users set email = 'x' || id || '@example.com' returning team_id)
       select distinct team_id from e`,
    );
    expect(edited).toEqual(['41']);
    expect(await stage.sql(`select count(*) from mirror.users where email like 'x%'`)).toEqual([['5']]);
    const move = `select set_config('musterd.writing', 'on', true); update mirror.users set team_id = 42`;
    await expect(as(role('editor'), move)).rejects.toThrow('permission denied for table users');
    const granted = `grant update on mirror.users to ${role('editor')}`;
    await expect(as(role('editor'), move, granted)).rejects.toThrow('can be edited');
    // With the bookkeeping as well it is a daemon's role, of one team.
    const asDaemon = `${granted}; grant update on sync.user_base to ${role('editor')}`;
    await expect(as(role('editor'), move, asDaemon)).rejects.toThrow('violates row-level security policy');
  });

  it('an editor can add and remove only the lookup addresses of its own team', async () => {
    const insert = (team: number) =>
      as(
        role('editor'),
        `insert into mirror.user_lookups (team_id, email) values (${team}, 'c@example.com')`,
      );
    await expect(insert(42)).rejects.toThrow('violates row-level security policy');
    await expect(insert(41)).resolves.toBeDefined();
    const forget = (team: number, addresses: string) =>
      as(
        role('editor'),
        `select mirror.forget_lookups(${team}, '${addresses}')`,
        `set local session authorization ${role('editor')}`,
      );
    expect(await forget(42, '{b@example.com}')).toEqual(['0']);
    expect(await forget(41, '{a@example.com,b@example.com,nobody@example.com}')).toEqual(['1']);
    expect(await stage.sql('select team_id, email from mirror.user_lookups order by 1')).toEqual([
      ['41', 'c@example.com'],
      ['42', 'b@example.com'],
    ]);
  });

  it('a role sees its own row in mirror.team_roles, and cannot add a row', async () => {
    expect(await as(role('northern_analyst'), 'select role_name from mirror.team_roles')).toEqual([
      role('north'),
    ]);
    expect(await as(role('unlisted'), 'select role_name from mirror.team_roles')).toEqual([]);
    const insert = `insert into mirror.team_roles values ('${role('editor')}', 42)`;
    await expect(as(role('editor'), insert)).rejects.toThrow('permission denied for table team_roles');
    const granted = `grant insert on mirror.team_roles to ${role('editor')}`;
    await expect(as(role('editor'), insert, granted)).rejects.toThrow('violates row-level security policy');
  });

  it('mirror.team_roles rejects a row whose team_id is null because the team name was misspelt', async () => {
    const insert = `insert into mirror.team_roles (role_name, team_id)
      values ('${role('north')}', (select team_id from mirror.teams where name = 'misspelt'))`;
    await expect(stage.sql(insert)).rejects.toThrow('check constraint');
  });

  it('a function in a where clause gets no row of another team (S13)', async () => {
    const look = `create function pg_temp.look(team bigint) returns boolean language plpgsql cost 0.0001 as
      $$ begin if team <> 41 then raise exception 'team % was shown', team; end if; return true; end $$;
      grant execute on function pg_temp.look to public`;
    for (const place of [...views().map(([view = '']) => view), 'mirror.users', 'sync.user_base']) {
      const text = `select count(*) from ${place} where pg_temp.look(team_id)`;
      const drop = 'drop function if exists pg_temp.look';
      expect([place, await as(role('north'), text, `${drop}; ${look}`)]).not.toEqual([place, ['0']]);
    }
    await expect(
      as(role('office'), 'select pg_temp.look(42)', look.replace('function', 'or replace function')),
    ).rejects.toThrow('team 42 was shown');
  });

  it('a query with row_security = off gets an error', async () => {
    const off = 'set local row_security = off';
    await expect(as(role('north'), 'select * from mirror.users', off)).rejects.toThrow('row-level security');
    await expect(as(role('north'), 'select * from report.roster', off)).rejects.toThrow('row-level security');
  });

  it('a statement looks up the teams of its role once, and not for each row', async () => {
    const plan = (await as(role('north'), 'explain (analyze, costs off) select * from mirror.users')).join(
      '\n',
    );
    expect(plan).toMatch(/InitPlan 1[\s\S]*hashed SubPlan|hashed SubPlan[\s\S]*InitPlan 1/);
    expect([...plan.matchAll(/loops=(\d+)/g)].map(([, loops]) => loops)).not.toContain('10');
  });
});
