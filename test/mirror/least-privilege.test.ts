import { randomBytes } from 'node:crypto';
import { CompiledQuery } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Embedded, openEmbedded } from '../../src/embedded/embedded.ts';
import { createDatabase, type Database } from '../../src/mirror/db/database.ts';
import { rolesForPeople } from '../../src/mirror/db/roles-for-people.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { migrate } from '../../src/mirror/migrations.ts';
import { servers } from '../support/servers.ts';

/**
 * Who may do what, as in "What each role can do" of docs/operations.md: of each table and view the rights to select,
 * insert, update, delete, truncate, refer and set triggers, `(…)` with columns where not all. A new one belongs into one of
 * these groups, or gets one of its own.
 */
const reads = {
  daemon: 'select',
  reader: 'select',
  editor: 'select',
  roleEditor: 'select',
  approver: 'select',
};
const all = 'select insert update references delete truncate trigger';
const works = 'select insert update delete';
const lookups = 'select(added_at,email,phone,team_id)';
const of = (rights: string) => ({ reader: rights, editor: rights, roleEditor: rights, approver: rights });
/** Neither key. */
const keys = of('select(four_eyes,pinned_at,team,team_id)');
const decisions: readonly (Readonly<Record<Who, string>> & { readonly places: string })[] = [
  {
    places:
      'mirror.teams mirror.contact_fields mirror.contact_counts mirror.inbox_members mirror.inboxes mirror.roles mirror.surveys mirror.tags mirror.team_roles',
    ...reads,
    owner: all,
    daemon: works,
    nobody: '',
  },
  {
    places: 'mirror.users',
    owner: all,
    daemon: works,
    reader: 'select',
    editor:
      'select insert(email,first_name,id,last_name,name,name_split,phone,role_id,team_id) update(email,first_name,last_name,name,name_split,phone)',
    roleEditor: 'select update(role_id)',
    approver: 'select',
    nobody: '',
  },
  {
    places: 'mirror.user_lookups',
    owner: all,
    daemon: works,
    reader: lookups,
    editor: `${lookups} insert(email,phone,team_id)`,
    roleEditor: lookups,
    approver: lookups,
    nobody: '',
  },
  {
    places:
      'sync.absences sync.changes sync.due sync.edits sync.held_fields sync.learned sync.leases sync.listing_changes sync.runs sync.user_base sync.user_periods',
    ...reads,
    owner: all,
    daemon: works,
    nobody: '',
  },
  { places: 'sync.migrations', ...reads, owner: all, daemon: works, nobody: '' },
  { places: 'sync.teams', ...keys, owner: all, daemon: works, nobody: '' },
  { places: 'sync.role_names', ...reads, owner: all, daemon: works, nobody: '' },
  {
    places:
      'report.changes report.contact_counts report.contact_counts_daily report.contact_fields report.decisions report.freshness report.held report.inbox_members report.inboxes report.listing_history report.missing report.pending report.role_changes report.roles report.roster report.roster_changes report.roster_history report.runs report.surveys report.sync_health report.tag_growth report.tag_history report.tags report.teams report.usage',
    ...reads,
    owner: all,
    nobody: '',
  },
];

/** Functions that whoever reads or edits calls without knowing, those by which approvers decide, and those that nobody but the owner may call. */
const functions = {
  everybody:
    'mirror.daemons() mirror.field_text(jsonb) mirror.is_musterd() mirror.known_place() mirror.listed_columns(text) mirror.listed_tables() mirror.name_words(text) mirror.read_time(text) mirror.seen_team_names() mirror.seen_teams() mirror.sees_all_teams() mirror.split_name(text) mirror.words(text) report.roster_as_of(timestamp with time zone) sync.actor() sync.decider() sync.deciding_names() sync.edit_fate(bigint,bigint,text,bigint) sync.end_edits(bigint,bigint[]) sync.find_edit(bigint,bigint,text) sync.held_because(text,text,timestamp with time zone) sync.is_own(text[]) sync.is_under_way(bigint,bigint,text) sync.keep_place(jsonb,jsonb,jsonb) sync.known_team(text) sync.named_editor(text,text) sync.person(text) sync.why_silent() sync.withdraw(text,text)',
  people: 'sync.settled(interval,boolean,xid8)',
  editor: 'mirror.forget_lookups(bigint,text[])',
  holders: 'sync.hold(bigint,bigint,timestamp with time zone,text,text[])',
  approver:
    'sync.approve(text,text,bigint[],bigint[],bigint) sync.reject(text,text,boolean,bigint[],bigint[],bigint) sync.resolve(bigint,bigint,text,text,text,text,bigint,text,bigint)',
  daemon: 'sync.decide_edits(text,bigint,jsonb,text,text,boolean,bigint,text,boolean) sync.new_decision()',
  owner:
    'mirror.bound_lookups() mirror.check_user_edit() mirror.note_edits() mirror.note_half() mirror.note_listing() mirror.note_periods() mirror.refuse_edit() sync.decide(text,boolean,bigint[],text,boolean,bigint,bigint[]) sync.edit_states(xid8) sync.keep_runs() sync.note_agreed() sync.note_role_arrival() sync.require_approver(boolean) sync.session_sees(bigint)',
};

type Who = 'owner' | 'daemon' | 'reader' | 'editor' | 'roleEditor' | 'approver' | 'nobody';
const people = ['reader', 'editor', 'roleEditor', 'approver', 'nobody'] as const;
const advice =
  'decide who may do what with it: in test/mirror/least-privilege.test.ts and in docs/operations.md';

/** The rights of a role on all that has rows. Without the right to the schema, none. */
const rightsOf = (role: string) => `
  select c.oid::regclass::text, case when has_schema_privilege('${role}', c.relnamespace, 'usage') then coalesce((
    select string_agg(p.name || case when has_table_privilege('${role}', c.oid, p.name) then '' else '(' || p.columns || ')' end, ' ' order by p.place)
    from (
      select v.name, v.place, string_agg(a.attname, ',' order by a.attname) as columns
      from (values ('select', 1), ('insert', 2), ('update', 3), ('references', 4), ('delete', 5), ('truncate', 6), ('trigger', 7)) v (name, place)
      left join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and v.place < 5
        and has_column_privilege('${role}', c.oid, a.attnum, v.name)
      group by v.name, v.place
    ) p
    where has_table_privilege('${role}', c.oid, p.name) or p.columns is not null
  ), '') else '' end
  from pg_class c
  where c.relnamespace::regnamespace::text in ('mirror', 'sync', 'report') and c.relkind in ('r', 'p', 'v', 'm', 'f')
  order by 1`;

/** A server of its own has no roles for people before an administrator makes them. */
const places = [
  ...servers(),
  { name: 'a server where the roles for people were made later', url: undefined },
];

describe.each(places)('least privilege on $name', (server) => {
  const suffix = randomBytes(4).toString('hex');
  const name = `musterd_test_${suffix}`;
  const roles: Readonly<Record<Who, string>> = {
    owner: `test_owner_${suffix}`,
    daemon: `test_daemon_${suffix}`,
    reader: 'musterd_reader',
    editor: 'musterd_editor',
    roleEditor: 'musterd_role_editor',
    approver: 'musterd_approver',
    nobody: `test_nobody_${suffix}`,
  };
  let embedded: Embedded | undefined;
  let admin: Database;
  let db: Database;
  const rows = async (text: string) => (await runSqlText(db, text)).rows as [string, string][];

  beforeAll(async () => {
    if (server.url === undefined) embedded = await openEmbedded({ ephemeral: true });
    const adminUrl = embedded?.url ?? server.url ?? '';
    admin = createDatabase({ url: adminUrl });
    for (const role of [roles.owner, roles.daemon, roles.nobody])
      await runSqlText(admin, `create role ${role} login password 'secret'`);
    await runSqlText(admin, `create database ${name} owner ${roles.owner} template template0`);
    const url = new URL(adminUrl);
    url.pathname = `/${name}`;
    db = createDatabase({ url: url.href });
    [url.username, url.password] = [roles.owner, 'secret'];
    const owner = createDatabase({ url: url.href });
    await migrate(owner);
    if (embedded !== undefined) {
      for (const role of rolesForPeople) await runSqlText(admin, `create role ${role} nologin`);
      await migrate(owner);
    }
    // As in docs/operations.md.
    await runSqlText(
      owner,
      `grant usage on schema mirror, sync, report to ${roles.daemon};
       grant select, insert, update, delete on all tables in schema mirror, sync to ${roles.daemon};
       grant select on all tables in schema report to ${roles.daemon};
       grant execute on function sync.approve(text, text, bigint[], bigint[], bigint) to ${roles.daemon};
       grant execute on function sync.reject(text, text, boolean, bigint[], bigint[], bigint) to ${roles.daemon}`,
    );
    await owner.close();
    await runSqlText(
      db,
      `create function public.attempt(statements text[]) returns setof text language plpgsql as $$
       declare statement text;
       begin
         foreach statement in array statements loop
           begin
             execute statement;
             raise exception 'done';
           exception when others then
             return next sqlerrm;
           end;
         end loop;
       end $$`,
    );
  });
  afterAll(async () => {
    await db.close();
    await runSqlText(admin, `drop database ${name} with (force)`);
    await runSqlText(admin, `drop role ${roles.owner}, ${roles.daemon}, ${roles.nobody}`);
    await admin.close();
    await embedded?.close();
  });

  const decided = (who: Who) =>
    decisions
      .flatMap(({ places, ...of }) => places.split(' ').map((place) => [place, of[who]]))
      .toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1));

  it.each(['owner', 'daemon', ...people] as const)(
    'the role %s has exactly the listed rights on each table and view',
    async (who) => {
      const found = (await rows(rightsOf(roles[who]))).toSorted(([a], [b]) => (a < b ? -1 : 1));
      expect(found, advice).toEqual(decided(who));
    },
  );

  it('each role can execute exactly the functions that are listed for the role (S1)', async () => {
    const found = async (condition: string) =>
      (
        await rows(`select p.oid::regprocedure::text from pg_proc p
          where p.pronamespace::regnamespace::text in ('mirror', 'sync', 'report') and ${condition} order by 1`)
      ).map(([signature]) => signature);
    const of = (...groups: readonly (keyof typeof functions)[]) =>
      groups.flatMap((group) => functions[group].split(/ (?=mirror\.|report\.|sync\.)/)).toSorted();
    expect(await found('true'), advice).toEqual(
      of('everybody', 'people', 'editor', 'holders', 'approver', 'daemon', 'owner'),
    );
    const functionsOf = {
      reader: of('everybody', 'people'),
      editor: of('everybody', 'people', 'editor', 'holders'),
      roleEditor: of('everybody', 'people'),
      approver: of('everybody', 'people', 'approver', 'holders'),
      nobody: of('everybody'),
    };
    for (const who of people)
      expect(await found(`has_function_privilege('${roles[who]}', p.oid, 'execute')`), advice).toEqual(
        functionsOf[who],
      );
  });

  it('mirror.is_musterd() returns true only for owner and daemon, and only the owner can create objects (S45)', async () => {
    for (const who of ['owner', 'daemon', ...people] as const) {
      const believed = await db
        .transaction(async (tx) => {
          await tx.executeQuery(
            CompiledQuery.raw(`set local role ${roles[who]}; set local musterd.writing = 'on'`),
          );
          return await tx.executeQuery<{ is: boolean }>(
            CompiledQuery.raw('select mirror.is_musterd() as is'),
          );
        })
        .then(
          (answer) => answer.rows[0]?.is,
          (error: unknown) => String(error),
        );
      const creates = await rows(
        `select nspname, '' from pg_namespace where nspname in ('mirror', 'sync', 'report') and has_schema_privilege('${roles[who]}', oid, 'create')`,
      );
      const expected =
        who === 'nobody'
          ? expect.stringContaining('permission denied for schema')
          : who === 'owner' || who === 'daemon';
      expect([who, believed, creates.length]).toEqual([who, expected, who === 'owner' ? 3 : 0]);
    }
  });

  /** What that role is told of each of these statements, none of which comes to anything. */
  const attempt = async (role: string, statements: readonly string[]) => {
    const { rows } = await db.transaction(async (tx) => {
      await tx.executeQuery(CompiledQuery.raw(`set local role ${role}`));
      return await tx.executeQuery<{ told: string }>(
        CompiledQuery.raw('select told from public.attempt($1) told', [statements]),
      );
    });
    return rows.map(({ told }) => told);
  };

  it.each(people)('the role %s gets an error for statements beyond its rights (O4, O5, S58)', async (who) => {
    const columnsOf = new Map(
      await rows(`select attrelid::regclass::text, string_agg(attname, ' ' order by attnum) from pg_attribute
        where attnum > 0 and not attisdropped group by attrelid`),
    );
    const tried = decided(who).flatMap(([place = '', rights = '']) => {
      const columns = columnsOf.get(place)?.split(' ') ?? [];
      const tries: readonly (readonly [string, string])[] = [
        ['select', `select * from ${place}`],
        ['insert', `insert into ${place} default values`],
        ['delete', `delete from ${place}`],
        ...(/^report\.|^sync\.role_names$/.test(place) ? [] : [['truncate', `truncate ${place}`] as const]),
        ...columns.map((column) => [`update(${column})`, `update ${place} set ${column} = default`] as const),
      ];
      const mayUpdate = /update\((.*?)\)/.exec(rights)?.[1]?.split(',') ?? [];
      return tries.map(([right, statement]) => ({
        statement,
        may:
          rights.split(' ').includes(right) ||
          (right === 'insert' && rights.includes('insert(')) ||
          (right === 'select' && rights.includes(`select(${columns.toSorted().join(',')})`)) ||
          mayUpdate.some((column) => right === `update(${column})`),
      }));
    });
    const told =
      /^(?:permission denied for (?:table|view|schema) |cannot (?:insert into|update|delete from) (?:view|column) |"inbox_members" is not a table)/;
    const answers = await attempt(
      roles[who],
      tried.map(({ statement }) => statement),
    );
    expect(
      answers.map((answer, at) => [tried[at]?.statement, told.test(answer) ? 'denied' : answer]),
    ).toEqual(
      tried.map(({ statement, may }) => [statement, may ? expect.not.stringMatching('denied') : 'denied']),
    );
  });
});
