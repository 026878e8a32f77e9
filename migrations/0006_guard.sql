-- Plans that the guard refused, approvals, and holds that a person asked for.

create table sync.plans (
  plan_id        bigint generated always as identity primary key,
  team_id        bigint not null,
  run_id         bigint references sync.runs,
  hash           text not null,
  state          text not null default 'refused' check (state in ('refused', 'approved', 'superseded')),
  reasons        text[] not null default '{}',
  changes        jsonb not null,
  made_at        timestamptz not null default clock_timestamp(),
  expires_at     timestamptz not null,
  decided_at     timestamptz,
  decided_by     text,
  decided_why    text
);
create unique index plans_one_refused on sync.plans (team_id) where state = 'refused';
create index plans_by_team on sync.plans (team_id, plan_id desc);
comment on table sync.plans is 'Pushes that the guard refused, and what a person decided about them. An approval holds for these rows with these values only, and expires.';
comment on column sync.plans.plan_id is 'Number of the plan.';
comment on column sync.plans.team_id is 'The team.';
comment on column sync.plans.run_id is 'The run that was refused; NULL for an approval that came by itself.';
comment on column sync.plans.hash is 'First 12 hex digits of the SHA-256 of the changes: what "musterd approve" is given.';
comment on column sync.plans.state is 'refused: waits for a person. approved: its rows may pass the guard. superseded: a later plan or an approval took its place.';
comment on column sync.plans.reasons is 'Why the guard refused it.';
comment on column sync.plans.changes is 'Per user: user_id, name, base (the service''s values) and patch (the values to be sent), by field.';
comment on column sync.plans.made_at is 'When it was made.';
comment on column sync.plans.expires_at is 'When it no longer counts.';
comment on column sync.plans.decided_at is 'When a person decided.';
comment on column sync.plans.decided_by is 'Who decided.';
comment on column sync.plans.decided_why is 'The reason that was given.';

alter table sync.changes add column approved boolean not null default false;
comment on column sync.changes.approved is 'The push was approved by a person, and does not count against the limit of a day.';

alter table sync.held_fields add column until timestamptz;
comment on column sync.held_fields.until is 'A hold that a person asked for ends then, and not before.';
alter table sync.held_fields drop constraint held_fields_reason_check;
alter table sync.held_fields add constraint held_fields_reason_check
  check (reason in ('conflict', 'refused', 'ineffective', 'unsupported', 'gone', 'brake', 'asked'));
comment on column sync.held_fields.reason is 'conflict: both sides changed it. refused: the service does not take the value. ineffective: the service takes it without effect. unsupported: it can not be sent. gone: the user has left. brake: a guard stopped it. asked: a person asked for it.';
alter table sync.held_fields alter column run_id drop not null;
comment on column sync.held_fields.run_id is 'The run that held it; NULL if a person did.';

create or replace view report.held as
select h.team_id, h.user_id, u.name, h.field, h.reason, h.base_value, h.mirror_value, h.service_value, h.detail, h.since,
       h.run_id, h.until
from sync.held_fields h
left join mirror.users u on u.team_id = h.team_id and u.id = h.user_id;
comment on column report.held.reason is 'Why it is held: conflict, refused, ineffective, unsupported, gone, brake or asked.';
comment on column report.held.run_id is 'The run that held it; empty if a person did.';
comment on column report.held.until is 'When a hold that a person asked for ends.';
