-- Absences that no run acts on without a person, and the settings under which absences were judged last.

create table sync.withheld_absences (
  absence_id  bigint generated always as identity primary key,
  team_id     bigint not null,
  resource    text not null check (resource in ('users', 'tags', 'contact_fields')),
  hash        text not null,
  state       text not null default 'waiting' check (state in ('waiting', 'approved', 'superseded')),
  reason      text not null,
  ids         bigint[] not null,
  run_id      bigint references sync.runs,
  made_at     timestamptz not null default clock_timestamp(),
  expires_at  timestamptz not null,
  decided_at  timestamptz,
  decided_by  text,
  decided_why text
);
create unique index withheld_absences_one_waiting on sync.withheld_absences (team_id, resource) where state = 'waiting';
create index withheld_absences_by_team on sync.withheld_absences (team_id, absence_id desc);
comment on table sync.withheld_absences is 'Rows that a complete listing no longer shows and that are not called gone before a person agrees: too many at once, or the settings ask for less than before.';
comment on column sync.withheld_absences.absence_id is 'Number of the row.';
comment on column sync.withheld_absences.team_id is 'The team.';
comment on column sync.withheld_absences.resource is 'What is missing: users, tags or contact_fields.';
comment on column sync.withheld_absences.hash is 'First 12 hex digits of the SHA-256 of the resource and the ids: what "musterd approve" is given.';
comment on column sync.withheld_absences.state is 'waiting: for a person. approved: these rows may be called gone. superseded: other rows are missing by now, or a person decided.';
comment on column sync.withheld_absences.reason is 'Why no run decides it by itself.';
comment on column sync.withheld_absences.ids is 'The service''s ids of the missing rows.';
comment on column sync.withheld_absences.run_id is 'The run that found it; NULL for a decision.';
comment on column sync.withheld_absences.made_at is 'When it was found or decided.';
comment on column sync.withheld_absences.expires_at is 'When an approval no longer counts.';
comment on column sync.withheld_absences.decided_at is 'When a person decided.';
comment on column sync.withheld_absences.decided_by is 'Who decided.';
comment on column sync.withheld_absences.decided_why is 'The reason that was given.';

create table sync.scopes (
  team_id  bigint not null,
  resource text not null check (resource in ('users', 'tags', 'contact_fields')),
  scope    text not null,
  since    timestamptz not null default clock_timestamp(),
  primary key (team_id, resource)
);
comment on table sync.scopes is 'What the settings ask the service for, by resource. When that changes, a row that is no longer shown may be there all the same: it is not called gone before a person agrees.';
comment on column sync.scopes.team_id is 'The team.';
comment on column sync.scopes.resource is 'What is asked for: users, tags or contact_fields.';
comment on column sync.scopes.scope is 'First 12 hex digits of the SHA-256 of the service''s address and the filter.';
comment on column sync.scopes.since is 'When a complete pass first found nothing to withhold under these settings.';
