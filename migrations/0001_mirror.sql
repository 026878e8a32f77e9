-- The mirror: what people read and edit. Every key leads with team_id.

create schema mirror;
comment on schema mirror is 'What the service holds, as tables. Only the writable columns of mirror.users, and mirror.user_lookups, are for editing.';

create table mirror.teams (
  team_id    bigint primary key,
  name       text,
  list_size  bigint,
  raw        jsonb not null default '{}',
  changed_at timestamptz not null default now()
);
comment on table mirror.teams is 'One row per team that this database mirrors.';
comment on column mirror.teams.team_id is 'The service''s id of the team.';
comment on column mirror.teams.name is 'Name of the team.';
comment on column mirror.teams.list_size is 'How many recipients a list of this team may have.';
comment on column mirror.teams.raw is 'Whatever else the service said of the team.';
comment on column mirror.teams.changed_at is 'When this row last changed here.';

create table mirror.users (
  team_id         bigint not null,
  id              bigint not null,
  name            text not null default '',
  first_name      text not null default '',
  last_name       text not null default '',
  name_split      text not null default 'guessed' check (name_split in ('known', 'guessed')),
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
  primary key (team_id, id)
);
comment on table mirror.users is 'The team''s users. Edit first_name, last_name, name_split, email, phone and role_id; the next run carries the edit to the service.';
comment on column mirror.users.team_id is 'The team that the user belongs to.';
comment on column mirror.users.id is 'The service''s id of the user within the team.';
comment on column mirror.users.name is 'The name as the service joins it. Read-only: edit first_name and last_name.';
comment on column mirror.users.first_name is 'First name. Writable. The service never shows the halves, so it may be a guess: see name_split.';
comment on column mirror.users.last_name is 'Last name, empty for a name of one word. Writable.';
comment on column mirror.users.name_split is 'known: somebody set the halves. guessed: they were cut from the joined name. Set it to known to accept a guess of three or more words before editing one half alone.';
comment on column mirror.users.email is 'Email address. Writable; can not be emptied.';
comment on column mirror.users.phone is 'Phone number in E.164 form, with or without the plus sign. Writable; NULL clears it on the service.';
comment on column mirror.users.role_id is 'The service''s id of the user''s role. Writable.';
comment on column mirror.users.role is 'The role''s name, as the team listing gives it. Read-only.';
comment on column mirror.users.created_at is 'When the user joined the team.';
comment on column mirror.users.updated_at is 'Last change of the membership on the service.';
comment on column mirror.users.user_created_at is 'When the person''s base user was created on the service.';
comment on column mirror.users.user_updated_at is 'Last change of the person''s base user on the service.';
comment on column mirror.users.resolved is 'False: the team lists this member, and no lookup of users answers for them. Such a user is neither pulled nor pushed; add an address to mirror.user_lookups.';
comment on column mirror.users.gone_at is 'When it was proven that the user has left the team. The row stays.';
comment on column mirror.users.raw is 'Whatever else the service said of the user.';
comment on column mirror.users.edited_at is 'When a writable column was last edited here.';
comment on column mirror.users.edited_by is 'The database role that edited it.';

create table mirror.user_lookups (
  lookup_id bigint generated always as identity primary key,
  team_id   bigint not null,
  email     text,
  phone     text,
  added_at  timestamptz not null default now(),
  check (email is not null or phone is not null)
);
create index user_lookups_by_team on mirror.user_lookups (team_id);
comment on table mirror.user_lookups is 'Addresses to look users up by, for services that list nobody without a filter. Insert rows freely; a repeated address does no harm.';
comment on column mirror.user_lookups.lookup_id is 'Number of the row.';
comment on column mirror.user_lookups.team_id is 'The team to look in.';
comment on column mirror.user_lookups.email is 'An email address of a user.';
comment on column mirror.user_lookups.phone is 'A phone number of a user, E.164, with or without the plus sign.';
comment on column mirror.user_lookups.added_at is 'When the row was added.';

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
  primary key (team_id, id)
);
comment on table mirror.tags is 'The team''s contact tags. Read-only.';
comment on column mirror.tags.team_id is 'The team that the tag belongs to.';
comment on column mirror.tags.id is 'The service''s id of the tag.';
comment on column mirror.tags.tag is 'Name of the tag.';
comment on column mirror.tags.color is 'Colour, as the service writes it.';
comment on column mirror.tags.rev is 'Revision number, where the service gives one.';
comment on column mirror.tags.created is 'Creation time, as the service writes it.';
comment on column mirror.tags.updated is 'Time of the last change, as the service writes it.';
comment on column mirror.tags.first_seen_at is 'When a run first saw the tag.';
comment on column mirror.tags.gone_at is 'When it was proven that the tag is gone. The row stays.';
comment on column mirror.tags.raw is 'Whatever else the service said of the tag.';

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
  primary key (team_id, id)
);
comment on table mirror.contact_fields is 'Definitions of the team''s custom contact fields. Read-only.';
comment on column mirror.contact_fields.team_id is 'The team that the field belongs to.';
comment on column mirror.contact_fields.id is 'The service''s id of the field: the key in a contact''s custom values.';
comment on column mirror.contact_fields.title is 'Title of the field.';
comment on column mirror.contact_fields.op is 'The last operation, where the service gives one.';
comment on column mirror.contact_fields.rev is 'Revision number, where the service gives one.';
comment on column mirror.contact_fields.tid is 'The team''s id, as the service gives it.';
comment on column mirror.contact_fields.uid is 'Id of the user that the field belongs to.';
comment on column mirror.contact_fields.first_seen_at is 'When a run first saw the field.';
comment on column mirror.contact_fields.gone_at is 'When it was proven that the field is gone. The row stays.';
comment on column mirror.contact_fields.raw is 'Whatever else the service said of the field.';

create table mirror.contact_counts (
  team_id    bigint not null,
  segment    text not null,
  counted_at timestamptz not null,
  count      bigint not null check (count >= 0),
  primary key (team_id, segment, counted_at)
);
comment on table mirror.contact_counts is 'How many contacts the team had in each named segment, a row per count. Read-only.';
comment on column mirror.contact_counts.team_id is 'The team whose contacts were counted.';
comment on column mirror.contact_counts.segment is 'Name of the segment in the configuration.';
comment on column mirror.contact_counts.counted_at is 'When the service answered.';
comment on column mirror.contact_counts.count is 'Number of contacts.';
