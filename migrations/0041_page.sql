-- What the page shows and no report had yet: missing rows that wait for a person.

create view report.missing with (security_invoker) as
select a.team_id, a.batch, a.resource, count(*) as rows, min(a.detail) as detail, min(a.withheld_at) as since
from sync.absences a
where a.batch is not null and ((select mirror.sees_all_teams()) or a.team_id in (select mirror.seen_teams()))
group by a.team_id, a.batch, a.resource;
comment on view report.missing is
  'Rows that the service no longer lists and that no run calls gone before a person agrees: a row per batch of them.';
comment on column report.missing.team_id is 'The team.';
comment on column report.missing.batch is 'What "musterd approve" and sync.approve() are given.';
comment on column report.missing.resource is 'users, tags or contact_fields.';
comment on column report.missing.rows is 'How many rows it is about.';
comment on column report.missing.detail is 'Why no run decides it by itself.';
comment on column report.missing.since is 'Since when it waits.';

-- Whoever may read the runs may read this; and needs the right to what the view reads.
do $$
declare
  granted text;
begin
  for granted in
    select format('grant select on report.missing to %s', case a.grantee when 0 then 'public' else a.grantee::regrole::text end)
    from pg_class c
    cross join lateral aclexplode(c.relacl) a
    where c.oid = 'report.runs'::regclass and a.privilege_type = 'SELECT' and a.grantee <> c.relowner
  loop
    execute granted;
  end loop;

  for granted in
    select format('grant select (%s) on %s to %s', string_agg(distinct quote_ident(t.attname), ', '), t.attrelid::regclass,
                  case a.grantee when 0 then 'public' else a.grantee::regrole::text end)
    from pg_class v
    cross join lateral aclexplode(v.relacl) a
    join pg_rewrite r on r.ev_class = v.oid
    join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid and d.refclassid = 'pg_class'::regclass
    join pg_attribute t on t.attrelid = d.refobjid and t.attnum = d.refobjsubid
    where v.oid = 'report.missing'::regclass
      and a.privilege_type = 'SELECT' and a.grantee <> v.relowner and d.refobjid <> v.oid
      and not has_table_privilege(case a.grantee when 0 then 'public' else a.grantee::regrole::name end, d.refobjid, 'select')
    group by t.attrelid, a.grantee
  loop
    execute granted;
  end loop;
end
$$;
