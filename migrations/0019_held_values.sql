-- Held fields with the values of both sides as they are now; the ledger with users who were proven gone.

alter table sync.held_fields add column shown_value jsonb;
update sync.held_fields set shown_value = service_value;
comment on column sync.held_fields.shown_value is 'The service''s value as a run last saw it.';

create or replace view report.held with (security_barrier) as
select v.* from (
  select h.team_id, h.user_id, u.name, h.field, h.reason, h.base_value,
         case when u.id is not null then
           case h.field when 'name' then jsonb_build_object('first', u.first_name, 'last', u.last_name)
                        when 'email' then to_jsonb(u.email)
                        when 'phone' then to_jsonb(u.phone)
                        when 'role_id' then to_jsonb(u.role_id) end
         end as mirror_value,
         h.shown_value as service_value, h.detail, h.since, h.run_id, h.until,
         h.mirror_value as mirror_value_then, h.service_value as service_value_then
  from sync.held_fields h
  left join mirror.users u on u.team_id = h.team_id and u.id = h.user_id
) v
where (select mirror.sees_all_teams()) or v.team_id in (select mirror.seen_teams());
comment on view report.held is 'Fields that wait for a person, with the values of both sides, now and when the hold began.';
comment on column report.held.mirror_value is 'The mirror''s value now.';
comment on column report.held.service_value is 'The service''s value as a run last saw it.';
comment on column report.held.mirror_value_then is 'The mirror''s value when the hold began.';
comment on column report.held.service_value_then is 'The service''s value when the hold began.';

create or replace view report.changes with (security_barrier) as
select v.* from (
  select c.change_id, c.team_id, c.user_id, u.name, c.run_id, c.kind, f.field, c.base -> f.field as base_value,
         c.old -> f.field as old_value, c.new -> f.field as new_value,
         case when c.state = 'open' then 'unknown' else c.outcome ->> f.field end as outcome,
         c.request_id, c.opened_at, c.closed_at
  from sync.changes c
  left join lateral (select jsonb_object_keys(c.new) as field union select jsonb_object_keys(c.old)) as f on true
  left join mirror.users u on u.team_id = c.team_id and u.id = c.user_id
) v
where (select mirror.sees_all_teams()) or v.team_id in (select mirror.seen_teams());
comment on view report.changes is 'The ledger, a row per field moved; a user proven gone or forgotten is one row without a field.';
comment on column report.changes.field is 'The field; empty of a tombstone or forget, which stands for the whole user.';
