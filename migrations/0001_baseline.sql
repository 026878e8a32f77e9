-- The tables. Functions, views, triggers, policies and rights are in the files of the folder repeatable.

create schema mirror;
comment on schema mirror is 'What the service holds, as tables. Only the writable columns of mirror.users, and mirror.user_lookups, are for editing.';

create schema if not exists sync;
comment on schema sync is 'The bookkeeping of musterd. Read it if you like; do not edit it.';

create schema report;
comment on schema report is 'Views for reports. Their columns stay; new ones may be added.';

create table mirror.contact_counts (
  team_id    bigint not null,
  segment    text not null,
  counted_at timestamptz not null,
  count      bigint not null,
  constraint contact_counts_pkey primary key (team_id, segment, counted_at),
  constraint contact_counts_count_check check (count >= 0)
);
comment on table mirror.contact_counts is 'How many contacts the team had in each named segment, a row per count. Read-only.';
comment on column mirror.contact_counts.team_id is 'The team whose contacts were counted. In mirror.teams.team_id.';
comment on column mirror.contact_counts.segment is 'Name of the segment in the configuration.';
comment on column mirror.contact_counts.counted_at is 'When the service answered.';
comment on column mirror.contact_counts.count is 'Number of contacts.';

create table mirror.contact_fields (
  team_id       bigint not null,
  id            bigint not null,
  title         text,
  op            text,
  rev           bigint,
  tid           bigint,
  uid           bigint,
  first_seen_at timestamptz not null default now(),
  gone_at       timestamptz,
  raw           jsonb not null default '{}',
  constraint contact_fields_pkey primary key (team_id, id)
);
comment on table mirror.contact_fields is 'Definitions of the team''s custom contact fields. Read-only.';
comment on column mirror.contact_fields.team_id is 'The team that the field belongs to. In mirror.teams.team_id.';
comment on column mirror.contact_fields.id is 'The service''s id of the field: the key in a contact''s custom values.';
comment on column mirror.contact_fields.title is 'Title of the field.';
comment on column mirror.contact_fields.op is 'The last operation, where the service gives one.';
comment on column mirror.contact_fields.rev is 'Revision number, where the service gives one.';
comment on column mirror.contact_fields.tid is 'The team''s id, as the service gives it.';
comment on column mirror.contact_fields.uid is 'Id of the user that the field belongs to.';
comment on column mirror.contact_fields.first_seen_at is 'When a run first saw the field.';
comment on column mirror.contact_fields.gone_at is 'When it was proven that the field is gone. The row stays.';
comment on column mirror.contact_fields.raw is 'Whatever else the service said of the field when the row last changed: a change of this alone is not taken.';

create table mirror.roles (
  team_id       bigint not null,
  role_id       bigint not null,
  name          text,
  members       bigint not null,
  first_seen_at timestamptz not null default now(),
  gone_at       timestamptz,
  constraint roles_pkey primary key (team_id, role_id)
);
comment on table mirror.roles is 'The roles that users of the team have, as the last run that moved any of them saw it. Read-only: the service has no listing of roles.';
comment on column mirror.roles.team_id is 'The team. In mirror.teams.team_id.';
comment on column mirror.roles.role_id is 'The service''s id of the role.';
comment on column mirror.roles.name is 'Its name, as most of those have it who have the role; NULL: the service does not say.';
comment on column mirror.roles.members is 'How many users have it, by what both sides last agreed on: an edit that waits counts for nothing.';
comment on column mirror.roles.first_seen_at is 'When a run first saw somebody with it.';
comment on column mirror.roles.gone_at is 'Since when nobody has it.';

create table mirror.tags (
  team_id       bigint not null,
  id            bigint not null,
  tag           text,
  color         text,
  rev           bigint,
  created       text,
  updated       text,
  first_seen_at timestamptz not null default now(),
  gone_at       timestamptz,
  raw           jsonb not null default '{}',
  constraint tags_pkey primary key (team_id, id)
);
comment on table mirror.tags is 'The team''s contact tags. Read-only.';
comment on column mirror.tags.team_id is 'The team that the tag belongs to. In mirror.teams.team_id.';
comment on column mirror.tags.id is 'The service''s id of the tag.';
comment on column mirror.tags.tag is 'Name of the tag.';
comment on column mirror.tags.color is 'Colour, as the service writes it.';
comment on column mirror.tags.rev is 'Revision number, where the service gives one.';
comment on column mirror.tags.created is 'Creation time, as the service writes it.';
comment on column mirror.tags.updated is 'Time of the last change, as the service writes it.';
comment on column mirror.tags.first_seen_at is 'When a run first saw the tag.';
comment on column mirror.tags.gone_at is 'When it was proven that the tag is gone. The row stays.';
comment on column mirror.tags.raw is 'Whatever else the service said of the tag when the row last changed: a change of this alone is not taken.';

create table mirror.team_roles (
  role_name    name not null,
  team_id      bigint,
  all_teams    boolean not null default false,
  team_role_id bigint not null generated always as identity,
  constraint team_roles_pkey primary key (team_role_id),
  constraint team_roles_role_name_team_id_key unique nulls not distinct (role_name, team_id),
  constraint team_roles_check check (all_teams = (team_id is null))
);
comment on table mirror.team_roles is 'Which teams a role sees, and edits if it may edit: those listed for it, for a role whose rights it has, and for public. Each role sees its own rows here; the owner of the tables writes them.';
comment on column mirror.team_roles.role_name is 'A role of this server, or public for everybody.';
comment on column mirror.team_roles.team_id is 'A team that it sees; NULL with all_teams.';
comment on column mirror.team_roles.all_teams is 'It sees all teams, those that come later too. Not the same as no team_id, so that a look-up that finds nothing does not open everything.';
comment on column mirror.team_roles.team_role_id is 'Number of the row.';

create table mirror.teams (
  team_id    bigint not null,
  name       text,
  list_size  bigint,
  raw        jsonb not null default '{}',
  changed_at timestamptz not null default now(),
  constraint teams_pkey primary key (team_id)
);
comment on table mirror.teams is 'One row per team that this database mirrors.';
comment on column mirror.teams.team_id is 'The service''s id of the team.';
comment on column mirror.teams.name is 'Name of the team.';
comment on column mirror.teams.list_size is 'How many recipients a list of this team may have.';
comment on column mirror.teams.raw is 'Whatever else the service said of the team when the row last changed: a change of this alone is not taken.';
comment on column mirror.teams.changed_at is 'When this row last changed here.';

create table mirror.user_lookups (
  lookup_id bigint not null generated always as identity,
  team_id   bigint not null,
  email     text,
  phone     text,
  added_at  timestamptz not null default now(),
  constraint user_lookups_pkey primary key (lookup_id),
  constraint email_has_at_most_320_characters check (char_length(email) <= 320),
  constraint phone_has_at_most_40_characters check (char_length(phone) <= 40),
  constraint user_lookups_check check ((email is not null) or (phone is not null))
);
create index user_lookups_by_team on mirror.user_lookups (team_id);
comment on table mirror.user_lookups is 'Addresses to look users up by, for services that list nobody without a filter. Insert rows freely; a repeated address does no harm. mirror.forget_lookups() removes them.';
comment on column mirror.user_lookups.lookup_id is 'Number of the row.';
comment on column mirror.user_lookups.team_id is 'The team to look in.';
comment on column mirror.user_lookups.email is 'An email address of a user.';
comment on column mirror.user_lookups.phone is 'A phone number of a user, E.164, with or without the plus sign.';
comment on column mirror.user_lookups.added_at is 'When the row was added.';

create table mirror.users (
  team_id         bigint not null,
  id              bigint not null,
  name            text not null default '',
  first_name      text not null default '',
  last_name       text not null default '',
  name_split      text not null default 'guessed',
  email           text,
  phone           text,
  role_id         bigint,
  role            text,
  created_at      timestamptz,
  updated_at      timestamptz,
  user_created_at timestamptz,
  user_updated_at timestamptz,
  resolved        boolean not null,
  gone_at         timestamptz,
  raw             jsonb not null default '{}',
  edited_at       timestamptz,
  edited_by       text,
  constraint users_pkey primary key (team_id, id),
  constraint users_name_split_check check (name_split in ('known', 'guessed'))
);
create index users_not_at_rest on mirror.users (team_id, id) where (edited_at is not null) or (NOT resolved) or (gone_at is not null);
comment on table mirror.users is 'The team''s users. Edit first_name, last_name, name_split, email, phone and role_id; the next run carries the edit to the service.';
comment on column mirror.users.team_id is 'The team that the user belongs to. In mirror.teams.team_id.';
comment on column mirror.users.id is 'The service''s id of the user within the team.';
comment on column mirror.users.name is 'The name as the service joins it. Read-only: edit first_name and last_name.';
comment on column mirror.users.first_name is 'First name. Writable. The service never shows the halves, so it may be a guess: see name_split.';
comment on column mirror.users.last_name is 'Last name, empty for a name of one word. Writable.';
comment on column mirror.users.name_split is 'known: somebody set the halves. guessed: they were cut from the joined name. Set it to known to accept a guess of three or more words before editing one half alone.';
comment on column mirror.users.email is 'Email address. Writable; can not be emptied.';
comment on column mirror.users.phone is 'Phone number in E.164 form, with or without the plus sign. Writable; NULL clears it on the service.';
comment on column mirror.users.role_id is 'The service''s id of the user''s role. Writable, with a right of its own (musterd_role_editor).';
comment on column mirror.users.role is 'The role''s name, as the team listing last gave it: once role_id is edited, still that of the role before. report.roster goes by role_id. Read-only.';
comment on column mirror.users.created_at is 'When the user joined the team.';
comment on column mirror.users.updated_at is 'Last change of the membership on the service.';
comment on column mirror.users.user_created_at is 'When the person''s base user was created on the service.';
comment on column mirror.users.user_updated_at is 'Last change of the person''s base user on the service.';
comment on column mirror.users.resolved is 'False: the team lists this member, and no lookup of users answers for them. Such a user is neither pulled nor pushed; add an address to mirror.user_lookups.';
comment on column mirror.users.gone_at is 'When it was proven that the user has left the team. The row stays.';
comment on column mirror.users.raw is 'Whatever else the service said of the user when the row last changed: a change of this alone is not taken.';
comment on column mirror.users.edited_at is 'When a writable column was last edited here.';
comment on column mirror.users.edited_by is 'The database role that edited it.';
comment on index mirror.users_not_at_rest is 'Whoever was edited here, is unresolved or has left: the page counts the others.';

create table sync.absences (
  team_id       bigint not null,
  resource      text not null,
  id            bigint not null,
  missing_since timestamptz not null,
  passes        integer not null default 1,
  verdict       text,
  verdict_scope text,
  decided_at    timestamptz,
  batch         text,
  detail        text,
  scope         text,
  withheld_at   timestamptz,
  decided_by    text,
  decided_why   text,
  decided_role  text,
  constraint absences_pkey primary key (team_id, resource, id),
  constraint absences_decided check (((verdict is null) = (decided_at is null)) and ((verdict is not null) or (verdict_scope is null))),
  constraint absences_resource_check check (resource in ('users', 'tags', 'contact_fields')),
  constraint absences_verdict_check check (verdict in ('approved', 'left', 'found')),
  constraint absences_withheld check ((num_nulls(batch, detail, withheld_at) = any (array[0, 3])) and ((batch is not null) or (scope is null))),
  constraint decider_has_at_most_300_characters check (char_length(decided_by) <= 300),
  constraint reason_has_at_most_1000_characters check (char_length(decided_why) <= 1000)
);
comment on table sync.absences is 'Rows that complete listings no longer show, until they are proven gone or come back.';
comment on column sync.absences.team_id is 'The team.';
comment on column sync.absences.resource is 'users, tags or contact_fields.';
comment on column sync.absences.id is 'The service''s id of the row.';
comment on column sync.absences.missing_since is 'When a complete pass first missed it.';
comment on column sync.absences.passes is 'How many complete passes have missed it; 0: none yet, but a person is asked whether it is gone.';
comment on column sync.absences.verdict is 'approved: a person agreed that it may be called gone. left: a person left it out of an approval, so it waits on. found: the service says that it is there, though the listing does not show it; it stays in the mirror. NULL: none of these. It ends when the row is shown again or called gone.';
comment on column sync.absences.verdict_scope is 'The scope (sync.learned) for which the verdict counts; NULL: for any.';
comment on column sync.absences.decided_at is 'When the verdict was given; of found rows, when the service said so last.';
comment on column sync.absences.batch is 'Of a row that is not called gone before a person agrees: what "musterd approve" and sync.approve() are given. First 12 hex digits of the SHA-256 of the resource and the ids that wait together.';
comment on column sync.absences.detail is 'Of a batch: why no run decides it by itself.';
comment on column sync.absences.scope is 'Of a batch: what the settings asked for when it was withheld; an approval counts for that.';
comment on column sync.absences.withheld_at is 'Of a batch: since when it waits.';
comment on column sync.absences.decided_by is 'Who approved it or left it out: for whom it was done where a command of musterd was told so, else the role that was connected. "role for person": another role said for whom.';
comment on column sync.absences.decided_why is 'The reason that was given.';
comment on column sync.absences.decided_role is 'The role that was connected.';

create table sync.changes (
  change_id    bigint not null generated always as identity,
  team_id      bigint not null,
  user_id      bigint,
  run_id       bigint,
  kind         text not null,
  state        text not null default 'closed',
  base         jsonb not null default '{}',
  old          jsonb not null default '{}',
  new          jsonb not null default '{}',
  outcome      jsonb not null default '{}',
  request_id   text,
  opened_at    timestamptz not null default clock_timestamp(),
  sent_at      timestamptz,
  closed_at    timestamptz,
  approved     boolean not null default false,
  decided_by   text,
  decided_why  text,
  decided_role text,
  batch        text,
  edited_by    jsonb,
  edits        jsonb,
  decision_id  bigint,
  constraint changes_pkey primary key (change_id),
  constraint changes_kind_check check (kind in ('adopt', 'return', 'pull', 'push', 'settle', 'hold', 'tombstone', 'forget', 'approve', 'reject', 'resolve', 'undo', 'place')),
  constraint changes_state_check check (state in ('open', 'closed')),
  constraint changes_user_check check ((user_id is not null) or kind in ('place', 'approve')),
  constraint decider_has_at_most_300_characters check (char_length(decided_by) <= 300),
  constraint reason_has_at_most_1000_characters check (char_length(decided_why) <= 1000)
);
create index changes_by_batch on sync.changes (team_id, batch) where batch is not null;
create index changes_by_day on sync.changes (team_id, opened_at) where kind in ('push', 'settle');
create index changes_by_decision on sync.changes (decision_id) where decision_id is not null;
create index changes_by_run on sync.changes (run_id);
create index changes_by_team on sync.changes (team_id, change_id);
create index changes_by_time on sync.changes (opened_at);
create index changes_by_user on sync.changes (team_id, user_id, change_id desc);
create index changes_of_decisions on sync.changes (change_id) where kind in ('approve', 'reject', 'resolve', 'undo');
create index changes_of_roles on sync.changes (team_id, run_id desc) where (kind <> 'adopt') and (new ?| '{role_id,role}'::text[]);
create unique index changes_one_open_intent on sync.changes (team_id, user_id) where state = 'open';
comment on table sync.changes is 'The ledger: every field moved, in either direction. A push is written before it is sent, as an open intent, and closed when its outcome is known.';
comment on column sync.changes.change_id is 'Number of the change.';
comment on column sync.changes.team_id is 'The team that the user belongs to.';
comment on column sync.changes.user_id is 'The user whose fields moved; NULL: it is about the mirror itself, or a person approved that many users lack a field.';
comment on column sync.changes.run_id is 'The run that moved them; NULL: a person decided, outside of any run.';
comment on column sync.changes.kind is 'adopt: first sight. return: shown again after having been gone. pull: service to mirror. push: mirror to service. settle: both had moved to the same place. hold: a field now waits. tombstone: proven gone. forget: the bookkeeping of a row that is nowhere. approve, reject, resolve: a person decided about a held field; old is the service''s value then, new the mirror''s. approve without a field: a person agreed that the user has left. undo: a person took one of these back. place: a person said where this mirror is at home, or that it is a copy.';
comment on column sync.changes.state is 'open: a push whose outcome is not known yet.';
comment on column sync.changes.base is 'By field: the value last agreed on before the change.';
comment on column sync.changes.old is 'By field: the value that was replaced.';
comment on column sync.changes.new is 'By field: the value that replaced it; for a push, what is sent.';
comment on column sync.changes.outcome is 'By field of a push: confirmed, ineffective, changed, missing, refused, unsent, unanswered or unknown. Of a rejection: withdrawn, where the mirror was given back. Of a resolved field: edited, where a person gave it another value than that of either side.';
comment on column sync.changes.request_id is 'X-Request-Id of the answer.';
comment on column sync.changes.opened_at is 'When the row was written.';
comment on column sync.changes.sent_at is 'When the request began to leave; NULL if it never did.';
comment on column sync.changes.closed_at is 'When the outcome was known.';
comment on column sync.changes.approved is 'The push was approved by a person, and does not count against the limit of a day.';
comment on column sync.changes.decided_by is 'Who decided: for whom it was done where a command of musterd was told so, else the role that was connected. "role for person": another role said for whom.';
comment on column sync.changes.decided_why is 'The reason that was given.';
comment on column sync.changes.decided_role is 'Of a decision: the role that was connected.';
comment on column sync.changes.batch is 'Of an approval or a rejection: the batch, the import or undo, or the plan that was applied: that one has a run, and is applied once.';
comment on column sync.changes.edited_by is 'By field of a push: who made the edit that it carries, the person for whom it was done where a command of musterd was told so, else the role that was connected. "role for person": another role said for whom. Not there: nobody knows, since the edit is older than the record or was made past the triggers.';
comment on column sync.changes.edits is 'By field of a push or of what a person decided: the edit that it is about. In sync.edits.edit_id.';
comment on column sync.changes.decision_id is 'Number of the decision: what was decided at once has the same.';
comment on index sync.changes_by_batch is 'Whether the file of a plan was applied already.';
comment on index sync.changes_by_day is 'What was sent or agreed on in the last day: the guard''s limit, and approvals that were used.';
comment on index sync.changes_by_decision is 'What was decided at once.';
comment on index sync.changes_by_team is 'What moved last in a team, however much moved in others since.';
comment on index sync.changes_by_time is 'What moved lately.';
comment on index sync.changes_of_decisions is 'What people decided.';
comment on index sync.changes_of_roles is 'The last run that moved a role.';

create table sync.due (
  team        text not null,
  run_group   text not null,
  schedule    text not null default '',
  due_at      timestamptz not null default 'infinity'::timestamp with time zone,
  since       timestamptz not null default clock_timestamp(),
  started_at  timestamptz,
  finished_at timestamptz,
  outcome     text,
  failures    integer not null default 0,
  complete_at timestamptz,
  mark        pg_snapshot,
  stale_after interval,
  constraint due_pkey primary key (team, run_group),
  constraint due_run_group_check check (run_group in ('users', 'listings', 'counts', 'edits'))
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
comment on column sync.due.mark is 'Of edits: what was committed when the last push set out. NULL: all edits are looked at, whenever they were made.';
comment on column sync.due.stale_after is 'What is older than this is stale: three times the longest time between two runs of the schedule. NULL: no daemon has told it a schedule.';

create table sync.edits (
  edit_id     bigint not null generated always as identity,
  xid         xid8 not null,
  team_id     bigint not null,
  user_id     bigint not null,
  field       text not null,
  old_value   jsonb,
  new_value   jsonb,
  old_split   text,
  edited_at   timestamptz not null,
  edited_by   text,
  application text,
  actor       text,
  authors     text[] not null,
  ended_at    timestamptz,
  ended_how   text,
  constraint actor_has_at_most_200_characters check (char_length(actor) <= 200),
  constraint application_has_at_most_200_characters check (char_length(application) <= 200),
  constraint at_most_40_authors check (cardinality(authors) <= 40),
  constraint edits_check check ((ended_at is null) = (ended_how is null)),
  constraint edits_ended_how_check check (ended_how in ('agreed', 'overruled', 'withdrawn', 'replaced', 'forgotten')),
  constraint edits_field_check check (field in ('name', 'name_split', 'email', 'phone', 'role_id'))
);
create index edits_over_by_transaction on sync.edits (xid) where ended_at is not null;
create index edits_that_are_over on sync.edits (team_id, edit_id) where ended_at is not null;
create unique index edits_that_last on sync.edits (team_id, user_id, field) where ended_at is null;
comment on table sync.edits is 'Edits of mirror.users, a row each. An edit is one field of one user that the mirror has other than both sides last agreed on: it lasts from the statement that made it so until they agree again.';
comment on column sync.edits.edit_id is 'Number of the edit.';
comment on column sync.edits.xid is 'The transaction of the edit: whether a snapshot saw it is known by this, and not by a time.';
comment on column sync.edits.team_id is 'The team.';
comment on column sync.edits.user_id is 'The service''s id of the user.';
comment on column sync.edits.field is 'name is the pair of first and last name; name_split says whether they were cut by a guess, which is recorded and ends at once; email, phone, role_id.';
comment on column sync.edits.old_value is 'The value before; NULL: none.';
comment on column sync.edits.new_value is 'The value after; NULL: none.';
comment on column sync.edits.old_split is 'Of a name: what name_split was before this edit and those that it replaced.';
comment on column sync.edits.edited_at is 'When the statement edited the user.';
comment on column sync.edits.edited_by is 'The role that was connected; NULL: nobody knows, the edit was made past the triggers and found by a run.';
comment on column sync.edits.application is 'What the connection called itself (application_name).';
comment on column sync.edits.actor is 'For whom it was done, where the transaction says so: set_config(''musterd.actor'', …, true).';
comment on column sync.edits.authors is 'Who made it and those that it replaced since both sides agreed, as sync.person() writes names. An empty name: nobody knows.';
comment on column sync.edits.ended_at is 'When it ended; NULL: it lasts.';
comment on column sync.edits.ended_how is 'agreed: both sides have the same. overruled: both sides have the service''s value instead. withdrawn: somebody took it back here. replaced: the next edit of the field took its place. forgotten: the user is nowhere any more.';
comment on index sync.edits_over_by_transaction is 'What became of the edits of a transaction.';
comment on index sync.edits_that_are_over is 'What became of an edit.';
comment on index sync.edits_that_last is 'The edit of a field that lasts: there is one at most.';

create table sync.learned (
  team       text not null,
  topic      text not null,
  value      jsonb not null,
  learned_at timestamptz not null default clock_timestamp(),
  hashes     bytea,
  constraint learned_pkey primary key (team, topic)
);
comment on table sync.learned is 'What was learned of a team''s deployment, from run to run, and where this mirror is at home.';
comment on column sync.learned.team is 'Name of the team in the configuration; empty: it is about the whole database.';
comment on column sync.learned.topic is '"credential" and the first 16 hex digits of the SHA-256 of a Secret ID or an API key. "daemon": which processes serve the team, or served it last. "listing" and tags or contact_fields: how its pages are read. "notice" and failing, stale, credentials-refused, batch-waits, fields-held or elsewhere: what people were told of that, by notify.url. "place", of no team: where this mirror is at home, or that it is a copy. "prune": whose turn it is to remove what is old, and whether it is done for the day. "rate": the pace that the service stands. "scope" and users, tags or contact_fields: what the settings asked for when a complete pass last left nothing in doubt; when that changes, a row that is no longer shown may be there all the same. Anything else: what "musterd check" or a run found out about a point that the interface leaves open.';
comment on column sync.learned.value is 'What it is known to be; of a credential: true; of a scope: the first 12 hex digits of the SHA-256 of the service''s address and the filter; of a notice: whether it says that the event stands, its id, and how often it was sent (times in ms since 1970); of the place: home or copy, the identifier of the server, the oid of the database, the addresses by which it is reached, who said so, when and why.';
comment on column sync.learned.learned_at is 'When it was found out; of a credential, when the service last accepted it.';
comment on column sync.learned.hashes is 'Of "users at rest": the id of each user of the answer, and 8 bytes that stand for what it said of them.';

create table sync.leases (
  team       text not null,
  lease_id   uuid not null,
  host       text not null,
  pid        bigint not null,
  process    text not null,
  taken_at   timestamptz not null,
  expires_at timestamptz not null,
  constraint leases_pkey primary key (team)
);
comment on table sync.leases is 'Who runs each team now: one run of a team at a time.';
comment on column sync.leases.team is 'Name of the team in the configuration.';
comment on column sync.leases.lease_id is 'A random id, new each time that the lease is taken.';
comment on column sync.leases.host is 'The host, boot and process namespace of the holder.';
comment on column sync.leases.pid is 'Process id of the holder.';
comment on column sync.leases.process is 'Start time of the process, so that a reused process id is not taken for the holder.';
comment on column sync.leases.taken_at is 'When it was taken.';
comment on column sync.leases.expires_at is 'When it ends unless it is renewed.';

create table sync.listing_changes (
  change_id  bigint not null generated always as identity,
  team_id    bigint not null,
  resource   text not null,
  id         bigint not null,
  kind       text not null,
  old        jsonb not null default '{}',
  new        jsonb not null default '{}',
  changed_at timestamptz not null,
  constraint listing_changes_pkey primary key (change_id),
  constraint listing_changes_kind_check check (kind in ('changed', 'gone', 'back')),
  constraint listing_changes_resource_check check (resource in ('tags', 'contact_fields', 'roles', 'teams'))
);
create index listing_changes_by_row on sync.listing_changes (team_id, resource, id, change_id);
comment on table sync.listing_changes is 'The ledger of tags, contact fields, roles and the team itself; report.listing_history reads it.';
comment on column sync.listing_changes.change_id is 'Number of the change.';
comment on column sync.listing_changes.team_id is 'The team.';
comment on column sync.listing_changes.resource is 'tags, contact_fields, roles or teams.';
comment on column sync.listing_changes.id is 'The service''s id of the tag, field, role or team.';
comment on column sync.listing_changes.kind is 'changed: it has another name, or a tag another colour. gone: it was proven gone, or nobody has the role any more. back: shown again after having been gone; what it has become meanwhile is in old and new.';
comment on column sync.listing_changes.old is 'By column: the value that was replaced.';
comment on column sync.listing_changes.new is 'By column: the value that replaced it.';
comment on column sync.listing_changes.changed_at is 'When a run saw it.';
comment on index sync.listing_changes_by_row is 'What became of one of them.';

create table sync.rate_limits (
  team    text not null,
  next_at timestamptz not null,
  counted jsonb not null default '{}',
  constraint rate_limits_pkey primary key (team)
);
comment on table sync.rate_limits is 'One row a team: the pace and the limit of all processes on this database together.';
comment on column sync.rate_limits.team is 'Name of the team in the configuration.';
comment on column sync.rate_limits.next_at is 'When a burst may leave again: the theoretical arrival time of the next request.';
comment on column sync.rate_limits.counted is 'Places that count against the limit of 60 s. By process: those in hand and in flight, for two minutes at most. By process and half second: those answered then, for a minute. Each is an array of the number of places and of when they cease to count, in ms since 1970.';

create table sync.runs (
  run_id      bigint not null generated always as identity,
  team        text not null,
  team_id     bigint,
  command     text not null,
  started_at  timestamptz not null default clock_timestamp(),
  finished_at timestamptz,
  outcome     text not null default 'running',
  reasons     text[] not null default '{}'::text[],
  counts      jsonb not null default '{}',
  waiting     integer not null default 0,
  requests    integer not null default 0,
  request_ids text[] not null default '{}'::text[],
  groups      text[] not null default '{users,listings,counts}'::text[],
  error_code  text,
  endpoints   jsonb not null default '{}',
  constraint runs_pkey primary key (run_id),
  constraint runs_outcome_check check (outcome in ('running', 'complete', 'partial', 'failed', 'refused'))
);
create index runs_by_team on sync.runs (team, run_id desc);
create index runs_by_time on sync.runs (started_at);
create index runs_complete on sync.runs (team, run_id desc) where (command in ('reconcile', 'daemon')) and ('users' = ANY (groups)) and (outcome = 'complete');
create index runs_of_users on sync.runs (team, run_id desc) where 'users' = ANY (groups);
create index runs_running on sync.runs (team) where outcome = 'running';
create index runs_two_way on sync.runs (team, run_id desc) where (command in ('reconcile', 'daemon')) and ('users' = ANY (groups));
comment on table sync.runs is 'One row per run.';
comment on column sync.runs.run_id is 'Number of the run.';
comment on column sync.runs.team is 'Name of the team in the configuration.';
comment on column sync.runs.team_id is 'The service''s id of the team, once the run knew it.';
comment on column sync.runs.command is 'The command that ran: reconcile, daemon, apply, resolve or resync.';
comment on column sync.runs.started_at is 'When it began.';
comment on column sync.runs.finished_at is 'When it ended.';
comment on column sync.runs.outcome is 'complete: every listing was read to its end and every outcome is known. partial: not so, see reasons. failed: an error ended it. refused: the guard refused the plan.';
comment on column sync.runs.reasons is 'Why it is not complete.';
comment on column sync.runs.counts is 'How many rows were read and moved, by kind.';
comment on column sync.runs.waiting is 'What waited for a person when it ended: held fields, and users in a batch.';
comment on column sync.runs.requests is 'Requests that it sent, retries included.';
comment on column sync.runs.request_ids is 'X-Request-Id of each write, for the service''s support.';
comment on column sync.runs.groups is 'What the run did: users, listings, counts, or edits alone.';
comment on column sync.runs.error_code is 'The error that ended it early, as under --json: credentials, service, mirror …; unexpected where nobody foresaw it. NULL: it came to its end, or its process ended before it did.';
comment on column sync.runs.endpoints is 'By endpoint, such as "GET /v1/users/get": requests (retries included), of these throttled (answered 429) and failed (another error, or no answer), ms of all of them, slowest_ms, and slowest_request_id, the X-Request-Id of that one. Empty with requests: the run is older than the record.';
comment on index sync.runs_by_time is 'What ran lately.';
comment on index sync.runs_complete is 'The last complete two-way run, however long ago.';
comment on index sync.runs_of_users is 'The last run that looked at the users: whether it could count the roles.';
comment on index sync.runs_running is 'The run that a process did not finish.';
comment on index sync.runs_two_way is 'The last two-way run that was tried, however many others there were since.';

create table sync.held_fields (
  team_id       bigint not null,
  user_id       bigint,
  field         text not null,
  reason        text not null,
  base_value    jsonb,
  mirror_value  jsonb,
  service_value jsonb,
  detail        text not null default '',
  since         timestamptz not null default now(),
  run_id        bigint,
  until         timestamptz,
  shown_value   jsonb,
  batch         text,
  decision      text,
  edit_id       bigint,
  seen_version  timestamptz,
  asked_by      text,
  asked_why     text,
  constraint held_fields_key unique nulls not distinct (team_id, user_id, field),
  constraint held_fields_run_id_fkey foreign key (run_id) references sync.runs(run_id),
  constraint asker_has_at_most_300_characters check (char_length(asked_by) <= 300),
  constraint held_fields_decision_check check (decision in ('approved', 'rejected')),
  constraint held_fields_field_check check (field in ('name', 'email', 'phone', 'role_id')),
  constraint held_fields_reason_check check (reason in ('conflict', 'refused', 'ineffective', 'unsupported', 'gone', 'limit', 'review', 'asked'))
);
create index held_fields_by_batch on sync.held_fields (batch) where batch is not null;
create index held_fields_by_run on sync.held_fields (run_id);
comment on table sync.held_fields is 'Fields that wait for a person. A held field is left alone on both sides until one of the two values changes.';
comment on column sync.held_fields.team_id is 'The team that the user belongs to.';
comment on column sync.held_fields.user_id is 'The user; NULL: the field of all users, of whom too many no longer have it.';
comment on column sync.held_fields.field is 'The field: name is the pair of first and last name.';
comment on column sync.held_fields.reason is 'conflict: both sides changed it. refused: the service does not take the value. ineffective: the service takes it without effect. unsupported: it cannot be sent. gone: the user has left. limit: the guard stopped it, alone or in a batch. review: a person wants to see it first. asked: somebody asked for it, and nothing else holds it.';
comment on column sync.held_fields.base_value is 'The value last agreed on.';
comment on column sync.held_fields.mirror_value is 'The mirror''s value when it was held.';
comment on column sync.held_fields.service_value is 'The service''s value when it was held.';
comment on column sync.held_fields.detail is 'What happened, in words.';
comment on column sync.held_fields.since is 'Since when it waits.';
comment on column sync.held_fields.run_id is 'The run that held it; NULL if a person did.';
comment on column sync.held_fields.until is 'Somebody asked to hold the field until then, whatever else holds it, which comes back afterwards.';
comment on column sync.held_fields.shown_value is 'The service''s value as a run last saw it.';
comment on column sync.held_fields.batch is 'What was stopped together: first 12 hex digits of the SHA-256 of its edits, and of what was seen of the service. It stays with the edit, whatever else holds the field meanwhile and whatever is decided about it; another edit of the field does not inherit it.';
comment on column sync.held_fields.decision is 'approved: the edit passes what held it: the limits on a whole run if it is in a batch, else those on single fields too. For this edit alone, and as long as the service is as it was seen. rejected: it is not sent for as long as this edit lasts, whatever the service does. Who decided, and why, is in sync.changes. NULL: nobody has decided.';
comment on column sync.held_fields.edit_id is 'The edit that is held; NULL: none, as where a person asked to hold a field, or the service alone has moved.';
comment on column sync.held_fields.seen_version is 'The later of the service''s two versions of the user (updated_at, user_updated_at), as the run saw them that stopped it; NULL: those of the user''s row.';
comment on column sync.held_fields.asked_by is 'Who asked for that; NULL: not known. Without meaning where nobody asks for it.';
comment on column sync.held_fields.asked_why is 'Why, in words. Without meaning where nobody asks for it.';
comment on index sync.held_fields_by_batch is 'What a person names who approves or rejects.';
comment on index sync.held_fields_by_run is 'Lets old runs be deleted.';

create table sync.rejected_rows (
  rejected_id bigint not null generated always as identity,
  team_id     bigint not null,
  run_id      bigint not null,
  resource    text not null,
  id          bigint,
  reason      text not null,
  excerpt     text not null,
  seen_at     timestamptz not null default now(),
  constraint rejected_rows_pkey primary key (rejected_id),
  constraint rejected_rows_run_id_fkey foreign key (run_id) references sync.runs(run_id)
);
create index rejected_rows_by_run on sync.rejected_rows (run_id);
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
comment on index sync.rejected_rows_by_run is 'Lets old runs be deleted.';

create table sync.stale_rows (
  team_id bigint not null,
  id      bigint not null,
  since   timestamptz not null default clock_timestamp(),
  passes  integer not null default 1,
  constraint stale_rows_pkey primary key (team_id, id)
);
comment on table sync.stale_rows is 'Users whom the service shows with other values and an older version than before, as a cache or a replica that lags does. They are left as they are until a newer row shows, or until this one has shown in three passes over half an hour.';
comment on column sync.stale_rows.team_id is 'The team that the user belongs to.';
comment on column sync.stale_rows.id is 'The service''s id of the user.';
comment on column sync.stale_rows.since is 'When a pass first showed the older row.';
comment on column sync.stale_rows.passes is 'How many passes in a row have shown it.';

create table sync.teams (
  team      text not null,
  team_id   bigint not null,
  pinned_at timestamptz not null default now(),
  edit_key  uuid not null default gen_random_uuid(),
  four_eyes boolean not null default false,
  plan_key  uuid not null default gen_random_uuid(),
  constraint teams_pkey primary key (team),
  constraint teams_edit_key_key unique (edit_key),
  constraint teams_team_id_key unique (team_id)
);
comment on table sync.teams is 'Which team of the service each configured team turned out to be, fixed at its first run: other credentials can not take over its mirror.';
comment on column sync.teams.team is 'Name of the team in the configuration.';
comment on column sync.teams.team_id is 'The service''s id of the team.';
comment on column sync.teams.pinned_at is 'When the first run fixed it.';
comment on column sync.teams.edit_key is 'What the team is called in notifications of edits (musterd_edits), so that they tell others nothing of it.';
comment on column sync.teams.four_eyes is 'Nobody approves what they edited themselves: push.fourEyes of the settings, as the last run or command had it.';
comment on column sync.teams.plan_key is 'What the files of plans are sealed with ("musterd plan --out"): who may not read it writes none that "musterd apply" takes.';

create table sync.user_base (
  team_id    bigint not null,
  id         bigint not null,
  name       text not null,
  first_name text not null,
  last_name  text not null,
  email      text,
  phone      text,
  role_id    bigint,
  agreed_at  timestamptz not null default now(),
  constraint user_base_pkey primary key (team_id, id)
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

create table sync.user_periods (
  team_id         bigint not null,
  user_id         bigint not null,
  valid_from      timestamptz not null,
  valid_to        timestamptz not null default 'infinity'::timestamp with time zone,
  present         boolean not null,
  name            text not null,
  first_name      text not null,
  last_name       text not null,
  email           text,
  phone           text,
  role_id         bigint,
  role            text,
  resolved        boolean not null,
  created_at      timestamptz,
  updated_at      timestamptz,
  edited_at       timestamptz,
  edited_by       text,
  side            text,
  run_id          bigint,
  changed_by      text,
  actor           text,
  role_moved      boolean not null default false,
  role_arrived_at timestamptz default '-infinity'::timestamp with time zone,
  constraint user_periods_pkey primary key (team_id, user_id, valid_from),
  constraint actor_has_at_most_300_characters check (char_length(actor) <= 300),
  constraint user_periods_check check (valid_from < valid_to),
  constraint user_periods_side_check check (side in ('mirror', 'service'))
);
create index user_periods_as_of on sync.user_periods (team_id, valid_to, valid_from);
create index user_periods_by_run on sync.user_periods (run_id) where run_id is not null;
create index user_periods_by_time on sync.user_periods (valid_from) where side is not null;
create unique index user_periods_open on sync.user_periods (team_id, user_id) where valid_to = 'infinity'::timestamp with time zone;
create index user_periods_role_moved on sync.user_periods (valid_from) where role_moved;
comment on table sync.user_periods is 'What report.roster showed of a user and from when to when, a row for each time that it stayed the same. Periods of a user never overlap, and the next begins where one ends. What was so before a database got this table was not recorded: its first periods begin with the last change of the user that the ledger has. Nobody knows since when the joined name, the name of the role, resolved, created_at and updated_at of these were as they are, nor when such a user came.';
comment on column sync.user_periods.team_id is 'The team.';
comment on column sync.user_periods.user_id is 'The service''s id of the user.';
comment on column sync.user_periods.valid_from is 'Since when it was so. Of what a run writes: the time at which its transaction began, the same for all users in it. Of an edit: its edited_at; of several in one statement, the last of theirs. An edit that was made while the triggers were off counts from the run that found it.';
comment on column sync.user_periods.valid_to is 'Until when it was so, which is no longer a part of it; infinity: it is so now.';
comment on column sync.user_periods.present is 'Whether the user was in the team. False: gone, with the values that were there last.';
comment on column sync.user_periods.name is 'The name as the service joins it.';
comment on column sync.user_periods.first_name is 'First name.';
comment on column sync.user_periods.last_name is 'Last name.';
comment on column sync.user_periods.email is 'Email address.';
comment on column sync.user_periods.phone is 'Phone number.';
comment on column sync.user_periods.role_id is 'The service''s id of the role.';
comment on column sync.user_periods.role is 'Name of the role that the service gave last. That of role_id is in sync.role_names.';
comment on column sync.user_periods.resolved is 'False: only the team listing knew this member.';
comment on column sync.user_periods.created_at is 'When the user joined the team.';
comment on column sync.user_periods.updated_at is 'Last change on the service, as it was known then.';
comment on column sync.user_periods.edited_at is 'Last edit in the mirror until then.';
comment on column sync.user_periods.edited_by is 'Who made that edit.';
comment on column sync.user_periods.side is 'Where the change came from with which it begins. mirror: an edit, or a person gave the value of before back. service: musterd wrote what the service has. NULL: not known, it was so when the mirror began, or when the table was made.';
comment on column sync.user_periods.run_id is 'The run that wrote it.';
comment on column sync.user_periods.changed_by is 'Without a run: the role that was connected.';
comment on column sync.user_periods.actor is 'Without a run: for whom it was done, where the transaction says so (musterd.actor). "role for person": another role than musterd''s said for whom.';
comment on column sync.user_periods.role_moved is 'Whether the user had another role before.';
comment on column sync.user_periods.role_arrived_at is 'When the service took the role. -infinity: it had it already. infinity: it is an edit that had not arrived when it ended, or has not yet. NULL: not known, the edit is older than this record.';
comment on index sync.user_periods_as_of is 'Who was there at a given time.';
comment on index sync.user_periods_by_run is 'Whether a run is still referred to.';
comment on index sync.user_periods_by_time is 'What changed lately. Only of changes, so that it is not taken for a time: it leads through all that was before.';
comment on index sync.user_periods_open is 'What is so now: one period of each user.';
comment on index sync.user_periods_role_moved is 'Who got another role.';

-- Everybody sees every team, until somebody takes this row away.
insert into mirror.team_roles (role_name, all_teams) values ('public', true);
