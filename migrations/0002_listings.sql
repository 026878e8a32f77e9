-- Inboxes and surveys, and how many members a team has. What every listing has (triggers, a view, rights) is made for its
-- table by the repeatable files: docs/adding-a-listing.md.

alter table mirror.teams add column members bigint;
comment on column mirror.teams.members is 'How many members the team lists; NULL: no run has counted them since this column is there.';

create table mirror.inboxes (
  team_id         bigint not null,
  id              bigint not null,
  name            text,
  members         jsonb,
  phones          jsonb,
  phone           text,
  allowed_domains jsonb,
  auto_assignable boolean,
  bco_chats       boolean,
  forward_number  text,
  invited         jsonb,
  op              text,
  rev             bigint,
  widget_code     text,
  widget_settings jsonb,
  first_seen_at   timestamptz not null default now(),
  gone_at         timestamptz,
  raw             jsonb not null default '{}',
  constraint inboxes_pkey primary key (team_id, id)
);
comment on table mirror.inboxes is 'The team''s inboxes. Read-only.';
comment on column mirror.inboxes.team_id is 'The team that the inbox belongs to. In mirror.teams.team_id.';
comment on column mirror.inboxes.id is 'The service''s id of the inbox.';
comment on column mirror.inboxes.name is 'Name of the inbox.';
comment on column mirror.inboxes.members is 'A list of the ids of the users who have access; mirror.inbox_members has a row for each. NULL: the service has never said.';
comment on column mirror.inboxes.phones is 'A list of the service phone numbers of the inbox, as the service writes them. NULL: it has never said.';
comment on column mirror.inboxes.phone is 'A phone number of the inbox, as the service writes it.';
comment on column mirror.inboxes.allowed_domains is 'A list of domains, as the service gives it. NULL: it has never said.';
comment on column mirror.inboxes.auto_assignable is 'As the service gives it.';
comment on column mirror.inboxes.bco_chats is 'As the service gives it.';
comment on column mirror.inboxes.forward_number is 'As the service gives it.';
comment on column mirror.inboxes.invited is 'A list of texts, as the service gives it. NULL: it has never said.';
comment on column mirror.inboxes.op is 'The last operation, where the service gives one.';
comment on column mirror.inboxes.rev is 'Revision number, where the service gives one.';
comment on column mirror.inboxes.widget_code is 'As the service gives it.';
comment on column mirror.inboxes.widget_settings is 'The settings of the web widget, as the service gives them. NULL: it has never said.';
comment on column mirror.inboxes.first_seen_at is 'When a run first saw the inbox.';
comment on column mirror.inboxes.gone_at is 'When it was proven that the inbox is gone. The row stays.';
comment on column mirror.inboxes.raw is 'Whatever else the service said of the inbox when the row last changed: a change of this alone is not taken.';

create table mirror.surveys (
  team_id       bigint not null,
  id            bigint not null,
  name          text,
  type          text,
  question      text,
  created       text,
  updated       text,
  first_seen_at timestamptz not null default now(),
  gone_at       timestamptz,
  raw           jsonb not null default '{}',
  constraint surveys_pkey primary key (team_id, id)
);
comment on table mirror.surveys is 'The team''s surveys. Read-only.';
comment on column mirror.surveys.team_id is 'The team that the survey belongs to. In mirror.teams.team_id.';
comment on column mirror.surveys.id is 'The service''s id of the survey.';
comment on column mirror.surveys.name is 'Name of the survey.';
comment on column mirror.surveys.type is 'Type of the survey, as the service writes it.';
comment on column mirror.surveys.question is 'What the survey asks. Where the listing leaves it out it is read survey by survey, once and after each change. NULL: not read yet. Empty: the service gives none.';
comment on column mirror.surveys.created is 'Creation time, as the service writes it.';
comment on column mirror.surveys.updated is 'Time of the last change, as the service writes it.';
comment on column mirror.surveys.first_seen_at is 'When a run first saw the survey.';
comment on column mirror.surveys.gone_at is 'When it was proven that the survey is gone. The row stays.';
comment on column mirror.surveys.raw is 'Whatever else the service said of the survey when the row last changed: a change of this alone is not taken.';

-- Which resources there are is told by the tables.
alter table sync.absences drop constraint absences_resource_check;
comment on column sync.absences.resource is 'users, or the table of a listing.';
alter table sync.listing_changes drop constraint listing_changes_resource_check;
comment on table sync.listing_changes is 'The ledger of the listings, the roles and the team itself; report.listing_history reads it.';
comment on column sync.listing_changes.resource is 'The table of a listing, roles or teams.';
