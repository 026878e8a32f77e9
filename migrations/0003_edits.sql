-- Edits of mirror.users: refuse in words what could never reach the service, stamp what can.
-- musterd's own transactions say so with set_config('musterd.writing', 'on', true).

-- A statement that names both halves of a name has set both, even if one of them is as it was. A trigger
-- sees values only, so these two note which halves the statement names; triggers fire in the order of
-- their names, and check_user_edit, which fires after them, takes the note and clears it.
create function mirror.note_half() returns trigger
language plpgsql as $$
begin
  perform set_config('musterd.halves', concat(current_setting('musterd.halves', true), tg_argv[0]), true);
  return new;
end
$$;
comment on function mirror.note_half() is 'Notes which halves of the name a statement sets.';

create function mirror.check_user_edit() returns trigger
language plpgsql as $$
declare
  words  integer;
  halves boolean := current_setting('musterd.halves', true) like '%first%last%';
begin
  perform set_config('musterd.halves', '', true);
  if current_setting('musterd.writing', true) = 'on' then
    return new;
  end if;

  if (new.team_id, new.id, new.name, new.role, new.created_at, new.updated_at, new.user_created_at,
      new.user_updated_at, new.resolved, new.gone_at, new.raw)
     is distinct from
     (old.team_id, old.id, old.name, old.role, old.created_at, old.updated_at, old.user_created_at,
      old.user_updated_at, old.resolved, old.gone_at, old.raw) then
    raise exception 'Only first_name, last_name, name_split, email, phone and role_id of mirror.users can be edited'
      using errcode = 'check_violation',
            hint = 'The service gives no way to change the other columns. To change a name, set first_name and last_name.';
  end if;

  new.first_name := coalesce(new.first_name, '');
  new.last_name := coalesce(new.last_name, '');
  if halves and (new.first_name, new.last_name) is distinct from (old.first_name, old.last_name) then
    new.name_split := 'known';
  end if;
  if (new.first_name, new.last_name) is distinct from (old.first_name, old.last_name) then
    if btrim(new.first_name || new.last_name) = '' then
      raise exception 'User % needs a first name or a last name', new.id
        using errcode = 'check_violation', hint = 'The service does not take an empty name.';
    end if;
    words := array_length(regexp_split_to_array(btrim(old.name), '\s+'), 1);
    if new.name_split = 'guessed' and words > 2 then
      raise warning 'Which words of "%" are the first name is a guess, so this edit of one half waits', old.name
        using hint = 'Set first_name and last_name together, or set name_split = ''known''.';
    end if;
  end if;

  if new.email is distinct from old.email and btrim(coalesce(new.email, '')) = '' then
    raise exception 'The email of user % can not be emptied', new.id
      using errcode = 'check_violation', hint = 'The service gives no way to remove an email address; set another one.';
  end if;
  if new.email is distinct from old.email and new.email !~ '^\S+@\S+$' then
    raise exception '"%" is not an email address', new.email using errcode = 'check_violation';
  end if;

  if new.phone is distinct from old.phone then
    new.phone := nullif(btrim(new.phone), '');
  end if;
  if new.phone is distinct from old.phone and new.phone !~ '^\+?[1-9][0-9]{1,14}$' then
    raise exception '"%" is not a phone number in E.164 form', new.phone
      using errcode = 'check_violation', hint = 'Write the country code and the number as digits alone, such as 15550100.';
  end if;

  if new.role_id is null and old.role_id is not null then
    raise exception 'The role of user % can not be emptied', new.id
      using errcode = 'check_violation', hint = 'Set another role_id.';
  end if;

  if (new.first_name, new.last_name, new.name_split, new.email, new.phone, new.role_id)
     is distinct from (old.first_name, old.last_name, old.name_split, old.email, old.phone, old.role_id) then
    new.edited_at := clock_timestamp();
    new.edited_by := session_user;
  else
    new.edited_at := old.edited_at;
    new.edited_by := old.edited_by;
  end if;
  return new;
end
$$;
comment on function mirror.check_user_edit() is 'Refuses edits of a user that could never reach the service, and stamps the others.';

create trigger check_user_edit before update on mirror.users
  for each row execute function mirror.check_user_edit();
comment on trigger check_user_edit on mirror.users is 'Refuses edits that could never reach the service.';

create trigger a_first_half before update of first_name on mirror.users
  for each row execute function mirror.note_half('first');
create trigger b_last_half before update of last_name on mirror.users
  for each row execute function mirror.note_half('last');
comment on trigger a_first_half on mirror.users is 'Notes that a statement sets the first name.';
comment on trigger b_last_half on mirror.users is 'Notes that a statement sets the last name.';

create function mirror.refuse_edit() returns trigger
language plpgsql as $$
begin
  if current_setting('musterd.writing', true) = 'on' then
    return coalesce(new, old);
  end if;
  raise exception '% on %.% is not possible: the service gives no way to do the same', tg_op, tg_table_schema, tg_table_name
    using errcode = 'feature_not_supported', hint = tg_argv[0];
end
$$;
comment on function mirror.refuse_edit() is 'Refuses statements that have no counterpart on the service.';

create trigger refuse_insert_or_delete before insert or delete on mirror.users
  for each row execute function mirror.refuse_edit('Users are created and removed in the service''s web app; the next run brings them here.');
create trigger refuse_truncate before truncate on mirror.users
  for each statement execute function mirror.refuse_edit('Users are created and removed in the service''s web app.');
create trigger refuse_edit before insert or update or delete on mirror.tags
  for each row execute function mirror.refuse_edit('Tags are read-only here.');
create trigger refuse_truncate before truncate on mirror.tags
  for each statement execute function mirror.refuse_edit('Tags are read-only here.');
create trigger refuse_edit before insert or update or delete on mirror.contact_fields
  for each row execute function mirror.refuse_edit('Contact fields are read-only here.');
create trigger refuse_truncate before truncate on mirror.contact_fields
  for each statement execute function mirror.refuse_edit('Contact fields are read-only here.');
create trigger refuse_edit before insert or update or delete on mirror.teams
  for each row execute function mirror.refuse_edit('Teams are read-only here.');
create trigger refuse_truncate before truncate on mirror.teams
  for each statement execute function mirror.refuse_edit('Teams are read-only here.');
create trigger refuse_edit before insert or update or delete on mirror.contact_counts
  for each row execute function mirror.refuse_edit('Contact counts are read-only here.');
create trigger refuse_truncate before truncate on mirror.contact_counts
  for each statement execute function mirror.refuse_edit('Contact counts are read-only here.');
