-- What the daemon goes by: what is due, how it went, and word of edits the moment that they are committed.

alter table sync.runs add column groups text[] not null default '{users,listings,counts}';
comment on column sync.runs.groups is 'What the run did: users, listings, counts, or edits alone.';

create table sync.due (
  team        text not null,
  run_group   text not null check (run_group in ('users', 'listings', 'counts', 'edits')),
  schedule    text not null default '',
  due_at      timestamptz not null default 'infinity',
  since       timestamptz not null default clock_timestamp(),
  started_at  timestamptz,
  finished_at timestamptz,
  outcome     text,
  failures    integer not null default 0,
  complete_at timestamptz,
  mark        text,
  primary key (team, run_group)
);
create index due_by_time on sync.due (due_at);
comment on table sync.due is 'When each group of each team is to be done next, and how its last runs went. A tick of a schedule is only a hint: what is due is read here, by the database''s clock.';
comment on column sync.due.team is 'Name of the team in the configuration.';
comment on column sync.due.run_group is 'users, listings, counts, or edits: what was edited in the mirror, outside of the schedule.';
comment on column sync.due.schedule is 'The schedule that due_at follows from.';
comment on column sync.due.due_at is 'When it is to be done next; infinity where no daemon has a schedule for it.';
comment on column sync.due.since is 'When a daemon or a run first knew of it.';
comment on column sync.due.started_at is 'When its last run began.';
comment on column sync.due.finished_at is 'When its last run ended.';
comment on column sync.due.outcome is 'How its last run ended: complete, partial, failed or refused.';
comment on column sync.due.failures is 'How many runs in a row have failed.';
comment on column sync.due.complete_at is 'When its last complete run ended: the one clock that tells how old the mirror is.';
comment on column sync.due.mark is 'Of edits: a digest of those that the last push set out with.';

create function mirror.tell_of_edits() returns trigger
language plpgsql as $$
begin
  if current_setting('musterd.writing', true) is distinct from 'on' then
    perform pg_notify('musterd_edits', e.team_id::text) from (select distinct team_id from edited) e;
  end if;
  return null;
end
$$;
comment on function mirror.tell_of_edits() is 'Tells a listening daemon which teams an edit touched, when it is committed.';

create trigger users_tell_of_edits after update on mirror.users
referencing new table as edited
for each statement execute function mirror.tell_of_edits();

create or replace view report.runs as
select run_id, team, team_id, command, started_at, finished_at, finished_at - started_at as duration, outcome, reasons,
       counts, waiting, requests, request_ids, groups
from sync.runs;
comment on column report.runs.groups is 'What the run did: users, listings, counts, or edits alone.';
