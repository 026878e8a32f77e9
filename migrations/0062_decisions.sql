-- Decisions are about edits: what is approved or rejected is this edit, over what was seen of the service, and no other one
-- of the same value. Whoever could decide may still do so, and may name single edits.

create temporary table deciders on commit drop as
select a.grantee::regrole::text as name from pg_proc p cross join lateral aclexplode(p.proacl) a
where p.oid = 'sync.approve(text, bigint[], text, bigint)'::regprocedure and a.grantee not in (0, p.proowner);
drop function sync.approve(text, bigint[], text, bigint);
drop function sync.reject(text, bigint[], text, boolean, bigint);
drop function sync.decide_batch(text, boolean, bigint[], text, boolean, bigint);
drop function sync.decide(text, boolean, bigint[], text, boolean, bigint);

-- An approval has no end of its own, and report.held names the edit.
create or replace view report.held with (security_invoker) as
select v.team_id, v.user_id, v.name, v.field, v.reason, v.base_value, v.mirror_value, v.service_value, v.detail, v.since,
  v.run_id, v.until, v.mirror_value_then, v.service_value_then, v.batch, v.decided_at, v.decided_by, v.decided_why,
  mirror.field_text(v.base_value) as base_text, mirror.field_text(v.mirror_value) as mirror_text,
  mirror.field_text(v.service_value) as service_text, mirror.field_text(v.mirror_value_then) as mirror_text_then,
  mirror.field_text(v.service_value_then) as service_text_then, v.edit_id
from (
  select h.team_id, h.user_id, u.name, h.field,
         case when o.is_over then coalesce(h.batch_reason, 'limit') else h.reason end as reason, h.base_value,
         case when u.id is not null then
           case h.field when 'name' then jsonb_build_object('first', u.first_name, 'last', u.last_name)
                        when 'email' then to_jsonb(u.email)
                        when 'phone' then to_jsonb(u.phone)
                        when 'role_id' then to_jsonb(u.role_id) end
         end as mirror_value,
         h.shown_value as service_value,
         case when o.is_over then 'was held on request for a while' else h.detail end
           || case when h.batch is not null and (o.is_over or h.reason in ('limit', 'review'))
                          and h.shown_value is distinct from h.service_value
                   then '; the service has changed it since' else '' end as detail,
         h.since, h.run_id, case when not o.is_over then h.until end as until,
         h.mirror_value as mirror_value_then, h.service_value as service_value_then, h.batch,
         h.decided_at, h.decided_by, h.decided_why, h.edit_id
  from sync.held_fields h
  cross join lateral (
    select h.reason = 'asked' and h.batch is not null and h.until <= clock_timestamp()
  ) o (is_over)
  left join mirror.users u on u.team_id = h.team_id and u.id = h.user_id
  where h.decision is null
) v
where (select mirror.sees_all_teams()) or v.team_id in (select mirror.seen_teams());
comment on column report.held.edit_id is 'The edit that is held: what "musterd resolve --edit" is given. Empty: none, as where a person asked to hold the field.';

create or replace view report.pending with (security_invoker) as
select v.*, mirror.field_text(v.base_value) as base_text, mirror.field_text(v.mirror_value) as mirror_text from (
  select u.team_id, u.id as user_id, u.name, f.field, f.base_value, f.mirror_value,
         case when w.field is not null and not w.is_refused then 'held'
              when u.gone_at is not null then 'gone'
              when not u.resolved then 'unresolved'
              when exists (
                select from sync.changes c where c.team_id = u.team_id and c.user_id = u.id and c.state = 'open'
              ) then 'sent'
              when w.is_refused then 'refused'
              else 'waiting' end as state,
         w.reason as held_because, u.edited_at, u.edited_by
  from mirror.users u
  join sync.user_base b on b.team_id = u.team_id and b.id = u.id
  cross join lateral (values
    ('name', jsonb_build_object('first', b.first_name, 'last', b.last_name), jsonb_build_object('first', u.first_name, 'last', u.last_name)),
    ('email', to_jsonb(b.email), to_jsonb(u.email)),
    ('phone', to_jsonb(b.phone), to_jsonb(u.phone)),
    ('role_id', to_jsonb(b.role_id), to_jsonb(u.role_id))
  ) as f (field, base_value, mirror_value)
  left join (
    select h.team_id, h.user_id, h.field, h.reason, h.batch is not null
             and (h.reason in ('limit', 'review') or h.reason = 'asked' and h.until <= clock_timestamp()) as is_refused
    from sync.held_fields h where h.decision is null
  ) w on w.team_id = u.team_id and w.user_id = u.id and w.field = f.field
  where (u.first_name, u.last_name, u.email, u.phone, u.role_id)
        is distinct from (b.first_name, b.last_name, b.email, b.phone, b.role_id)
    and f.base_value is distinct from f.mirror_value
) v
where (select mirror.sees_all_teams()) or v.team_id in (select mirror.seen_teams());

-- Whoever may read the view needs the right to the column that it reads now.
do $$
declare
  reader text;
begin
  for reader in
    select case a.grantee when 0 then 'public' else a.grantee::regrole::text end
    from pg_class v cross join lateral aclexplode(v.relacl) a
    where v.oid = 'report.held'::regclass and a.privilege_type = 'SELECT' and a.grantee <> v.relowner
  loop
    execute format('grant select (edit_id) on sync.held_fields to %s', reader);
  end loop;
end
$$;
