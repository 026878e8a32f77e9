import { describe, expect, it } from 'vitest';
import { momentMs } from '../../src/model/moment.ts';
import { oldestServer } from '../support/servers.ts';
import { useDatabase } from '../support/use-database.ts';

const times = [
  '2026-03-01T10:20:30Z',
  '2026-03-01T10:20:30.5Z',
  '2026-03-01t10:20:30z',
  '2026-03-01T10:20:30+05:30',
  '2026-03-01T10:20:30-1400',
  '2026-03-01T10:20:30',
  '2026-03-01 10:20',
  '2026-03-01',
  '2024-02-29',
  '2000-02-29',
  '9999-12-31T23:59:59.999Z',
  '0001-01-01',
];
const noTimes = [
  '',
  'yesterday',
  '1767225600',
  '2026-02-29',
  '1900-02-29',
  '2026-04-31',
  '2026-13-01',
  '2026-00-10',
  '0000-01-01',
  '2026-03-01T24:00:00Z',
  '2026-03-01T10:60Z',
  '2026-03-01T10:00Z\n',
  ' 2026-03-01',
  '2026-03-01T10:00:00+15:00',
  '01/03/2026',
  'now',
  'infinity',
  '2026-03-01T10:00Z; drop',
];

describe.each([oldestServer()])('the columns of the report views on $name', (server) => {
  const database = useDatabase({ server });
  const { rows: query } = database;
  const literal = (text: string) => `E'${text.replaceAll('\n', '\\n')}'`;

  it.each(['UTC', 'Pacific/Auckland'])(
    'report.tags shows each time as the service’s text and as a timestamp, in a session with the time zone %s',
    async (zone) => {
      const written = [...times, ...noTimes];
      await query(`begin; set local musterd.writing = 'on'; delete from mirror.tags;
      insert into mirror.tags (team_id, id, created, updated) values
      ${written.map((text, id) => `(41, ${id}, ${literal(text)}, ${literal(text)})`).join(', ')}, (41, 1000, null, null); commit`);
      const rows = await query(`set timezone = '${zone}'; set datestyle = 'SQL, DMY';
      select created, updated = created as same, extract(epoch from created_at)::float8 * 1000 as ms, created_at is not distinct from updated_at as alike
      from report.tags order by tag_id`);
      expect(rows).toEqual([
        ...times.map((text) => [text, true, momentMs(text), true]),
        ...noTimes.map((text) => [text, true, null, true]),
        [null, null, null, true],
      ]);
    },
  );

  it('views show JSON values also as readable text', async () => {
    await query(`begin; set local musterd.writing = 'on';
      insert into mirror.users (team_id, id, name, first_name, last_name, email, role_id, resolved) values (41, 1, 'Ana Berg', 'Ana', 'Berg', 'new@example.com', 3, true);
      insert into sync.user_base (team_id, id, name, first_name, last_name, email, phone, role_id) values (41, 1, 'A', 'A', '', 'old@example.com', '1', 3);
      insert into sync.held_fields (team_id, user_id, field, reason, base_value, mirror_value, service_value, shown_value)
        values (41, 1, 'email', 'conflict', '"old@example.com"', '"then@example.com"', '"x@example.com"', '"y@example.com"');
      insert into sync.runs (team, team_id, command, counts) values ('a', 41, 'reconcile', '{"pulled": 2, "adopted": 10}');
      insert into sync.changes (team_id, user_id, kind, base, old, new) values (41, 1, 'push', '{"role_id": 3}', '{"role_id": 4}', '{"role_id": null}');
      commit`);
    expect(await query('select field, base_text, mirror_text from report.pending order by field')).toEqual([
      ['email', 'old@example.com', 'new@example.com'],
      ['name', 'A', 'Ana Berg'],
      ['phone', '1', null],
    ]);
    expect(
      await query(
        'select base_text, mirror_text, service_text, mirror_text_then, service_text_then from report.held',
      ),
    ).toEqual([['old@example.com', 'new@example.com', 'y@example.com', 'then@example.com', 'x@example.com']]);
    expect(await query('select base_text, old_text, new_text from report.changes')).toEqual([
      ['3', '4', null],
    ]);
    expect(await query('select counts_text from report.runs')).toEqual([['adopted 10, pulled 2']]);
  });

  it('each view with a user_id also shows the user_name', async () => {
    await query(
      `begin; set local musterd.writing = 'on'; insert into mirror.teams (team_id) values (41);
       insert into mirror.inboxes (team_id, id, members) values (41, 1, '[1, 1, 99]'); commit`,
    );
    // Whatever reads the id of a user, and not only what calls it so itself.
    const views = await query(`
      select v.relname::text, (select count(*) from pg_attribute a where a.attrelid = v.oid and a.attname in ('user_id', 'user_name'))::int
      from pg_class v join pg_rewrite r on r.ev_class = v.oid
      join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid
      join pg_attribute t on t.attrelid = d.refobjid and t.attnum = d.refobjsubid
      where v.relnamespace = 'report'::regnamespace and v.relkind in ('v', 'm')
        and (t.attname = 'user_id' or t.attname = 'id' and t.attrelid in ('mirror.users'::regclass, 'sync.user_base'::regclass))
      group by v.oid, v.relname order by 1`);
    expect(views).toHaveLength(9);
    expect(views.filter(([, columns]) => columns !== 2)).toEqual([]);
    for (const [view] of views.concat([['roster_as_of(now())']]))
      expect([
        view,
        await query(
          `select distinct user_name from report.${String(view)} where user_id = 1 and user_name is not null`,
        ),
      ]).toEqual([view, view === 'decisions' || view === 'role_changes' ? [] : [['Ana Berg']]]);
  });

  it('a logical replication publication of the mirror allows updates of each table', async () => {
    await query(`create publication everything for tables in schema mirror`);
    const tables = (await query(
      `select t.tablename::text, (select quote_ident(column_name) from information_schema.columns c
         where c.table_schema = 'mirror' and c.table_name = t.tablename and is_identity = 'NO' order by ordinal_position limit 1) as column
       from pg_publication_tables t where pubname = 'everything' order by 1`,
    )) as [string, string][];
    expect(tables.map(([name]) => name)).toContain('team_roles');
    expect(tables).toHaveLength(10);
    for (const [name, column] of tables)
      await query(
        `begin; set local musterd.writing = 'on'; update mirror.${name} set ${column} = ${column}; rollback`,
      );
  });
});
