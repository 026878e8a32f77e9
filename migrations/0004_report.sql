-- The stable surface for analysts. Columns are only ever added.

create schema report;
comment on schema report is 'Views for reports. Their columns stay; new ones may be added.';

create view report.roster as
select u.team_id, t.name as team, u.id as user_id, u.name, u.first_name, u.last_name, u.email, u.phone,
       u.role_id, u.role, u.resolved, u.created_at, u.updated_at, u.edited_at, u.edited_by
from mirror.users u
left join mirror.teams t on t.team_id = u.team_id
where u.gone_at is null;
comment on view report.roster is 'The users who are in the team now.';
comment on column report.roster.team_id is 'The team.';
comment on column report.roster.team is 'Name of the team.';
comment on column report.roster.user_id is 'The service''s id of the user.';
comment on column report.roster.name is 'The name as the service joins it.';
comment on column report.roster.first_name is 'First name; a guess where mirror.users.name_split says so.';
comment on column report.roster.last_name is 'Last name.';
comment on column report.roster.email is 'Email address.';
comment on column report.roster.phone is 'Phone number.';
comment on column report.roster.role_id is 'The service''s id of the role.';
comment on column report.roster.role is 'Name of the role.';
comment on column report.roster.resolved is 'False: only the team listing knows this member.';
comment on column report.roster.created_at is 'When the user joined the team.';
comment on column report.roster.updated_at is 'Last change on the service.';
comment on column report.roster.edited_at is 'Last edit in the mirror.';
comment on column report.roster.edited_by is 'Who made that edit.';

create view report.tags as
select team_id, id as tag_id, tag, color, created, updated, first_seen_at, gone_at, gone_at is null as present
from mirror.tags;
comment on view report.tags is 'All tags ever seen.';
comment on column report.tags.team_id is 'The team.';
comment on column report.tags.tag_id is 'The service''s id of the tag.';
comment on column report.tags.tag is 'Name of the tag.';
comment on column report.tags.color is 'Colour, as the service writes it.';
comment on column report.tags.created is 'Creation time, as the service writes it.';
comment on column report.tags.updated is 'Time of the last change, as the service writes it.';
comment on column report.tags.first_seen_at is 'When a run first saw it.';
comment on column report.tags.gone_at is 'When it was proven gone.';
comment on column report.tags.present is 'Whether it is still there.';

create view report.contact_fields as
select team_id, id as contact_field_id, title, first_seen_at, gone_at, gone_at is null as present
from mirror.contact_fields;
comment on view report.contact_fields is 'All custom contact fields ever seen.';
comment on column report.contact_fields.team_id is 'The team.';
comment on column report.contact_fields.contact_field_id is 'The service''s id of the field.';
comment on column report.contact_fields.title is 'Title of the field.';
comment on column report.contact_fields.first_seen_at is 'When a run first saw it.';
comment on column report.contact_fields.gone_at is 'When it was proven gone.';
comment on column report.contact_fields.present is 'Whether it is still there.';

create view report.contact_counts_daily as
with days as (
  select team_id, segment, (counted_at at time zone 'UTC')::date as day,
         (array_agg(count order by counted_at desc))[1] as count,
         min(count) as lowest, max(count) as highest, count(*) as samples
  from mirror.contact_counts
  group by team_id, segment, (counted_at at time zone 'UTC')::date
)
select team_id, segment, day, count, lowest, highest, samples,
       count - lag(count) over (partition by team_id, segment order by day) as change
from days;
comment on view report.contact_counts_daily is 'Contact counts by day (UTC): the last one of the day and how it moved.';
comment on column report.contact_counts_daily.team_id is 'The team.';
comment on column report.contact_counts_daily.segment is 'Name of the segment.';
comment on column report.contact_counts_daily.day is 'The day, in UTC.';
comment on column report.contact_counts_daily.count is 'The last count of the day.';
comment on column report.contact_counts_daily.lowest is 'The lowest count of the day.';
comment on column report.contact_counts_daily.highest is 'The highest count of the day.';
comment on column report.contact_counts_daily.samples is 'How often was counted that day.';
comment on column report.contact_counts_daily.change is 'Difference to the day before that has a count.';

create view report.pending as
select u.team_id, u.id as user_id, u.name, f.field, f.base_value, f.mirror_value,
       case when h.field is not null then 'held'
            when u.gone_at is not null then 'gone'
            when not u.resolved then 'unresolved'
            when c.change_id is not null then 'sent'
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
where (u.first_name, u.last_name, u.email, u.phone, u.role_id)
      is distinct from (b.first_name, b.last_name, b.email, b.phone, b.role_id)
  and f.base_value is distinct from f.mirror_value;
comment on view report.pending is 'Edits in the mirror that are not yet on the service, a row per field.';
comment on column report.pending.team_id is 'The team.';
comment on column report.pending.user_id is 'The service''s id of the user.';
comment on column report.pending.name is 'The name as the service joins it.';
comment on column report.pending.field is 'The edited field: name is the pair of first and last name.';
comment on column report.pending.base_value is 'The value that the service had when both sides last agreed.';
comment on column report.pending.mirror_value is 'The value that it was edited to.';
comment on column report.pending.state is 'waiting: the next run sends it. sent: its outcome is not known yet. held: it waits for a person. unresolved: no lookup answers for the user. gone: the user has left.';
comment on column report.pending.held_because is 'Why it is held.';
comment on column report.pending.edited_at is 'When the user was last edited.';
comment on column report.pending.edited_by is 'Who edited it.';

create view report.held as
select h.team_id, h.user_id, u.name, h.field, h.reason, h.base_value, h.mirror_value, h.service_value, h.detail, h.since, h.run_id
from sync.held_fields h
left join mirror.users u on u.team_id = h.team_id and u.id = h.user_id;
comment on view report.held is 'Fields that wait for a person, with the values of both sides.';
comment on column report.held.team_id is 'The team.';
comment on column report.held.user_id is 'The service''s id of the user.';
comment on column report.held.name is 'The name as the service joins it.';
comment on column report.held.field is 'The field.';
comment on column report.held.reason is 'Why it is held: conflict, refused, ineffective, unsupported, gone or brake.';
comment on column report.held.base_value is 'The value last agreed on.';
comment on column report.held.mirror_value is 'The mirror''s value.';
comment on column report.held.service_value is 'The service''s value.';
comment on column report.held.detail is 'What happened, in words.';
comment on column report.held.since is 'Since when it waits.';
comment on column report.held.run_id is 'The run that held it.';

create view report.runs as
select run_id, team, team_id, command, started_at, finished_at, finished_at - started_at as duration, outcome, reasons,
       counts, waiting, requests, request_ids
from sync.runs;
comment on view report.runs is 'All runs, with what each one moved.';
comment on column report.runs.run_id is 'Number of the run.';
comment on column report.runs.team is 'Name of the team in the configuration.';
comment on column report.runs.team_id is 'The service''s id of the team.';
comment on column report.runs.command is 'reconcile, daemon, resolve or resync.';
comment on column report.runs.started_at is 'When it began.';
comment on column report.runs.finished_at is 'When it ended.';
comment on column report.runs.duration is 'How long it took.';
comment on column report.runs.outcome is 'complete, partial, failed, refused, or running.';
comment on column report.runs.reasons is 'Why it is not complete.';
comment on column report.runs.counts is 'How many rows were read and moved, by kind.';
comment on column report.runs.waiting is 'Fields that waited for a person when it ended.';
comment on column report.runs.requests is 'Requests that it sent, retries included.';
comment on column report.runs.request_ids is 'X-Request-Id of each write.';

create view report.changes as
select c.change_id, c.team_id, c.user_id, u.name, c.run_id, c.kind, f.field, c.base -> f.field as base_value,
       c.old -> f.field as old_value, c.new -> f.field as new_value,
       case when c.state = 'open' then 'unknown' else c.outcome ->> f.field end as outcome,
       c.request_id, c.opened_at, c.closed_at
from sync.changes c
cross join lateral (select jsonb_object_keys(c.new) as field union select jsonb_object_keys(c.old)) as f
left join mirror.users u on u.team_id = c.team_id and u.id = c.user_id;
comment on view report.changes is 'The ledger, a row per field moved.';
comment on column report.changes.change_id is 'Number of the change.';
comment on column report.changes.team_id is 'The team.';
comment on column report.changes.user_id is 'The service''s id of the user.';
comment on column report.changes.name is 'The name as the service joins it today.';
comment on column report.changes.run_id is 'The run that moved it.';
comment on column report.changes.kind is 'adopt, pull, push, settle, hold, tombstone or forget.';
comment on column report.changes.field is 'The field.';
comment on column report.changes.base_value is 'The value last agreed on before.';
comment on column report.changes.old_value is 'The value that was replaced.';
comment on column report.changes.new_value is 'The value that replaced it.';
comment on column report.changes.outcome is 'Of a push: confirmed, ineffective, changed, missing, refused, unsent or unknown.';
comment on column report.changes.request_id is 'X-Request-Id of the answer.';
comment on column report.changes.opened_at is 'When it was written down.';
comment on column report.changes.closed_at is 'When its outcome was known.';
