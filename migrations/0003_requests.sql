-- What is asked of the service besides edits of users: tags to be made, messages to be scheduled, replaced or cancelled, and
-- conversations to be marked as read. Each is a row here with a local_id of its own. What is edited, held, decided and sent of
-- it stands in the same tables as the edits of users: there user_id is empty, and local_id says which request it is.

alter table sync.teams add column writes jsonb not null default '{}';
comment on column sync.teams.writes is 'What else than users may be written, as the last run or command had the settings (write): tags, schedule, conversations, and the zone in which times of messages are told.';

-- A tag that waits to be made has no id yet.
alter table mirror.tags drop constraint tags_pkey;
alter table mirror.tags alter column id drop not null;
alter table mirror.tags add column local_id uuid not null default gen_random_uuid();
alter table mirror.tags add constraint tags_pkey primary key (team_id, local_id);
alter table mirror.tags add constraint tags_id_key unique (team_id, id);
comment on table mirror.tags is 'The team''s contact tags. Insert (team_id, tag) to have one made; a tag can be neither renamed nor deleted.';
comment on column mirror.tags.id is 'The service''s id of the tag; NULL: it waits to be made.';
comment on column mirror.tags.local_id is 'Our own id of the row, which it has before the service gives one.';

create table mirror.scheduled_messages (
  team_id         bigint not null,
  local_id        uuid not null default gen_random_uuid(),
  id              bigint,
  inbox_id        bigint not null,
  user_id         bigint,
  text            text,
  template_id     bigint,
  attachments     jsonb,
  gallery         jsonb,
  is_email        boolean,
  conversation_id bigint,
  list_id         bigint,
  phone_number    text,
  targets         text[],
  execute_at      timestamptz not null,
  recipients      bigint generated always as (case when list_id is not null then null when targets is not null then cardinality(targets) else 1 end) stored,
  cancels         boolean not null default false,
  state           text not null default 'waiting',
  detail          text,
  base            jsonb,
  created_at      timestamptz not null default clock_timestamp(),
  edited_at       timestamptz,
  edited_by       text,
  read_at         timestamptz,
  raw             jsonb not null default '{}',
  constraint scheduled_messages_pkey primary key (team_id, local_id),
  constraint scheduled_messages_id_key unique (team_id, id),
  constraint scheduled_messages_state_check check (state in ('waiting', 'held', 'scheduled', 'cancelled', 'past', 'refused', 'unknown'))
);
create index scheduled_messages_by_time on mirror.scheduled_messages (team_id, execute_at);
create index scheduled_messages_unknown on mirror.scheduled_messages (team_id) where state = 'unknown';
comment on table mirror.scheduled_messages is 'Messages that the service is to send later. Insert one to have it scheduled, update it to have it replaced, delete it to have it cancelled: the row stays, and says what became of it.';
comment on column mirror.scheduled_messages.team_id is 'The team that sends it. In mirror.teams.team_id.';
comment on column mirror.scheduled_messages.local_id is 'Our own id of the message, which is sent along.';
comment on column mirror.scheduled_messages.id is 'The service''s id of the message; NULL: it has none yet.';
comment on column mirror.scheduled_messages.inbox_id is 'The inbox that it is sent from. In mirror.inboxes.id. Writable.';
comment on column mirror.scheduled_messages.user_id is 'The user who sends it, a member of the inbox. In mirror.users.id. Writable.';
comment on column mirror.scheduled_messages.text is 'Its text, with merge tokens such as {{Title of a contact field}}. Writable.';
comment on column mirror.scheduled_messages.template_id is 'The service''s id of the template that it is made from. Writable.';
comment on column mirror.scheduled_messages.attachments is 'A list of {name, type, url}. Writable.';
comment on column mirror.scheduled_messages.gallery is 'A list of {annotation_position, annotation_text, original_url, url}. Writable.';
comment on column mirror.scheduled_messages.is_email is 'Sent as it is; the interface does not say more. Writable.';
comment on column mirror.scheduled_messages.conversation_id is 'The conversation that it goes to. Of this, list_id, phone_number and targets one is given. Writable.';
comment on column mirror.scheduled_messages.list_id is 'The list whose members get it. Writable.';
comment on column mirror.scheduled_messages.phone_number is 'The number that gets it, in E.164 form. Writable.';
comment on column mirror.scheduled_messages.targets is 'The numbers that get it. Writable.';
comment on column mirror.scheduled_messages.execute_at is 'When the service is to send it. Writable.';
comment on column mirror.scheduled_messages.recipients is 'How many get it; NULL: a list, whose size the service does not tell.';
comment on column mirror.scheduled_messages.cancels is 'Whether it is to be cancelled: the row was deleted.';
comment on column mirror.scheduled_messages.state is 'waiting: the next run sends what was asked. held: it waits for a person (report.held). scheduled: the service has it as it is here. cancelled: nobody gets it. past: its time has come. refused: the service does not take it. unknown: it was sent, no answer came, and only a person can find out ("musterd schedule resolve").';
comment on column mirror.scheduled_messages.detail is 'What happened, in words.';
comment on column mirror.scheduled_messages.base is 'What the service has of it as far as is known; NULL: nothing.';
comment on column mirror.scheduled_messages.created_at is 'When the row was inserted.';
comment on column mirror.scheduled_messages.edited_at is 'When it was last edited here.';
comment on column mirror.scheduled_messages.edited_by is 'The database role that did.';
comment on column mirror.scheduled_messages.read_at is 'When the service last showed it.';
comment on column mirror.scheduled_messages.raw is 'What the service said of it then.';
comment on index mirror.scheduled_messages_unknown is 'Those of which a person has to say what is so.';
comment on index mirror.scheduled_messages_by_time is 'What is due next, and what a day has.';

create table mirror.conversation_reads (
  team_id     bigint not null,
  local_id    uuid not null default gen_random_uuid(),
  inbox_id    bigint not null,
  user_id     bigint not null,
  target      text,
  targets     text[],
  reassign_id bigint,
  state       text not null default 'waiting',
  detail      text,
  answer      text,
  created_at  timestamptz not null default clock_timestamp(),
  edited_by   text,
  sent_at     timestamptz,
  constraint conversation_reads_pkey primary key (team_id, local_id),
  constraint conversation_reads_state_check check (state in ('waiting', 'held', 'sent', 'refused', 'unknown'))
);
create index conversation_reads_by_time on mirror.conversation_reads (created_at);
comment on table mirror.conversation_reads is 'Conversations to be marked as read: insert one, and it is sent once.';
comment on column mirror.conversation_reads.team_id is 'The team. In mirror.teams.team_id.';
comment on column mirror.conversation_reads.local_id is 'Our own id of the row.';
comment on column mirror.conversation_reads.inbox_id is 'The inbox of the conversation. In mirror.inboxes.id.';
comment on column mirror.conversation_reads.user_id is 'The user who has read it. In mirror.users.id.';
comment on column mirror.conversation_reads.target is 'The conversation''s other side, such as a phone number. Of this and targets one is given.';
comment on column mirror.conversation_reads.targets is 'Several of them.';
comment on column mirror.conversation_reads.reassign_id is 'The user whom the conversation is assigned to by that.';
comment on column mirror.conversation_reads.state is 'waiting: the next run sends it. held: it waits for a person (report.held). sent: the service has answered. refused: it does not take it. unknown: no answer came, and it is not sent again.';
comment on column mirror.conversation_reads.detail is 'What happened, in words.';
comment on column mirror.conversation_reads.answer is 'What the service answered.';
comment on column mirror.conversation_reads.created_at is 'When the row was inserted.';
comment on column mirror.conversation_reads.edited_by is 'The database role that inserted it.';
comment on column mirror.conversation_reads.sent_at is 'When it was answered.';
comment on index mirror.conversation_reads_by_time is 'What is old enough to be removed.';

alter table sync.edits alter column user_id drop not null;
alter table sync.edits add column local_id uuid;
alter table sync.edits drop constraint edits_field_check;
alter table sync.edits add constraint edits_field_check check (field in ('name', 'name_split', 'email', 'phone', 'role_id', 'tag', 'message', 'conversation_read'));
alter table sync.edits add constraint edits_subject_check check ((user_id is null) = (local_id is not null));
create index edits_of_requests on sync.edits (team_id, local_id, edit_id desc) where local_id is not null;
create unique index edits_of_requests_that_last on sync.edits (team_id, local_id) where ended_at is null and local_id is not null;
comment on table sync.edits is 'Edits of mirror.users, and what is asked of the service by other tables, a row each. An edit is one field of one user, or one request, that the mirror has other than both sides last agreed on: it lasts from the statement that made it so until they agree again.';
comment on column sync.edits.user_id is 'The service''s id of the user; NULL: it is a request.';
comment on column sync.edits.field is 'name is the pair of first and last name; name_split says whether they were cut by a guess, which is recorded and ends at once; email, phone, role_id. Of a request: tag, message or conversation_read.';
comment on column sync.edits.local_id is 'Which request it is.';
comment on index sync.edits_of_requests is 'What was asked by a request, one thing after the other.';
comment on index sync.edits_of_requests_that_last is 'What is asked by a request: there is one edit at most.';

alter table sync.held_fields add column local_id uuid;
alter table sync.held_fields drop constraint held_fields_key;
alter table sync.held_fields add constraint held_fields_key unique nulls not distinct (team_id, user_id, field, local_id);
alter table sync.held_fields drop constraint held_fields_field_check;
alter table sync.held_fields add constraint held_fields_field_check check (field in ('name', 'email', 'phone', 'role_id', 'tag', 'message', 'conversation_read'));
alter table sync.held_fields add constraint held_fields_subject_check check (local_id is null or user_id is null);
comment on column sync.held_fields.user_id is 'The user; NULL: a request, or the field of all users, of whom too many no longer have it.';
comment on column sync.held_fields.field is 'The field: name is the pair of first and last name. Of a request: tag, message or conversation_read.';
comment on column sync.held_fields.local_id is 'Which request it is.';

alter table sync.changes add column local_id uuid;
alter table sync.changes drop constraint changes_user_check;
alter table sync.changes add constraint changes_user_check check (user_id is not null or local_id is not null or kind in ('place', 'approve'));
create unique index changes_one_open_request on sync.changes (team_id, local_id) where state = 'open' and local_id is not null;
create index changes_by_request on sync.changes (team_id, local_id, change_id desc) where local_id is not null;
comment on column sync.changes.user_id is 'The user whose fields moved; NULL: it is about a request or the mirror itself, or a person approved that many users lack a field.';
comment on column sync.changes.local_id is 'Which request it is about.';
comment on index sync.changes_by_request is 'What became of a request.';
comment on index sync.changes_one_open_request is 'A request is sent once at a time.';

-- It says more from now on: whoever may ask it goes on to.
do $$
declare
  askers text;
begin
  if to_regprocedure('sync.settled(interval,boolean,xid8)') is not null then
    select string_agg(distinct a.grantee::regrole::text, ', ') into askers
    from pg_proc p cross join lateral aclexplode(p.proacl) a
    where p.oid = 'sync.settled(interval,boolean,xid8)'::regprocedure and a.grantee not in (0, p.proowner);
    drop function sync.settled(interval, boolean, xid8);
    drop function if exists sync.edit_states(xid8);
    create function sync.settled(timeout interval default '10 s', raise boolean default false, xid xid8 default null)
    returns table (user_id bigint, field text, state text, detail text, request_id text, local_id uuid, id bigint)
    language sql as 'select null::bigint, null, null, null, null, null::uuid, null::bigint where false';
    revoke execute on function sync.settled(interval, boolean, xid8) from public;
    if askers is not null then
      execute format('grant execute on function sync.settled(interval, boolean, xid8) to %s', askers);
    end if;
  end if;
end
$$;

-- Whoever reads the tags reads these as well, and goes on to read them with their new columns.
do $$
declare
  reader text;
begin
  for reader in
    select distinct case a.grantee when 0 then 'public' else a.grantee::regrole::text end
    from pg_class c cross join lateral aclexplode(c.relacl) a
    where c.oid = 'mirror.tags'::regclass and a.privilege_type = 'SELECT' and a.grantee <> c.relowner
  loop
    execute format('grant select on mirror.scheduled_messages, mirror.conversation_reads to %s', reader);
  end loop;
end
$$;

-- Whoever decides about edits decides about these as well.
do $$
declare
  decider text;
begin
  create function sync.resolve_message(of_team bigint, key uuid, is_id bigint, reason text) returns text
  language sql as 'select null::text';
  revoke execute on function sync.resolve_message(bigint, uuid, bigint, text) from public;
  for decider in
    select a.grantee::regrole::text
    from pg_proc p cross join lateral aclexplode(p.proacl) a
    where p.oid = to_regprocedure('sync.approve(text,bigint[],text,bigint,bigint[])') and a.grantee not in (0, p.proowner)
  loop
    execute format('grant execute on function sync.resolve_message(bigint, uuid, bigint, text) to %s', decider);
  end loop;
end
$$;
