-- Requests to the service besides edits of users: tags, scheduled messages, conversations that were read. What people
-- write is checked here, recorded as an edit, and decided by the same functions as an edit of a user.

create or replace function sync.wanted_columns(field text) returns text[]
language sql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
  select case wanted_columns.field
    when 'tag' then array['tag']
    when 'message' then array['inbox_id', 'user_id', 'text', 'template_id', 'attachments', 'gallery', 'is_email', 'conversation_id',
      'list_id', 'phone_number', 'targets', 'execute_at']
    when 'conversation_read' then array['inbox_id', 'user_id', 'target', 'targets', 'reassign_id'] end
$$;
comment on function sync.wanted_columns(text) is 'The columns in which people write what a request asks for.';

create or replace function sync.wanted(field text, r jsonb) returns jsonb
language sql stable set search_path = pg_catalog, pg_temp as $$
  select case when not coalesce((wanted.r ->> 'cancels')::boolean, false) then (
    select jsonb_object_agg(k.key, case k.key
      when 'execute_at' then to_jsonb(to_char((wanted.r ->> k.key)::timestamptz at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))
      else wanted.r -> k.key end)
    from unnest(sync.wanted_columns(wanted.field)) as k (key)
    where wanted.r -> k.key <> 'null') end
$$;
comment on function sync.wanted(text,jsonb) is 'What a row asks of the service, by the columns that people write. NULL: it is to be cancelled.';

create or replace view sync.requests with (security_invoker) as
select t.team_id, t.local_id, 'tag'::text as field, t.id, null::jsonb as base, sync.wanted('tag', to_jsonb(t)) as wanted,
  'waiting'::text as state, null::timestamptz as execute_at, null::bigint as recipients
from mirror.tags t where t.id is null
union all
select m.team_id, m.local_id, 'message', m.id, m.base, sync.wanted('message', to_jsonb(m)), m.state, m.execute_at, m.recipients
from mirror.scheduled_messages m where m.state not in ('past', 'cancelled')
union all
select c.team_id, c.local_id, 'conversation_read', null, null, sync.wanted('conversation_read', to_jsonb(c)), c.state, null, null
from mirror.conversation_reads c where c.state <> 'sent';
comment on view sync.requests is 'What is asked of the service besides edits of users, and is not over: a row per request (team_id, local_id).';
comment on column sync.requests.team_id is 'The team.';
comment on column sync.requests.local_id is 'Our own id of the request.';
comment on column sync.requests.field is 'tag, message or conversation_read.';
comment on column sync.requests.id is 'The service''s id of it; NULL: it has none yet.';
comment on column sync.requests.base is 'What the service has of it; NULL: nothing.';
comment on column sync.requests.wanted is 'What it is to have; NULL: nothing, so that it is cancelled.';
comment on column sync.requests.state is 'The state in its table; waiting for a tag.';
comment on column sync.requests.execute_at is 'When a message is to be sent; NULL for anything else.';
comment on column sync.requests.recipients is 'How many people get a message; NULL: not known.';

-- Records what is asked from now on, and ends what was asked before, with its hold and its decision.
create or replace function sync.note_request(of_team bigint, key uuid, of_field text, wants jsonb, has jsonb) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  before  sync.edits;
  names   constant text[] := array_remove(array[sync.person(session_user::text), sync.person(sync.actor())], null);
  is_over constant boolean := wants is not distinct from has and not exists (
    select from sync.changes c where c.team_id = of_team and c.local_id = key and c.state = 'open');
begin
  update sync.edits e set ended_at = clock_timestamp(), ended_how = case when is_over then 'withdrawn' else 'replaced' end
  where e.team_id = of_team and e.local_id = key and e.ended_at is null returning * into before;
  delete from sync.held_fields h where h.team_id = of_team and h.local_id = key;
  insert into sync.edits (xid, team_id, local_id, field, old_value, new_value, edited_at, edited_by, application, actor, authors, ended_at, ended_how)
  values (pg_current_xact_id(), of_team, key, of_field, case when before.edit_id is null then has else before.new_value end, wants,
    clock_timestamp(), session_user, nullif(current_setting('application_name'), ''), sync.actor(),
    (select case when count(distinct a.name) > 32 then (names || ''::text || array_agg(distinct a.name))[1:32] else array_agg(distinct a.name) end
     from unnest(names || coalesce(before.authors, '{}')) a (name)),
    case when is_over then clock_timestamp() end, case when is_over then 'withdrawn' end);
  perform set_config('musterd.last_edit', pg_current_xact_id()::text, false);
  perform pg_notify('musterd_edits', t.edit_key::text) from sync.teams t where t.team_id = of_team;
end
$$;
comment on function sync.note_request(bigint,uuid,text,jsonb,jsonb) is 'Records as an edit what a request asks for, and tells a daemon that listens.';
revoke execute on function sync.note_request(bigint,uuid,text,jsonb,jsonb) from public;

create or replace function mirror.note_request() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  now constant jsonb := to_jsonb(new);
  has constant jsonb := now -> 'base';
begin
  if tg_op = 'INSERT' or sync.wanted(tg_argv[0], now) is distinct from sync.wanted(tg_argv[0], to_jsonb(old)) then
    perform sync.note_request(new.team_id, new.local_id, tg_argv[0], sync.wanted(tg_argv[0], now), nullif(has, 'null'));
  end if;
  return null;
end
$$;
comment on function mirror.note_request() is 'Records what a row asks of the service: see sync.note_request().';
revoke execute on function mirror.note_request() from public;

-- It judges by the settings of the last run or command.
create or replace function mirror.require_write(of_team bigint, what text) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  writes constant jsonb := (select t.writes from sync.teams t where t.team_id = of_team and sync.session_sees(of_team));
begin
  if writes is null then
    raise exception 'No run has seen team % yet', of_team using errcode = 'foreign_key_violation', hint = 'mirror.teams has the teams that are known.';
  end if;
  if coalesce(writes ->> what, 'false') = 'false' then
    raise exception 'The settings do not let anybody write %: write.% is off', case what when 'schedule' then 'scheduled messages' when 'tags' then 'tags' else 'read conversations' end, what
      using errcode = 'insufficient_privilege', hint = format('Set write.%s in the settings (MUSTERD__write__%s); it counts from the next run of "musterd reconcile" or the daemon on.', what, what);
  end if;
  return writes;
end
$$;
comment on function mirror.require_write(bigint,text) is 'Refuses what the settings (write) do not allow, and returns what they allow.';
revoke execute on function mirror.require_write(bigint,text) from public;

create or replace function mirror.message_terms()
returns table (team_id bigint, timezone text, schedule text, margin_minutes integer)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select t.team_id, coalesce(t.writes ->> 'timezone', 'UTC'), coalesce(t.writes ->> 'schedule', 'false'),
    coalesce((l.value ->> 'margin_minutes')::integer, 15)
  from sync.teams t
  left join sync.learned l on l.team = t.team and l.topic = 'schedule'
  where sync.session_sees(t.team_id)
$$;
comment on function mirror.message_terms() is 'The terms for messages of the teams that the session sees: the zone in which their times are shown, whether the settings let people schedule any (write.schedule), and how long before its time the service has to have one.';

create or replace function mirror.check_tag() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op = 'DELETE' then
    if old.id is not null or exists (select from sync.changes c where c.team_id = old.team_id and c.local_id = old.local_id and c.state = 'open') then
      raise exception 'The service gives no way to delete a tag' using errcode = 'feature_not_supported', hint = 'A tag that waits to be made can be deleted before it is sent.';
    end if;
    update sync.edits e set ended_at = clock_timestamp(), ended_how = 'withdrawn'
    where e.team_id = old.team_id and e.local_id = old.local_id and e.ended_at is null;
    delete from sync.held_fields h where h.team_id = old.team_id and h.local_id = old.local_id;
    return old;
  end if;
  if tg_op = 'UPDATE' then
    if old.id is not null or (to_jsonb(new) - 'tag') is distinct from (to_jsonb(old) - 'tag') then
      raise exception 'The service gives no way to rename or change a tag' using errcode = 'feature_not_supported', hint = 'Insert a tag of the new name.';
    end if;
  elsif (to_jsonb(new) - array['team_id', 'tag', 'local_id', 'first_seen_at']) is distinct from
      '{"id": null, "color": null, "rev": null, "created": null, "updated": null, "gone_at": null, "raw": {}}'::jsonb then
    raise exception 'A new tag has only team_id, tag and local_id' using errcode = 'check_violation', hint = 'The service gives the rest.';
  end if;
  perform mirror.require_write(new.team_id, 'tags');
  new.tag := normalize(regexp_replace(btrim(coalesce(new.tag, '')), '\s+', ' ', 'g'), NFC);
  if new.tag = '' or length(new.tag) > 300 then
    raise exception 'A tag needs a name of 1 to 300 characters' using errcode = 'check_violation';
  end if;
  return new;
end
$$;
comment on function mirror.check_tag() is 'Refuses what cannot be done with a tag, and checks a new one.';
revoke execute on function mirror.check_tag() from public;

-- The grid and the margin of times are those that "musterd check" found out; a quarter of an hour otherwise.
create or replace function mirror.check_message() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  known  jsonb;
  grid   integer;
  margin integer;
  given  integer;
  token  text;
  stranger text;
  follows constant text[] := sync.wanted_columns('message') || 'recipients'::text;
begin
  if tg_op = 'UPDATE' then
    if old.state in ('past', 'cancelled') or old.cancels then
      raise exception 'This message is %: it cannot be changed', case when old.state in ('past', 'cancelled') then old.state else 'to be cancelled' end
        using errcode = 'object_not_in_prerequisite_state', hint = 'Insert another one.';
    end if;
    if (to_jsonb(new) - follows) is distinct from (to_jsonb(old) - follows) then
      raise exception 'Only the columns that are to be sent can be edited in a scheduled message' using errcode = 'check_violation', hint = 'id, local_id, state, detail, base and the like follow the service.';
    end if;
    if sync.wanted('message', to_jsonb(new)) is not distinct from sync.wanted('message', to_jsonb(old)) then
      return new;
    end if;
  elsif new.id is not null or new.base is not null or new.cancels or new.state <> 'waiting' or new.detail is not null or new.read_at is not null or new.raw <> '{}' then
    raise exception 'A new scheduled message has only a local_id and the columns that are to be sent' using errcode = 'check_violation', hint = 'id, state, detail, base and the like follow the service.';
  end if;
  perform mirror.require_write(new.team_id, 'schedule');

  perform from mirror.inboxes i where i.team_id = new.team_id and i.id = new.inbox_id and i.gone_at is null;
  if not found then
    raise exception 'Team % has no inbox %', new.team_id, new.inbox_id using errcode = 'check_violation', hint = 'mirror.inboxes has them.';
  end if;
  if new.user_id is not null then
    perform from mirror.inbox_members m where m.team_id = new.team_id and m.inbox_id = new.inbox_id and m.user_id = new.user_id;
    if not found then
      raise exception 'User % is not a member of inbox %', new.user_id, new.inbox_id using errcode = 'check_violation', hint = 'mirror.inbox_members has those who are.';
    end if;
  end if;

  given := num_nonnulls(new.conversation_id, new.list_id, new.phone_number, new.targets);
  if given <> 1 then
    raise exception 'One of conversation_id, list_id, phone_number and targets has to be given, not %', given using errcode = 'check_violation';
  end if;
  if new.phone_number !~ '^\+?[1-9][0-9]{1,14}$' then
    raise exception '"%" is not a phone number in E.164 form', left(new.phone_number, 100) using errcode = 'check_violation', hint = 'Write the country code and the number as digits alone, such as 15550100.';
  end if;
  if new.targets is not null and (cardinality(new.targets) = 0 or array_position(new.targets, null) is not null or '' = any (new.targets)) then
    raise exception 'targets is empty, or one of its entries is' using errcode = 'check_violation';
  end if;
  select t into stranger from unnest(new.targets) t where t !~ '^\+?[1-9][0-9]{1,14}$' limit 1;
  if found then
    raise exception 'The target "%" is not a phone number in E.164 form', left(stranger, 100) using errcode = 'check_violation', hint = 'Write the country code and the number as digits alone, such as 15550100.';
  end if;
  if cardinality(new.targets) > (select count(distinct ltrim(t, '+')) from unnest(new.targets) t) then
    raise exception 'One of the targets is given twice' using errcode = 'check_violation', hint = 'Each gets the message once.';
  end if;
  if btrim(coalesce(new.text, '')) = '' and new.template_id is null and coalesce(new.attachments, '[]') = '[]' and coalesce(new.gallery, '[]') = '[]' then
    raise exception 'The message has neither a text, a template, an attachment nor a gallery' using errcode = 'check_violation';
  end if;
  if jsonb_typeof(new.attachments) <> 'array' or jsonb_typeof(new.gallery) <> 'array' then
    raise exception 'attachments and gallery are lists' using errcode = 'check_violation';
  end if;
  -- Whatever else is in them would be approved, and not be sent.
  select l.name into stranger
  from (values ('attachments', new.attachments, array['name', 'type', 'url']),
    ('gallery', new.gallery, array['annotation_position', 'annotation_text', 'original_url', 'url'])) l (name, entries, keys)
  cross join lateral jsonb_array_elements(l.entries) e (entry)
  where jsonb_typeof(e.entry) <> 'object' or exists (
    select from jsonb_each(case jsonb_typeof(e.entry) when 'object' then e.entry end) v
    where v.key <> all (l.keys) or jsonb_typeof(v.value) <> 'string')
  limit 1;
  if found then
    raise exception 'An entry of % has another key, or a value that is not text', stranger using errcode = 'check_violation', hint = 'An attachment has name, type and url, an entry of the gallery annotation_position, annotation_text, original_url and url.';
  end if;
  if octet_length(sync.wanted('message', to_jsonb(new))::text) > 10000000 then
    raise exception 'The message is larger than 10 MB' using errcode = 'check_violation';
  end if;
  for token in select m[1] from regexp_matches(coalesce(new.text, ''), '\{\{\s*([^{}]*?)\s*\}\}', 'g') m loop
    perform from mirror.contact_fields f
    where f.team_id = new.team_id and f.gone_at is null and (lower(f.title) = lower(token) or f.id::text = token);
    if not found and lower(token) not in ('first_name', 'last_name', 'name', 'f', 'l') then
      raise exception 'No contact field is called "%"', token using errcode = 'check_violation', hint = 'mirror.contact_fields has them.';
    end if;
  end loop;

  select l.value into known from sync.teams t join sync.learned l on l.team = t.team and l.topic = 'schedule' where t.team_id = new.team_id;
  grid := coalesce((known ->> 'grid_minutes')::integer, 15);
  margin := coalesce((known ->> 'margin_minutes')::integer, 15);
  if not isfinite(new.execute_at) or extract(epoch from new.execute_at)::numeric % (grid * 60) <> 0 then
    raise exception 'execute_at is not on a full % minutes', grid using errcode = 'check_violation', hint = 'The service sends messages only at these times.';
  end if;
  if new.execute_at >= '10000-01-01T00:00Z' then
    raise exception 'execute_at is beyond the year 9999' using errcode = 'check_violation';
  end if;
  if new.execute_at < clock_timestamp() + make_interval(mins => margin) then
    raise exception 'execute_at is less than % minutes ahead', margin using errcode = 'check_violation', hint = 'The service does not accept a message that is due earlier.';
  end if;
  if tg_op = 'UPDATE' and old.id is not null and (old.base ->> 'execute_at')::timestamptz <= clock_timestamp() then
    raise exception 'The time of this message has come: it cannot be changed' using errcode = 'object_not_in_prerequisite_state';
  end if;

  new.state := case
    when tg_op = 'UPDATE' and old.state = 'unknown' then 'unknown'
    when sync.wanted('message', to_jsonb(new)) is not distinct from new.base then 'scheduled' else 'waiting' end;
  new.detail := case when new.state = 'unknown' then old.detail end;
  new.edited_at := clock_timestamp();
  new.edited_by := session_user;
  return new;
end
$$;
comment on function mirror.check_message() is 'Refuses a message that the service would not take, and what cannot be changed any more.';
revoke execute on function mirror.check_message() from public;

-- The row stays, and says what becomes of the message. A message that was never sent is over at once.
create or replace function mirror.cancel_messages() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  one     mirror.scheduled_messages;
  writing constant text := coalesce(current_setting('musterd.writing', true), '');
  is_sent boolean;
begin
  for one in select * from deleted loop
    if one.state in ('past', 'cancelled') then
      raise exception 'This message is % already', one.state using errcode = 'object_not_in_prerequisite_state', hint = 'It is removed once it is old (retention).';
    end if;
    is_sent := one.id is not null or exists (
      select from sync.changes c where c.team_id = one.team_id and c.local_id = one.local_id and c.state = 'open');
    perform set_config('musterd.writing', 'on', true);
    insert into mirror.scheduled_messages (team_id, local_id, id, inbox_id, user_id, text, template_id, attachments, gallery, is_email,
      conversation_id, list_id, phone_number, targets, execute_at, cancels, state, detail, base, created_at, edited_at, edited_by, read_at, raw)
    values (one.team_id, one.local_id, one.id, one.inbox_id, one.user_id, one.text, one.template_id, one.attachments, one.gallery, one.is_email,
      one.conversation_id, one.list_id, one.phone_number, one.targets, one.execute_at, true,
      case when not is_sent then 'cancelled' when one.state = 'unknown' then 'unknown' else 'waiting' end,
      case when not is_sent then 'it was taken back before it was sent' when one.state = 'unknown' then one.detail end,
      one.base, one.created_at, clock_timestamp(), session_user, one.read_at, one.raw);
    perform sync.note_request(one.team_id, one.local_id, 'message', null, one.base);
    perform set_config('musterd.writing', writing, true);
  end loop;
  return null;
end
$$;
comment on function mirror.cancel_messages() is 'Keeps the rows of messages that were deleted, and marks them to be cancelled.';
revoke execute on function mirror.cancel_messages() from public;

create or replace function mirror.check_conversation_read() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if new.state <> 'waiting' or new.detail is not null or new.answer is not null or new.sent_at is not null then
    raise exception 'state, detail, answer and sent_at follow the service' using errcode = 'check_violation';
  end if;
  perform mirror.require_write(new.team_id, 'conversations');
  perform from mirror.inboxes i where i.team_id = new.team_id and i.id = new.inbox_id and i.gone_at is null;
  if not found then
    raise exception 'Team % has no inbox %', new.team_id, new.inbox_id using errcode = 'check_violation', hint = 'mirror.inboxes has them.';
  end if;
  perform from mirror.users u where u.team_id = new.team_id and u.id = new.user_id and u.gone_at is null;
  if not found then
    raise exception 'Team % has no user %', new.team_id, new.user_id using errcode = 'check_violation', hint = 'mirror.users has them.';
  end if;
  if num_nonnulls(new.target, new.targets) <> 1 or new.target = '' or cardinality(new.targets) = 0 or array_position(new.targets, null) is not null then
    raise exception 'Either target or targets has to be given' using errcode = 'check_violation', hint = 'It says whose conversation was read, such as a phone number.';
  end if;
  if octet_length(sync.wanted('conversation_read', to_jsonb(new))::text) > 10000000 then
    raise exception 'The targets are larger than 10 MB' using errcode = 'check_violation';
  end if;
  new.edited_by := session_user;
  return new;
end
$$;
comment on function mirror.check_conversation_read() is 'Refuses what the service would not take.';
revoke execute on function mirror.check_conversation_read() from public;

-- Afterwards a tag or a read conversation is no longer asked for, and a message is as the service has it.
create or replace function sync.withdraw_request(of_team bigint, key uuid, of_field text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  delete from mirror.tags t where t.team_id = of_team and t.local_id = key and t.id is null and of_field = 'tag';
  delete from mirror.conversation_reads c where c.team_id = of_team and c.local_id = key and of_field = 'conversation_read';
  update mirror.scheduled_messages m
  set (inbox_id, user_id, text, template_id, attachments, gallery, is_email, conversation_id, list_id, phone_number, targets, execute_at) =
      (b.inbox_id, b.user_id, b.text, b.template_id, b.attachments, b.gallery, b.is_email, b.conversation_id, b.list_id, b.phone_number, b.targets, b.execute_at),
    cancels = false, state = case when m.id is null then 'cancelled' else 'scheduled' end, detail = case when m.id is null then 'it was rejected' end,
    edited_at = clock_timestamp(), edited_by = session_user
  from mirror.scheduled_messages o cross join lateral jsonb_populate_record(null::mirror.scheduled_messages, coalesce(o.base, to_jsonb(o))) b
  where m.team_id = of_team and m.local_id = key and o.team_id = m.team_id and o.local_id = m.local_id and of_field = 'message';
  update sync.edits e set ended_at = clock_timestamp(), ended_how = 'withdrawn'
  where e.team_id = of_team and e.local_id = key and e.ended_at is null;
  delete from sync.held_fields h where h.team_id = of_team and h.local_id = key;
end
$$;
comment on function sync.withdraw_request(bigint,uuid,text) is 'Takes back what a request asks for and nobody has sent.';
revoke execute on function sync.withdraw_request(bigint,uuid,text) from public;

-- Decides about the requests among what was seen, by the table of sync.decide_edits(). Nobody approves a message that they
-- wrote, whatever the settings say about users, unless messages may go unattended.
create or replace function sync.decide_requests(verb text, team bigint, seen jsonb, reason text, batch text, revert boolean, number bigint)
returns table (team_id bigint, user_id bigint, field text, outcome text, decision_id bigint)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  one     record;
  writing constant text := coalesce(current_setting('musterd.writing', true), '');
begin
  perform from sync.held_fields h
  where h.team_id = decide_requests.team
    and h.local_id in (select s.local_id from jsonb_to_recordset(decide_requests.seen) as s (local_id uuid))
  order by h.local_id for update;
  for one in
    select s.local_id, s.field, s.edit_id, s.base, s.mirror, r.wanted, h.decision, is_sent.yes as is_sent, case
        when r.local_id is null or e.edit_id is null then 'ended'
        when e.edit_id <> s.edit_id then 'moved'
        when is_sent.yes then 'on its way'
        when h.local_id is null or h.decision = 'rejected' then 'held'
        when r.wanted is distinct from s.mirror then 'moved'
        when decide_requests.verb = 'reject' then 'rejected'
        when r.base is distinct from s.base then 'moved'
        when (t.four_eyes or s.field = 'message' and t.writes ->> 'schedule' is distinct from 'unattended') and sync.is_own(e.authors) then 'own'
        else 'approved' end as outcome
    from jsonb_to_recordset(decide_requests.seen) as s (local_id uuid, field text, edit_id bigint, base jsonb, mirror jsonb)
    join sync.teams t on t.team_id = decide_requests.team
    left join sync.requests r on r.team_id = decide_requests.team and r.local_id = s.local_id
    left join sync.edits e on e.team_id = decide_requests.team and e.local_id = s.local_id and e.ended_at is null
    left join sync.held_fields h on h.team_id = decide_requests.team and h.local_id = s.local_id and h.edit_id = s.edit_id
    cross join lateral (select exists (
      select from sync.changes c
      where c.team_id = decide_requests.team and c.local_id = s.local_id and c.state = 'open' and (c.edits ->> s.field)::bigint = s.edit_id
    ) as yes) is_sent
    order by s.local_id
  loop
    if decide_requests.number is not null and (one.outcome in ('approved', 'rejected') or decide_requests.verb = 'reject' and one.is_sent) then
      perform set_config('musterd.writing', 'on', true);
      insert into sync.changes (team_id, local_id, kind, base, old, new, edits, outcome, closed_at, decided_by, decided_role, decided_why, batch, decision_id)
      values (decide_requests.team, one.local_id, decide_requests.verb, jsonb_build_object(one.field, one.base), jsonb_build_object(one.field, one.base),
        jsonb_build_object(one.field, one.mirror), jsonb_build_object(one.field, one.edit_id),
        case when decide_requests.revert and not one.is_sent then jsonb_build_object(one.field, 'withdrawn') else '{}' end,
        clock_timestamp(), sync.decider(), session_user, coalesce(decide_requests.reason, ''), decide_requests.batch, decide_requests.number);
      update sync.held_fields h set decision = one.outcome, detail = case one.outcome when 'rejected' then coalesce(decide_requests.reason, '') else h.detail end
      where h.team_id = decide_requests.team and h.local_id = one.local_id and h.edit_id = one.edit_id and one.outcome in ('approved', 'rejected');
      update mirror.scheduled_messages m set state = 'waiting'
      where m.team_id = decide_requests.team and m.local_id = one.local_id and m.state = 'held' and one.outcome = 'approved';
      update mirror.conversation_reads c set state = 'waiting'
      where c.team_id = decide_requests.team and c.local_id = one.local_id and c.state = 'held' and one.outcome = 'approved';
      if decide_requests.revert and not one.is_sent then
        perform sync.withdraw_request(decide_requests.team, one.local_id, one.field);
      end if;
      perform set_config('musterd.writing', writing, true);
    end if;
    team_id := decide_requests.team;
    field := one.field;
    outcome := one.outcome;
    decision_id := decide_requests.number;
    return next;
  end loop;
end
$$;
comment on function sync.decide_requests(text,bigint,jsonb,text,text,boolean,bigint) is 'Approves or rejects requests as they were seen; without a number it only says what would become of that.';
revoke execute on function sync.decide_requests(text,bigint,jsonb,text,text,boolean,bigint) from public;

-- Like sync.undecide(), for requests.
create or replace function sync.undecide_requests(decision bigint, reason text, number bigint)
returns table (team_id bigint, user_id bigint, field text, outcome text, decision_id bigint)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
  return query
  with found as materialized (
    select c.team_id, c.local_id, f.field, c.batch, c.base, c.old, c.new, c.edits, case
        when c.outcome ->> f.field = 'withdrawn' then 'given back'
        when exists (
          select from sync.changes d
          where d.team_id = c.team_id and d.local_id = c.local_id and d.change_id > c.change_id and d.decision_id is not null
            and d.kind <> 'undo' and d.edits -> f.field = c.edits -> f.field
        ) then 'moved'
        when e.edit_id is null then case when c.kind = 'approve' and exists (
            select from sync.changes p where p.team_id = c.team_id and p.local_id = c.local_id and p.kind = 'push'
              and p.edits -> f.field = c.edits -> f.field and p.outcome ->> f.field = 'confirmed') then 'arrived' else 'moved' end
        when h.decision = 'spent' then 'on its way'
        when h.decision = case c.kind when 'reject' then 'rejected' else 'approved' end then 'undecided'
        else 'moved'
      end as outcome
    from sync.changes c
    cross join lateral jsonb_object_keys(c.new) as f (field)
    left join sync.edits e on e.team_id = c.team_id and e.local_id = c.local_id and e.ended_at is null and e.edit_id = (c.edits ->> f.field)::bigint
    left join sync.held_fields h on h.team_id = c.team_id and h.local_id = c.local_id and h.edit_id = e.edit_id
    where c.decision_id = undecide_requests.decision and c.kind <> 'undo' and c.local_id is not null
  ),
  freed as (
    update sync.held_fields h set batch = coalesce(h.batch, n.batch), decision = null, detail = 'the decision about it was taken back'
    from found n
    where undecide_requests.number is not null and n.outcome in ('undecided', 'on its way') and h.team_id = n.team_id and h.local_id = n.local_id
  ),
  recorded as (
    insert into sync.changes (team_id, local_id, kind, base, old, new, edits, closed_at, decided_by, decided_role, decided_why, batch, decision_id)
    select n.team_id, n.local_id, 'undo', n.base, n.old, n.new, n.edits, clock_timestamp(), sync.decider(), session_user,
      coalesce(undecide_requests.reason, ''), n.batch, undecide_requests.number
    from found n where undecide_requests.number is not null and n.outcome in ('undecided', 'on its way')
  )
  select n.team_id, null::bigint, n.field, n.outcome, undecide_requests.number from found n order by n.local_id;
end
$$;
comment on function sync.undecide_requests(bigint,text,bigint) is 'Takes decisions about requests back; without a number it only says what would become of that.';
revoke execute on function sync.undecide_requests(bigint,text,bigint) from public;

-- Carries out what a person found out about a message that was sent and not answered:
--
-- | it was …  | the edit that lasts | the message                                         |
-- |-----------|---------------------|-----------------------------------------------------|
-- | scheduled | is what was sent    | has its id, and is scheduled                        |
-- | scheduled | is another          | has its id, and waits to be replaced or cancelled   |
-- | not sent  | asks for a message  | is held: sending it again takes a new approval      |
-- | not sent  | is a cancel         | is cancelled                                        |
create or replace function sync.resolve_message(of_team bigint, key uuid, is_id bigint, reason text) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  one     mirror.scheduled_messages;
  sent    sync.changes;
  edit    sync.edits;
  wants   jsonb;
  now_is  text;
  words   constant text := 'a person found that it was not sent';
  writing constant text := coalesce(current_setting('musterd.writing', true), '');
begin
  perform sync.require_approver();
  select * into one from mirror.scheduled_messages m where m.team_id = of_team and m.local_id = key and sync.session_sees(of_team) for update;
  if not found then
    raise exception 'There is no message % of team %', key, of_team using errcode = 'no_data_found', hint = 'report.schedule has them.';
  end if;
  select * into sent from sync.changes c
  where c.team_id = of_team and c.local_id = key and c.kind = 'push' and c.state = 'open' for update;
  if one.state <> 'unknown' or sent.change_id is null then
    raise exception 'This message is %: there is nothing to resolve', case when one.state = 'unknown' then 'not being sent' else one.state end
      using errcode = 'object_not_in_prerequisite_state', hint = 'Only a message whose outcome is unknown is resolved.';
  end if;
  if exists (select from mirror.scheduled_messages m where m.team_id = of_team and m.id = is_id and m.local_id <> key) then
    raise exception 'Another message has the id %', is_id using errcode = 'check_violation', hint = 'report.schedule has the ids that are known.';
  end if;
  select * into edit from sync.edits e where e.team_id = of_team and e.local_id = key and e.ended_at is null for update;
  wants := sync.wanted('message', to_jsonb(one));

  perform set_config('musterd.writing', 'on', true);
  update sync.changes c set state = 'closed', closed_at = clock_timestamp(),
    outcome = jsonb_build_object('message', case when is_id is null then 'unsent' else 'confirmed' end)
  where c.change_id = sent.change_id;
  if is_id is not null then
    now_is := case when wants is distinct from sent.new -> 'message' then 'waiting' else 'scheduled' end;
    update mirror.scheduled_messages m set id = is_id, base = sent.new -> 'message', state = now_is, detail = null
    where m.team_id = of_team and m.local_id = key;
  else
    now_is := case when wants is null then 'cancelled' else 'held' end;
    update mirror.scheduled_messages m set state = now_is, detail = words where m.team_id = of_team and m.local_id = key;
  end if;
  if now_is in ('scheduled', 'cancelled') then
    update sync.edits e set ended_at = clock_timestamp(), ended_how = case now_is when 'scheduled' then 'agreed' else 'withdrawn' end
    where e.edit_id = edit.edit_id;
    delete from sync.held_fields h where h.team_id = of_team and h.local_id = key;
  elsif now_is = 'held' then
    insert into sync.held_fields as h (team_id, local_id, field, reason, base_value, mirror_value, detail, edit_id, batch)
    values (of_team, key, 'message', 'review', one.base, wants, words, edit.edit_id,
      substr(encode(sha256(convert_to(format('["resolved","%s",%s]', key, edit.edit_id), 'UTF8')), 'hex'), 1, 12))
    on conflict on constraint held_fields_key do update
      set reason = excluded.reason, base_value = excluded.base_value, mirror_value = excluded.mirror_value, detail = excluded.detail,
        edit_id = excluded.edit_id, batch = excluded.batch, decision = null, since = clock_timestamp();
  end if;
  insert into sync.changes (team_id, local_id, kind, base, old, new, edits, outcome, closed_at, decided_by, decided_role, decided_why, decision_id)
  values (of_team, key, 'resolve', jsonb_build_object('message', one.base), jsonb_build_object('message', one.base),
    jsonb_build_object('message', sent.new -> 'message'), sent.edits,
    jsonb_build_object('message', case when is_id is null then 'unsent' else 'confirmed' end),
    clock_timestamp(), sync.decider(), session_user, coalesce(reason, ''), sync.new_decision());
  perform set_config('musterd.writing', writing, true);
  update sync.due d set mark = null from sync.teams t where t.team_id = of_team and d.team = t.team and d.run_group = 'edits';
  perform pg_notify('musterd_edits', t.edit_key::text) from sync.teams t where t.team_id = of_team;
  return now_is;
end
$$;
comment on function sync.resolve_message(bigint,uuid,bigint,text) is 'Records that the service has a message of unknown outcome under this id or, without an id, that it was not sent. Returns the state that it has now: scheduled, waiting, held or cancelled.';
revoke execute on function sync.resolve_message(bigint,uuid,bigint,text) from public;

-- In a backup, messages may wait that have been sent since.
create or replace function sync.hold_messages(why text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  writing constant text := coalesce(current_setting('musterd.writing', true), '');
begin
  perform set_config('musterd.writing', 'on', true);
  with held as (
    insert into sync.held_fields as h (team_id, local_id, field, reason, base_value, mirror_value, detail, edit_id, batch)
    select r.team_id, r.local_id, r.field, 'review', r.base, r.wanted, why, e.edit_id,
      substr(encode(sha256(convert_to(format('["moved","%s",%s]', r.local_id, e.edit_id), 'UTF8')), 'hex'), 1, 12)
    from sync.requests r
    join sync.edits e on e.team_id = r.team_id and e.local_id = r.local_id and e.ended_at is null
    where r.field = 'message' and r.wanted is not null
    on conflict on constraint held_fields_key do update set reason = excluded.reason, detail = excluded.detail, batch = excluded.batch,
      decision = null, since = clock_timestamp()
    where h.decision in ('approved', 'spent')
    returning h.team_id, h.local_id
  )
  update mirror.scheduled_messages m set state = 'held', detail = why
  from held h where m.team_id = h.team_id and m.local_id = h.local_id and m.state = 'waiting';
  perform set_config('musterd.writing', writing, true);
end
$$;
comment on function sync.hold_messages(text) is 'Holds all messages that would be sent, whatever was decided before, until a person approves them again.';
revoke execute on function sync.hold_messages(text) from public;

create or replace trigger check_tag before insert or update or delete on mirror.tags
for each row when (not mirror.is_musterd()) execute function mirror.check_tag();
create or replace trigger note_request after insert or update on mirror.tags
for each row when (not mirror.is_musterd()) execute function mirror.note_request('tag');

create or replace trigger refuse_truncate before truncate on mirror.tags
for each statement when (not mirror.is_musterd()) execute function mirror.refuse_edit('Tags can be made, and neither renamed nor deleted.');

create or replace trigger check_message before insert or update on mirror.scheduled_messages
for each row when (not mirror.is_musterd()) execute function mirror.check_message();
create or replace trigger note_request after insert or update on mirror.scheduled_messages
for each row when (not mirror.is_musterd()) execute function mirror.note_request('message');
create or replace trigger cancel_messages after delete on mirror.scheduled_messages referencing old table as deleted
for each statement when (not mirror.is_musterd()) execute function mirror.cancel_messages();
create or replace trigger refuse_truncate before truncate on mirror.scheduled_messages
for each statement when (not mirror.is_musterd()) execute function mirror.refuse_edit('Delete the messages that are to be cancelled.');

create or replace trigger check_conversation_read before insert on mirror.conversation_reads
for each row when (not mirror.is_musterd()) execute function mirror.check_conversation_read();
create or replace trigger note_request after insert on mirror.conversation_reads
for each row when (not mirror.is_musterd()) execute function mirror.note_request('conversation_read');
create or replace trigger refuse_edit before update or delete on mirror.conversation_reads
for each statement when (not mirror.is_musterd()) execute function mirror.refuse_edit('Insert another row.');
create or replace trigger refuse_truncate before truncate on mirror.conversation_reads
for each statement when (not mirror.is_musterd()) execute function mirror.refuse_edit('They are removed once they are old (retention).');
