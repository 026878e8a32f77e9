-- The tables of the listings are found by four columns, which no other table has together: docs/adding-a-listing.md.
create or replace function mirror.listed_tables() returns setof text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select c.relname::text from pg_class c join pg_attribute a on a.attrelid = c.oid
  where c.relnamespace = 'mirror'::regnamespace and c.relkind = 'r' and a.attname in ('id', 'first_seen_at', 'gone_at', 'raw')
  group by c.relname having count(*) = 4 order by c.relname
$$;
comment on function mirror.listed_tables() is 'The tables whose rows follow a listing of the service, and are never edited.';

create or replace function mirror.listed_columns(listed text) returns setof text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select a.attname::text from pg_attribute a
  where a.attrelid = to_regclass(format('mirror.%I', listed)) and a.attnum > 0 and not a.attisdropped
    and a.attname not in ('team_id', 'id', 'op', 'rev', 'tid', 'uid', 'first_seen_at', 'gone_at', 'raw')
  order by a.attnum
$$;
comment on function mirror.listed_columns(text) is 'The columns that people read in the table of a listing. The first column names the row.';

-- Unlike musterd, this function cannot check the address in the settings. It checks if server or database have changed.
create or replace function sync.why_silent() returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select case when f #>> '{place,kind}' = 'copy' then 'this mirror is a copy'
    when f #>> '{place,database}' is distinct from f ->> 'database' or f #>> '{place,identifier}' <> f ->> 'identifier'
      then 'this mirror is recorded on another server or in another database' end
  from mirror.known_place() f where f #>> '{place,kind}' is not null
$$;
comment on function sync.why_silent() is 'Why musterd sends nothing from this database; NULL: it sends.';

create or replace function sync.require_approver(anybody boolean default false) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  if pg_trigger_depth() > 0 then
    raise exception 'A trigger cannot decide' using errcode = 'insufficient_privilege';
  end if;
  if not anybody and not coalesce(pg_has_role(session_user, to_regrole('musterd_approver')::oid, 'USAGE'), false)
     and not has_table_privilege(session_user, 'sync.held_fields', 'UPDATE') then
    raise exception '% may not decide about held fields', session_user
      using errcode = 'insufficient_privilege', hint = 'An administrator grants the role musterd_approver.';
  end if;
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'A decision needs a transaction that sees the pushes of other transactions'
      using errcode = 'active_sql_transaction', hint = 'Use isolation level read committed.';
  end if;
  if sync.why_silent() = 'this mirror is a copy' then
    raise exception 'Nothing can be decided in a copy: edits approved here would not be sent'
      using errcode = 'object_not_in_prerequisite_state', hint = 'To let it send: musterd adopt --reason …';
  end if;
  if sync.why_silent() is not null then
    raise exception 'This mirror is recorded at another place: nothing can be decided or sent here'
      using errcode = 'object_not_in_prerequisite_state',
        hint = 'If it has moved here: musterd adopt --reason …, and stop the other one. If it should be a copy: musterd adopt --as-copy --reason …';
  end if;
end
$$;
comment on function sync.require_approver(boolean) is 'Fails if the session''s role is neither a member of musterd_approver nor allowed to write the bookkeeping, unless the parameter anybody is true. Also fails in a trigger, in a copy, at another place than the recorded one, and if the transaction does not see what other transactions commit.';

-- Names the person or role that decides.
create or replace function sync.deciding_names() returns text[]
language sql stable set search_path = pg_catalog, pg_temp as $$
  select case
    when s.actor is null then array[session_user::text]
    when has_table_privilege(session_user, 'sync.held_fields', 'UPDATE') then array[s.actor]
    else array[session_user::text, s.actor]
  end
  from (select sync.actor() as actor) s
$$;
comment on function sync.deciding_names() is 'The names of who decides: the connected role, and the person whom it names in musterd.actor. Only the person, if the role may write the bookkeeping, as the role of musterd.';

create or replace function sync.decider() returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select concat(array_to_string(n, ' for '), ', said by ' || nullif(session_user, n[1])) from sync.deciding_names() n
$$;
comment on function sync.decider() is 'Who decides, in words. "role": it named no person. "role for person": it named the person. "person, said by role": it named the person, and may write the bookkeeping. See sync.deciding_names().';

-- As in sync.deciding_names(), the named person counts if the role may write the bookkeeping. A role that no longer exists
-- is named, too, because its rights are unknown.
create or replace function sync.named_editor(role text, person text) returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select case
    when nullif(btrim(person), '') is null then role
    when has_table_privilege(to_regrole(quote_ident(role))::oid, 'sync.held_fields', 'UPDATE') then btrim(person)
    else role || ' for ' || btrim(person)
  end
$$;
comment on function sync.named_editor(text,text) is 'Who edited, in words: the role that was connected, and the person whom it named in musterd.actor. Only the person, if the role may write the bookkeeping, as the role of musterd.';

-- Two spellings of a person's name are equal if they are equal in NFKC, without case, with single spaces, and without
-- invisible characters (Unicode's Default_Ignorable_Code_Point, and control characters). Case is folded by ICU, whatever
-- the database's locale is. The first lower() is needed for the capital sharp s, because upper() does not change it.
do $$
begin
  execute format($body$
    create or replace function sync.person(name text) returns text
    language sql immutable parallel safe set search_path = pg_catalog, pg_temp as $sql$
      select nullif(btrim(regexp_replace(
        normalize(lower(upper(lower(normalize(regexp_replace(person.name, '[\u0001-\u0008\u000E-\u001F\u007F-\u0084\u0086-\u009F\u00AD\u034F\u061C\u115F\u1160\u17B4\u17B5\u180B-\u180F\u200B-\u200F\u202A-\u202E\u2060-\u206F\u3164\uFE00-\uFE0F\uFEFF\uFFA0\uFFF0-\uFFF8\U0001BCA0-\U0001BCA3\U0001D173-\U0001D17A\U000E0000-\U000E0FFF]', '', 'g'), NFKC) %1$s) %1$s) %1$s), NFKC),
        '\s+', ' ', 'g')), '')
    $sql$ $body$,
    case when exists (select from pg_collation where collname = 'und-x-icu') then 'collate "und-x-icu"' else '' end);
end
$$;
comment on function sync.person(text) is 'The one form in which names of people are compared: NFKC, without case, with single spaces and without invisible characters. NULL: no name.';

-- True if an edit was made, or may have been made, by the person or role that decides now. If these can edit users, an edit
-- without an author counts as their own. If the role's name is not in the compared form, every edit counts as their own.
create or replace function sync.is_own(authors text[]) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  select case
    when session_user::text is distinct from sync.person(session_user::text) then true
    when '' = any (is_own.authors) and has_any_column_privilege(session_user, 'mirror.users', 'UPDATE') then true
    else is_own.authors && (select array_agg(sync.person(n.name)) from unnest(sync.deciding_names()) as n (name))
  end
$$;
comment on function sync.is_own(text[]) is 'True if the person or role that decides now is, or may be, one of these authors of an edit.';

create or replace function sync.new_decision() returns bigint
language sql security definer set search_path = pg_catalog, pg_temp as $$
  select nextval(pg_get_serial_sequence('sync.changes', 'change_id'))
$$;
comment on function sync.new_decision() is 'A new number for a decision. No change in the ledger has this number.';

-- Any role can set musterd.actor. 200 characters are enough to name a person.
create or replace function sync.actor() returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select nullif(btrim(left(btrim(current_setting('musterd.actor', true)), 200)), '')
$$;
comment on function sync.actor() is 'The person whom this transaction names as the one it acts for (musterd.actor), up to 200 characters. NULL: it names no person.';
