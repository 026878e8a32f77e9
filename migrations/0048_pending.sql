-- As before, but whether a push is open is asked of the users who differ alone. Where nobody had analysed the tables, all
-- users were joined with the open pushes first.
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
    from sync.held_fields h where h.decision is null or h.until <= clock_timestamp()
  ) w on w.team_id = u.team_id and w.user_id = u.id and w.field = f.field
  where (u.first_name, u.last_name, u.email, u.phone, u.role_id)
        is distinct from (b.first_name, b.last_name, b.email, b.phone, b.role_id)
    and f.base_value is distinct from f.mirror_value
) v
where (select mirror.sees_all_teams()) or v.team_id in (select mirror.seen_teams());
