-- For analysts and their tools: times of tags as times, values as text, what a row is, and what joins what.

-- Logical replication needs to tell the rows apart, and a team that is NULL does not.
alter table mirror.team_roles add column team_role_id bigint generated always as identity primary key;
comment on column mirror.team_roles.team_role_id is 'Number of the row.';

-- Nothing that the pattern lets pass is refused by the cast. One expression, so that it becomes a part of the query.
create function mirror.read_time(value text) returns timestamptz
language sql stable parallel safe
begin atomic
  select case when value ~* '^(?!0000)(\d{4}-(((0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8]))|((0[13-9]|1[0-2])-(29|30))|((0[13578]|1[02])-31))|(\d\d(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29)([T ]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,9})?)?( ?(Z|[+-](0\d|1[0-4]):?[0-5]\d))?)?$'
    then (value || case when value ~* '(Z|[+-]\d\d:?\d\d)$' then '' when length(value) = 10 then ' 00:00Z' else 'Z' end)::timestamptz end;
end;
comment on function mirror.read_time(text) is 'The time that a text names by ISO 8601, in UTC where it has no zone; NULL: it names none.';
grant execute on function mirror.read_time(text) to public;

create or replace view report.tags with (security_invoker) as
select v.* from (
  select t.team_id, t.id as tag_id, t.tag, t.color, t.created, t.updated, t.first_seen_at, t.gone_at, t.gone_at is null as present,
         mirror.read_time(t.created) as created_at, mirror.read_time(t.updated) as updated_at
  from mirror.tags t
) v
where (select mirror.sees_all_teams()) or v.team_id in (select mirror.seen_teams());
comment on column report.tags.created is 'Creation time, as the service writes it; created_at is the time.';
comment on column report.tags.updated is 'Time of the last change, as the service writes it; updated_at is the time.';
comment on column report.tags.created_at is 'Creation time; empty: the service gives none, or none that can be read.';
comment on column report.tags.updated_at is 'Time of the last change; empty: the service gives none, or none that can be read.';

create view report.contact_counts with (security_invoker) as
select v.* from (
  select c.team_id, c.segment, c.counted_at, c.count from mirror.contact_counts c
) v
where (select mirror.sees_all_teams()) or v.team_id in (select mirror.seen_teams());
comment on column report.contact_counts.team_id is 'The team.';
comment on column report.contact_counts.segment is 'Name of the segment in the configuration.';
comment on column report.contact_counts.counted_at is 'When the service answered.';
comment on column report.contact_counts.count is 'Number of contacts.';

-- What the views show stays as it is; columns are added behind the others, so that whoever was granted one keeps it.
do $$
declare
  place text;
  added text;
begin
  for place, added in values
    ('changes', 'mirror.field_text(v.base_value) as base_text'),
    ('pending', 'mirror.field_text(v.base_value) as base_text, mirror.field_text(v.mirror_value) as mirror_text'),
    ('held', 'mirror.field_text(v.base_value) as base_text, mirror.field_text(v.mirror_value) as mirror_text,
              mirror.field_text(v.service_value) as service_text, mirror.field_text(v.mirror_value_then) as mirror_text_then,
              mirror.field_text(v.service_value_then) as service_text_then'),
    ('runs', '(select string_agg(k.key || '' '' || (k.value #>> ''{}''), '', '' order by k.key) from jsonb_each(v.counts) k) as counts_text')
  loop
    execute format('create or replace view report.%1$I with (security_invoker) as select v.*, %2$s from (%3$s) v',
                   place, added, rtrim(pg_get_viewdef(format('report.%I', place)::regclass), ';'));
  end loop;
end
$$;
comment on column report.changes.base_text is 'The value last agreed on before, as text; of a name its two halves, joined.';
comment on column report.pending.base_text is 'The value when both sides last agreed, as text; of a name its two halves, joined.';
comment on column report.pending.mirror_text is 'The value that it was edited to, as text; of a name its two halves, joined.';
comment on column report.held.base_text is 'The value last agreed on, as text; of a name its two halves, joined.';
comment on column report.held.mirror_text is 'The mirror''s value now, as text; of a name its two halves, joined.';
comment on column report.held.service_text is 'The service''s value as a run last saw it, as text; of a name its two halves, joined.';
comment on column report.held.mirror_text_then is 'The mirror''s value when the hold began, as text; of a name its two halves, joined.';
comment on column report.held.service_text_then is 'The service''s value when the hold began, as text; of a name its two halves, joined.';
comment on column report.runs.counts_text is 'How many rows were read and moved, as text.';

-- What a row is, and the columns that tell it from others.
comment on view report.roster is 'The users who are in the team now: a row per user (team_id, user_id).';
comment on view report.roster_history is 'The users of the team as they were: a row per user and period in which nothing of the row changed (team_id, user_id, valid_from). It begins with the first run, or with the last change of the user before the history was recorded.';
comment on view report.roster_changes is 'Who changed what in the roster: a row per field and change (team_id, user_id, changed_at, field). One who came or went has one row, of the field present.';
comment on view report.role_changes is 'Who got another role: a row per user and change (team_id, user_id, changed_at).';
comment on view report.tags is 'All tags ever seen: a row per tag (team_id, tag_id).';
comment on view report.tag_history is 'What became of each tag: a row per column that moved, and one where it went or came back as it was.';
comment on view report.tag_growth is 'How many tags there were at the end of each day (UTC), and how it came to that: a row per team and day (team_id, day), from the first tag to today. A day on which nobody looked has no numbers.';
comment on view report.contact_fields is 'All custom contact fields ever seen: a row per field (team_id, contact_field_id).';
comment on view report.contact_counts is 'How many contacts each segment had: a row per count (team_id, segment, counted_at).';
comment on view report.contact_counts_daily is 'How many contacts each segment had: a row per segment and day, in UTC (team_id, segment, day), from its first count to its last. A day without a count has no numbers.';
comment on view report.pending is 'Edits in the mirror that are not yet on the service: a row per field of a user (team_id, user_id, field).';
comment on view report.held is 'What waits for a person, with the values of both sides, now and when the hold began: a row per field of a user (team_id, user_id, field). What was approved waits for nobody, and is not here.';
comment on view report.decisions is 'What people decided about what was held: a row per field of a user (change_id, field).';
comment on view report.changes is 'The ledger: a row per field that moved (change_id, field); a change without a field has one as well.';
comment on view report.runs is 'All runs, with what each one moved: a row per run (run_id).';
comment on view report.roles is 'All roles that anybody has had: a row per role (team_id, role_id).';
comment on view report.listing_history is 'What became of tags, contact fields, roles and the name of the team: a row per column that moved, and one where it went or came back as it was.';
comment on view report.missing is 'What no run calls gone before a person agrees: a row per batch (team_id, batch, resource).';
comment on view report.freshness is 'How old the mirror is: a row per team and group of what it holds (team, run_group).';
comment on view report.sync_health is 'How well the runs of the last seven days went: a row per team (team).';
comment on view report.usage is 'What the runs asked of the service: a row per team, day and endpoint (team, day, endpoint); days in UTC. Of what is no run, such as musterd plan, nothing is recorded.';

-- What joins what: not declared, since a bulk load would pay for each row. The name of the column that it is found in ends
-- the comment.
do $$
declare
  place  text;
  column_name text;
  target text;
begin
  for place, column_name, target in values
    ('report.roster', 'team_id', 'mirror.teams.team_id'), ('report.roster', 'user_id', 'mirror.users.id'),
    ('report.roster_changes', 'run_id', 'report.runs.run_id'), ('report.role_changes', 'run_id', 'report.runs.run_id'),
    ('report.tags', 'tag_id', 'mirror.tags.id'), ('report.tag_history', 'tag_id', 'report.tags.tag_id'),
    ('report.contact_fields', 'contact_field_id', 'mirror.contact_fields.id'),
    ('report.pending', 'user_id', 'mirror.users.id'), ('report.held', 'user_id', 'mirror.users.id'),
    ('report.held', 'run_id', 'report.runs.run_id'), ('report.changes', 'run_id', 'report.runs.run_id'),
    ('report.decisions', 'change_id', 'report.changes.change_id'), ('report.decisions', 'run_id', 'report.runs.run_id'),
    ('mirror.users', 'team_id', 'mirror.teams.team_id'), ('mirror.tags', 'team_id', 'mirror.teams.team_id'),
    ('mirror.contact_fields', 'team_id', 'mirror.teams.team_id'), ('mirror.contact_counts', 'team_id', 'mirror.teams.team_id'),
    ('mirror.roles', 'team_id', 'mirror.teams.team_id')
  loop
    execute format('comment on column %s.%I is %L', place, column_name,
      (select col_description(a.attrelid, a.attnum) from pg_attribute a where a.attrelid = place::regclass and a.attname = column_name)
      || ' In ' || target || '.');
  end loop;
end
$$;

do $$
declare
  granted text;
begin
  for granted in
    select format('grant select on report.contact_counts to %s', case a.grantee when 0 then 'public' else a.grantee::regrole::text end)
    from pg_class c cross join lateral aclexplode(c.relacl) a
    where c.oid = 'report.contact_counts_daily'::regclass and a.privilege_type = 'SELECT' and a.grantee <> c.relowner
  loop
    execute granted;
  end loop;
end
$$;
