-- A hold that a person asks for goes over whatever holds the field already, which comes back when the hold is over.

alter table sync.held_fields add column held_before text, add column detail_before text not null default '', add column asked_by text;
alter table sync.held_fields
  add constraint held_fields_held_before_check check (held_before in
    ('conflict', 'refused', 'ineffective', 'unsupported', 'gone', 'limit', 'review', 'rejected')),
  add constraint asker_has_at_most_300_characters check (char_length(asked_by) <= 300);
comment on column sync.held_fields.held_before is 'Where the reason is asked: why the field was held before, and will be again when that is over; NULL: it was not. Elsewhere without meaning.';
comment on column sync.held_fields.detail_before is 'Where the reason is asked: what happened before, in words.';
comment on column sync.held_fields.asked_by is 'Where the reason is asked: who asked for it; NULL: not known.';
comment on column sync.held_fields.batch_reason is 'Of a rejected field that was in a batch: why it waited before, and will again if the rejection is taken back.';
update sync.held_fields set held_before = coalesce(batch_reason, 'limit'), detail_before = 'was held on request for a while', batch_reason = null
where reason = 'asked' and batch is not null;

-- As in 0064: what a hold that is over leaves in a batch is decided about as before it.
do $$
declare
  body text := pg_get_functiondef('sync.decide(text, boolean, bigint[], text, boolean, bigint, bigint[])'::regprocedure);
  part text[];
begin
  foreach part slice 1 in array array[
    [$was$when h.reason not in ('limit', 'review', 'asked')$was$,
     $is$when case h.reason when 'asked' then h.held_before else h.reason end not in ('limit', 'review')$is$],
    ['coalesce(h.batch_reason, ''limit'')', 'coalesce(h.held_before, ''limit'')'],
    [$was$case when decide.approves or h.reason not in ('limit', 'review') then h.batch_reason else h.reason end$was$,
     $is$case when decide.approves then h.batch_reason when h.reason = 'asked' then coalesce(h.held_before, 'limit')
        when h.reason in ('limit', 'review') then h.reason else h.batch_reason end$is$],
    [$was$case when decide.approves then h.detail else$was$,
     $is$case when decide.approves then case h.reason when 'asked' then h.detail_before else h.detail end else$is$]]
  loop
    if position(part[1] in body) = 0 then
      raise exception 'sync.decide() is not as expected: %', part[1];
    end if;
    body := replace(body, part[1], part[2]);
  end loop;
  execute body;
end
$$;

-- With what comes back, and who asked; a hold that is over and leaves nothing is not there any more.
create or replace view report.held with (security_invoker) as
select v.team_id, v.user_id, v.name, v.field, v.reason, v.base_value, v.mirror_value, v.service_value, v.detail, v.since,
  v.run_id, v.until, v.mirror_value_then, v.service_value_then, v.batch, v.decided_at, v.decided_by, v.decided_why,
  mirror.field_text(v.base_value) as base_text, mirror.field_text(v.mirror_value) as mirror_text,
  mirror.field_text(v.service_value) as service_text, mirror.field_text(v.mirror_value_then) as mirror_text_then,
  mirror.field_text(v.service_value_then) as service_text_then, v.edit_id, v.name as user_name, v.held_before, v.asked_by
from (
  select h.team_id, h.user_id, u.name, h.field, o.reason, h.base_value,
         case when u.id is not null then
           case h.field when 'name' then jsonb_build_object('first', u.first_name, 'last', u.last_name)
                        when 'email' then to_jsonb(u.email)
                        when 'phone' then to_jsonb(u.phone)
                        when 'role_id' then to_jsonb(u.role_id) end
         end as mirror_value,
         h.shown_value as service_value,
         case when o.is_over then h.detail_before else h.detail end
           || case when h.batch is not null and o.reason in ('limit', 'review') and h.shown_value is distinct from h.service_value
                   then '; the service has changed it since' else '' end as detail,
         h.since, h.run_id, case when not o.is_over then h.until end as until,
         h.mirror_value as mirror_value_then, h.service_value as service_value_then, h.batch,
         h.decided_at, h.decided_by, h.decided_why, h.edit_id,
         case when o.reason = 'asked' then h.held_before end as held_before,
         case when o.reason = 'asked' then h.asked_by end as asked_by
  from sync.held_fields h
  cross join lateral (
    select h.reason = 'asked' and h.held_before is not null and h.until <= clock_timestamp()
  ) e (is_over)
  cross join lateral (select e.is_over, case when e.is_over then h.held_before else h.reason end) o (is_over, reason)
  left join mirror.users u on u.team_id = h.team_id and u.id = h.user_id
  where h.decision is null and not (h.reason = 'asked' and h.held_before is null and h.until <= clock_timestamp())
) v
where (select mirror.sees_all_teams()) or v.team_id in (select mirror.seen_teams());
comment on column report.held.held_before is 'Where a person asked for the hold: why the field was held before, and will be again when that is over; empty: it was not.';
comment on column report.held.asked_by is 'Who asked for the hold; empty: nobody, or it is not known.';

-- Whoever may read the view needs the right to the columns that it reads now, and to no other.
do $$
declare
  reader text;
begin
  for reader in
    select case a.grantee when 0 then 'public' else a.grantee::regrole::text end
    from pg_class v cross join lateral aclexplode(v.relacl) a
    where v.oid = 'report.held'::regclass and a.privilege_type = 'SELECT' and a.grantee <> v.relowner
  loop
    execute format('grant select (held_before, detail_before, asked_by) on sync.held_fields to %s', reader);
    execute format('revoke select (batch_reason) on sync.held_fields from %s', reader);
  end loop;
end
$$;
