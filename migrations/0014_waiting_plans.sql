-- Refused plans wait until somebody decides, and what was rejected is not sent after all.

alter table sync.held_fields drop constraint held_fields_reason_check;
alter table sync.held_fields add constraint held_fields_reason_check
  check (reason in ('conflict', 'refused', 'ineffective', 'unsupported', 'gone', 'brake', 'asked', 'rejected'));
comment on column sync.held_fields.reason is 'conflict: both sides changed it. refused: the service does not take the value. ineffective: the service takes it without effect. unsupported: it can not be sent. gone: the user has left. brake: a guard stopped it. asked: a person asked for it. rejected: a person decided that it is not sent; that stands until the mirror''s value changes, whatever the service does.';
comment on column report.held.reason is 'Why it is held: conflict, refused, ineffective, unsupported, gone, brake, asked or rejected.';
update sync.held_fields set reason = 'rejected', detail = substr(detail, length('rejected: ') + 1)
where reason = 'brake' and detail like 'rejected: %';

alter table sync.plans drop constraint plans_state_check;
alter table sync.plans add constraint plans_state_check check (state in ('refused', 'kept', 'approved', 'superseded'));
create unique index plans_one_kept on sync.plans (team_id) where state = 'kept';
comment on column sync.plans.state is 'refused: waits for a person. kept: rows of a refused plan whose field is held for another reason by now, or whose user has left; they wait again when that ends. approved: its rows may pass the guard. superseded: a later plan or an approval took its place.';
comment on column sync.plans.changes is 'Per user: user_id, name, base (the values last agreed on), service (the service''s values) and patch (the values to be sent), each by field.';
comment on column sync.plans.expires_at is 'approved: when it no longer counts. refused: when it is told of again, if it waits still; it does not end by itself.';

create or replace view report.pending with (security_barrier) as
select v.* from (
  select u.team_id, u.id as user_id, u.name, f.field, f.base_value, f.mirror_value,
         case when h.field is not null then 'held'
              when u.gone_at is not null then 'gone'
              when not u.resolved then 'unresolved'
              when c.change_id is not null then 'sent'
              when r.user_id is not null then 'refused'
              else 'waiting' end as state,
         h.reason as held_because, u.edited_at, u.edited_by
  from mirror.users u
  join sync.user_base b on b.team_id = u.team_id and b.id = u.id
  cross join lateral (values
    ('name', jsonb_build_object('first', b.first_name, 'last', b.last_name), jsonb_build_object('first', u.first_name, 'last', u.last_name)),
    ('email', to_jsonb(b.email), to_jsonb(u.email)),
    ('phone', to_jsonb(b.phone), to_jsonb(u.phone)),
    ('role_id', to_jsonb(b.role_id), to_jsonb(u.role_id))
  ) as f (field, base_value, mirror_value)
  left join sync.held_fields h on h.team_id = u.team_id and h.user_id = u.id and h.field = f.field
  left join sync.changes c on c.team_id = u.team_id and c.user_id = u.id and c.state = 'open'
  left join (
    select p.team_id, w.user_id, w.patch
    from sync.plans p
    cross join lateral jsonb_to_recordset(p.changes) as w (user_id bigint, patch jsonb)
    where p.state = 'refused'
  ) r on r.team_id = u.team_id and r.user_id = u.id and r.patch -> f.field = coalesce(f.mirror_value, 'null'::jsonb)
  where (u.first_name, u.last_name, u.email, u.phone, u.role_id)
        is distinct from (b.first_name, b.last_name, b.email, b.phone, b.role_id)
    and f.base_value is distinct from f.mirror_value
) v
where (select mirror.sees_all_teams()) or v.team_id in (select mirror.seen_teams());
comment on column report.pending.state is 'waiting: the next run sends it. refused: it waits in a plan that a guard refused, until somebody decides. sent: its outcome is not known yet. held: it waits for a person. unresolved: no lookup answers for the user. gone: the user has left.';
