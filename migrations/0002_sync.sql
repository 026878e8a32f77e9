-- The bookkeeping: what both sides last agreed on, what was moved, what waits. Not for editing.

create schema if not exists sync;
comment on schema sync is 'The bookkeeping of musterd. Read it if you like; do not edit it.';

create table sync.teams (
  team      text primary key,
  team_id   bigint not null unique,
  pinned_at timestamptz not null default now()
);
comment on table sync.teams is 'Which team of the service each configured team turned out to be, fixed at its first run: other credentials can not take over its mirror.';
comment on column sync.teams.team is 'Name of the team in the configuration.';
comment on column sync.teams.team_id is 'The service''s id of the team.';
comment on column sync.teams.pinned_at is 'When the first run fixed it.';

create table sync.leases (
  team       text primary key,
  lease_id   uuid not null,
  host       text not null,
  pid        bigint not null,
  process    text not null,
  taken_at   timestamptz not null,
  expires_at timestamptz not null
);
comment on table sync.leases is 'Who runs each team now: one run of a team at a time.';
comment on column sync.leases.team is 'Name of the team in the configuration.';
comment on column sync.leases.lease_id is 'A random id, new each time that the lease is taken.';
comment on column sync.leases.host is 'The host, boot and process namespace of the holder.';
comment on column sync.leases.pid is 'Process id of the holder.';
comment on column sync.leases.process is 'Start time of the process, so that a reused process id is not taken for the holder.';
comment on column sync.leases.taken_at is 'When it was taken.';
comment on column sync.leases.expires_at is 'When it ends unless it is renewed.';

create table sync.user_base (
  team_id         bigint not null,
  id              bigint not null,
  name            text not null,
  first_name      text not null,
  last_name       text not null,
  email           text,
  phone           text,
  role_id         bigint,
  agreed_at       timestamptz not null default now(),
  primary key (team_id, id)
);
comment on table sync.user_base is 'What mirror and service last agreed on, per user. An edit is whatever differs from it.';
comment on column sync.user_base.team_id is 'The team that the user belongs to.';
comment on column sync.user_base.id is 'The service''s id of the user.';
comment on column sync.user_base.name is 'The joined name, in the service''s own bytes.';
comment on column sync.user_base.first_name is 'The first half that stands for that name.';
comment on column sync.user_base.last_name is 'The last half that stands for that name.';
comment on column sync.user_base.email is 'Email address last agreed on.';
comment on column sync.user_base.phone is 'Phone number last agreed on.';
comment on column sync.user_base.role_id is 'Role last agreed on.';
comment on column sync.user_base.agreed_at is 'When any of it was last agreed on.';

create table sync.runs (
  run_id      bigint generated always as identity primary key,
  team        text not null,
  team_id     bigint,
  command     text not null,
  started_at  timestamptz not null default clock_timestamp(),
  finished_at timestamptz,
  outcome     text not null default 'running' check (outcome in ('running', 'complete', 'partial', 'failed', 'refused')),
  reasons     text[] not null default '{}',
  counts      jsonb not null default '{}',
  waiting     integer not null default 0,
  requests    integer not null default 0,
  request_ids text[] not null default '{}'
);
create index runs_by_team on sync.runs (team, run_id desc);
comment on table sync.runs is 'One row per run.';
comment on column sync.runs.run_id is 'Number of the run.';
comment on column sync.runs.team is 'Name of the team in the configuration.';
comment on column sync.runs.team_id is 'The service''s id of the team, once the run knew it.';
comment on column sync.runs.command is 'The command that ran: reconcile, daemon, resolve or resync.';
comment on column sync.runs.started_at is 'When it began.';
comment on column sync.runs.finished_at is 'When it ended.';
comment on column sync.runs.outcome is 'complete: every listing was read to its end and every outcome is known. partial: not so, see reasons. failed: an error ended it. refused: the guard refused the plan.';
comment on column sync.runs.reasons is 'Why it is not complete.';
comment on column sync.runs.counts is 'How many rows were read and moved, by kind.';
comment on column sync.runs.waiting is 'Fields that waited for a person when it ended.';
comment on column sync.runs.requests is 'Requests that it sent, retries included.';
comment on column sync.runs.request_ids is 'X-Request-Id of each write, for the service''s support.';

create table sync.changes (
  change_id  bigint generated always as identity primary key,
  team_id    bigint not null,
  user_id    bigint not null,
  run_id     bigint not null references sync.runs,
  kind       text not null check (kind in ('adopt', 'pull', 'push', 'settle', 'hold', 'tombstone', 'forget')),
  state      text not null default 'closed' check (state in ('open', 'closed')),
  base       jsonb not null default '{}',
  old        jsonb not null default '{}',
  new        jsonb not null default '{}',
  outcome    jsonb not null default '{}',
  request_id text,
  opened_at  timestamptz not null default clock_timestamp(),
  sent_at    timestamptz,
  closed_at  timestamptz
);
create unique index changes_one_open_intent on sync.changes (team_id, user_id) where state = 'open';
create index changes_by_user on sync.changes (team_id, user_id, change_id desc);
create index changes_by_run on sync.changes (run_id);
comment on table sync.changes is 'The ledger: every field moved, in either direction. A push is written before it is sent, as an open intent, and closed when its outcome is known.';
comment on column sync.changes.change_id is 'Number of the change.';
comment on column sync.changes.team_id is 'The team that the user belongs to.';
comment on column sync.changes.user_id is 'The user whose fields moved.';
comment on column sync.changes.run_id is 'The run that moved them.';
comment on column sync.changes.kind is 'adopt: first sight. pull: service to mirror. push: mirror to service. settle: both had moved to the same place. hold: a field now waits. tombstone: proven gone. forget: the bookkeeping of a row that is nowhere.';
comment on column sync.changes.state is 'open: a push whose outcome is not known yet.';
comment on column sync.changes.base is 'By field: the value last agreed on before the change.';
comment on column sync.changes.old is 'By field: the value that was replaced.';
comment on column sync.changes.new is 'By field: the value that replaced it; for a push, what is sent.';
comment on column sync.changes.outcome is 'By field of a push: confirmed, ineffective, changed, missing, refused, unsent, unanswered or unknown.';
comment on column sync.changes.request_id is 'X-Request-Id of the answer.';
comment on column sync.changes.opened_at is 'When the row was written.';
comment on column sync.changes.sent_at is 'When the request began to leave; NULL if it never did.';
comment on column sync.changes.closed_at is 'When the outcome was known.';

create table sync.held_fields (
  team_id       bigint not null,
  user_id       bigint not null,
  field         text not null check (field in ('name', 'email', 'phone', 'role_id')),
  reason        text not null check (reason in ('conflict', 'refused', 'ineffective', 'unsupported', 'gone', 'brake')),
  base_value    jsonb,
  mirror_value  jsonb,
  service_value jsonb,
  detail        text not null default '',
  since         timestamptz not null default now(),
  run_id        bigint not null references sync.runs,
  primary key (team_id, user_id, field)
);
comment on table sync.held_fields is 'Fields that wait for a person. A held field is left alone on both sides until one of the two values changes.';
comment on column sync.held_fields.team_id is 'The team that the user belongs to.';
comment on column sync.held_fields.user_id is 'The user.';
comment on column sync.held_fields.field is 'The field: name is the pair of first and last name.';
comment on column sync.held_fields.reason is 'conflict: both sides changed it. refused: the service does not take the value. ineffective: the service takes it without effect. unsupported: it can not be sent. gone: the user has left. brake: a guard stopped it.';
comment on column sync.held_fields.base_value is 'The value last agreed on.';
comment on column sync.held_fields.mirror_value is 'The mirror''s value when it was held.';
comment on column sync.held_fields.service_value is 'The service''s value when it was held.';
comment on column sync.held_fields.detail is 'What happened, in words.';
comment on column sync.held_fields.since is 'Since when it waits.';
comment on column sync.held_fields.run_id is 'The run that held it.';

create table sync.absences (
  team_id       bigint not null,
  resource      text not null check (resource in ('users', 'tags', 'contact_fields')),
  id            bigint not null,
  missing_since timestamptz not null,
  passes        integer not null default 1,
  primary key (team_id, resource, id)
);
comment on table sync.absences is 'Rows that complete listings no longer show, until they are proven gone or come back.';
comment on column sync.absences.team_id is 'The team.';
comment on column sync.absences.resource is 'users, tags or contact_fields.';
comment on column sync.absences.id is 'The service''s id of the row.';
comment on column sync.absences.missing_since is 'When a complete pass first missed it.';
comment on column sync.absences.passes is 'How many complete passes have missed it.';

create table sync.listings (
  team_id    bigint not null,
  resource   text not null,
  first_page integer check (first_page in (0, 1)),
  row_limit  integer,
  pages      integer,
  cursor     text not null default 'page' check (cursor in ('page', 'date')),
  learned_at timestamptz not null default now(),
  primary key (team_id, resource)
);
comment on table sync.listings is 'What was learned about the pages of each listing.';
comment on column sync.listings.team_id is 'The team.';
comment on column sync.listings.resource is 'tags or contact_fields.';
comment on column sync.listings.first_page is 'The number of the first page.';
comment on column sync.listings.row_limit is 'The page size that the service accepts.';
comment on column sync.listings.pages is 'How many filled pages the last complete pass had.';
comment on column sync.listings.cursor is 'page: pages are numbered. date: the page number is ignored and the date cursor is used.';
comment on column sync.listings.learned_at is 'When it last changed.';

create table sync.rejected_rows (
  rejected_id bigint generated always as identity primary key,
  team_id     bigint not null,
  run_id      bigint not null references sync.runs,
  resource    text not null,
  id          bigint,
  reason      text not null,
  excerpt     text not null,
  seen_at     timestamptz not null default now()
);
create index rejected_rows_by_team on sync.rejected_rows (team_id, resource);
comment on table sync.rejected_rows is 'Rows of the service''s last answers that could not be taken. A listing with one of them is incomplete.';
comment on column sync.rejected_rows.rejected_id is 'Number of the row.';
comment on column sync.rejected_rows.team_id is 'The team.';
comment on column sync.rejected_rows.run_id is 'The run that saw it.';
comment on column sync.rejected_rows.resource is 'The listing or answer that it stood in.';
comment on column sync.rejected_rows.id is 'The row''s id, where it had a usable one.';
comment on column sync.rejected_rows.reason is 'Why it could not be taken.';
comment on column sync.rejected_rows.excerpt is 'The row as JSON, escaped and cut.';
comment on column sync.rejected_rows.seen_at is 'When it was seen.';
