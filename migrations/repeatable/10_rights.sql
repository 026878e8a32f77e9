-- PUBLIC may not execute functions that run with musterd's own rights, except functions that check their caller themselves.
revoke execute on function sync.session_sees(bigint), sync.require_approver(boolean), sync.new_decision(), mirror.note_half(),
  mirror.check_user_edit(), mirror.refuse_edit(), mirror.note_edits(), sync.note_agreed(),
  mirror.forget_lookups(bigint,text[]), mirror.bound_lookups(), mirror.note_periods(), mirror.note_listing(), sync.keep_runs(),
  sync.note_role_arrival(), sync.decide(text,boolean,bigint[],text,boolean,bigint,bigint[]),
  sync.approve(text,text,bigint[],bigint[],bigint), sync.reject(text,text,boolean,bigint[],bigint[],bigint),
  sync.resolve(bigint,bigint,text,text,text,text,bigint,text,bigint),
  sync.decide_edits(text,bigint,jsonb,text,text,boolean,bigint,text,boolean), sync.edit_states(xid8),
  sync.settled(interval,boolean,xid8), sync.hold(bigint,bigint,timestamptz,text,text[]) from public;
grant execute on function mirror.sees_all_teams(), mirror.seen_teams(), mirror.seen_team_names(), mirror.is_musterd(),
  sync.named_editor(text,text), sync.person(text), sync.withdraw(text,text), sync.held_because(text,text,timestamptz),
  mirror.field_text(jsonb), mirror.read_time(text), report.roster_as_of(timestamptz) to public;

-- Creates the roles that are granted to people. Roles belong to the whole server, so these may exist already. If the
-- migrating role may not create roles, an administrator creates them as the guide describes.
do $$
declare
  one text;
begin
  foreach one in array array['musterd_reader', 'musterd_editor', 'musterd_role_editor', 'musterd_approver'] loop
    if not exists (select from pg_roles where rolname = one) then
      execute format('create role %I nologin', one);
    end if;
  end loop;
exception
  when insufficient_privilege then
    raise notice 'The roles for people were not created: this role may not create roles';
  when duplicate_object or unique_violation then
    null; -- another database of this server was migrated in the same moment
end
$$;

-- Grants rights only to roles that have none in this database. Rights that an administrator revoked are not granted again.
do $$
declare
  reading constant text[] := array['usage on schema mirror, report, sync',
    'select on report.changes, report.contact_counts, report.contact_counts_daily, report.decisions, report.freshness, report.held',
    'select on report.listing_history, report.missing, report.pending, report.role_changes, report.roles, report.roster',
    'select on report.roster_changes, report.roster_history, report.runs, report.sync_health, report.tag_growth',
    'select on report.tag_history, report.usage, mirror.teams, mirror.users, mirror.contact_counts, mirror.roles, sync.role_names',
    (select format('select on %s', string_agg(format('mirror.%1$I, report.%1$I', t), ', '))
      from (select mirror.listed_tables() union all select unnest(array['inbox_members', 'teams'])) l (t)),
    'select on sync.absences, sync.changes, sync.due, sync.edits, sync.held_fields, sync.learned, sync.leases, sync.listing_changes, sync.runs, sync.user_base, sync.user_periods', 'select (team, team_id, pinned_at, four_eyes) on sync.teams',
    'select (team_id, email, phone, added_at) on mirror.user_lookups', 'execute on function sync.settled(interval, boolean, xid8)'];
  one  record;
  what text;
begin
  for one in
    select r.rolname, v.rights
    from (values
      ('musterd_reader', array[]::text[]),
      ('musterd_editor', array[format('update (name_split, %s) on mirror.users', array_to_string(array_remove(array[{columns 'COLUMN'}], 'role_id'), ', ')),
        'insert (team_id, email, phone) on mirror.user_lookups', 'execute on function mirror.forget_lookups(bigint, text[])']),
      ('musterd_role_editor', array['update (role_id) on mirror.users']),
      ('musterd_approver', array['execute on function sync.approve(text, text, bigint[], bigint[], bigint)',
        'execute on function sync.reject(text, text, boolean, bigint[], bigint[], bigint)',
        'execute on function sync.resolve(bigint, bigint, text, text, text, text, bigint, text, bigint)',
        'execute on function sync.hold(bigint, bigint, timestamptz, text, text[])'])
    ) as v (name, rights)
    join pg_roles r on r.rolname = v.name
    where not exists (select from pg_namespace n, aclexplode(n.nspacl) a where n.nspname = 'mirror' and a.grantee = r.oid)
  loop
    foreach what in array reading || one.rights loop
      execute format('grant %s to %I', what, one.rolname);
    end loop;
  end loop;
end
$$;

-- The views of report read with the rights of the caller, so a role that may read a view is granted the columns behind it.
do $$
declare
  granted text;
begin
  for granted in
    with recursive behind (view, place, number) as (
      select c.oid, c.oid, 0 from pg_class c where c.relnamespace = 'report'::regnamespace and c.relkind = 'v'
      union select b.view, d.refobjid, d.refobjsubid from behind b join pg_rewrite r on r.ev_class = b.place
      join pg_depend d on d.refclassid = 'pg_class'::regclass and (d.classid = 'pg_rewrite'::regclass and d.objid = r.oid
        or d.classid = 'pg_proc'::regclass and d.objid in (
          select f.refobjid from pg_depend f where f.classid = 'pg_rewrite'::regclass and f.objid = r.oid and f.refclassid = 'pg_proc'::regclass)))
    select format('grant select (%s) on %s to %s', string_agg(distinct quote_ident(t.attname), ', '), t.attrelid::regclass, w.who)
    from behind b join pg_class v on v.oid = b.view cross join lateral aclexplode(v.relacl) a
    join pg_attribute t on t.attrelid = b.place and t.attnum = b.number
    cross join lateral (select case a.grantee when 0 then 'public' else a.grantee::regrole::text end as who) w
    where a.privilege_type = 'SELECT' and a.grantee <> v.relowner and b.place <> b.view and not has_table_privilege(a.grantee, b.place, 'select')
    group by t.attrelid, w.who
    union all -- Editors may call sync.hold(). The rights on mirror.users let the triggers refuse other writes in clear words.
    select format('grant execute on function sync.hold(bigint, bigint, timestamptz, text, text[]) to %2$s; grant update (name), insert (team_id, id, name, name_split, %1$s) on mirror.users to %2$s', array_to_string(array[{columns 'COLUMN'}], ', '), a.grantee::regrole)
    from pg_attribute t cross join lateral aclexplode(t.attacl) a
    where t.attrelid = 'mirror.users'::regclass and t.attname = 'first_name' and a.privilege_type = 'UPDATE' and a.grantee <> 0
  loop
    execute granted;
  end loop;
end
$$;
