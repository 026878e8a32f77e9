-- Each edit of a user is kept: what was there, what is there now, when and by whom. It is a record. A daemon finds by
-- it which users to look at, and nothing else is decided by it: what is an edit is what differs from the base.

create table sync.user_edits (
  edit_id        bigint generated always as identity,
  xid            xid8 not null,
  team_id        bigint not null,
  user_id        bigint not null,
  edited_at      timestamptz not null,
  edited_by      text not null,
  application    text,
  actor          text,
  old_first_name text,
  new_first_name text,
  old_last_name  text,
  new_last_name  text,
  old_name_split text,
  new_name_split text,
  old_email      text,
  new_email      text,
  old_phone      text,
  new_phone      text,
  old_role_id    bigint,
  new_role_id    bigint,
  -- One index and no more: each of them is paid for by whoever edits ten thousand users in one statement.
  primary key (team_id, xid, edit_id)
);
comment on table sync.user_edits is 'Edits of mirror.users by people, a row per user and statement; sync.edits has a row per field. What stayed as it was is NULL in old and new; the halves of a name are kept together.';
comment on column sync.user_edits.edit_id is 'Number of the edit.';
comment on column sync.user_edits.xid is 'The transaction of the edit: whether a snapshot saw it is known by this, and not by a time.';
comment on column sync.user_edits.team_id is 'The team.';
comment on column sync.user_edits.user_id is 'The service''s id of the user.';
comment on column sync.user_edits.edited_at is 'When the statement edited the user.';
comment on column sync.user_edits.edited_by is 'The role that was connected.';
comment on column sync.user_edits.application is 'What the connection called itself (application_name).';
comment on column sync.user_edits.actor is 'For whom it was done, where the transaction says so: set_config(''musterd.actor'', …, true).';
comment on column sync.user_edits.old_first_name is 'First name before.';
comment on column sync.user_edits.new_first_name is 'First name after.';
comment on column sync.user_edits.old_last_name is 'Last name before.';
comment on column sync.user_edits.new_last_name is 'Last name after.';
comment on column sync.user_edits.old_name_split is 'Before: whether the name was cut in two by a guess.';
comment on column sync.user_edits.new_name_split is 'After: whether the name is cut in two by a guess.';
comment on column sync.user_edits.old_email is 'Email address before.';
comment on column sync.user_edits.new_email is 'Email address after.';
comment on column sync.user_edits.old_phone is 'Phone number before.';
comment on column sync.user_edits.new_phone is 'Phone number after.';
comment on column sync.user_edits.old_role_id is 'Role before.';
comment on column sync.user_edits.new_role_id is 'Role after.';
alter table sync.user_edits enable row level security;
create policy seen_teams on sync.user_edits
  using ((select mirror.sees_all_teams()) or team_id in (select mirror.seen_teams()));
comment on policy seen_teams on sync.user_edits is 'A role sees and writes the rows of its teams: see mirror.team_roles.';

create view sync.edits with (security_invoker) as
select e.edit_id, e.team_id, e.user_id, f.field, f.old_value, f.new_value, e.edited_at, e.edited_by, e.application, e.actor, e.xid
from sync.user_edits e
cross join lateral (values
  ('name', jsonb_build_object('first', e.old_first_name, 'last', e.old_last_name), jsonb_build_object('first', e.new_first_name, 'last', e.new_last_name)),
  ('name_split', to_jsonb(e.old_name_split), to_jsonb(e.new_name_split)),
  ('email', to_jsonb(e.old_email), to_jsonb(e.new_email)),
  ('phone', to_jsonb(e.old_phone), to_jsonb(e.new_phone)),
  ('role_id', to_jsonb(e.old_role_id), to_jsonb(e.new_role_id))
) as f (field, old_value, new_value)
where f.old_value is distinct from f.new_value;
comment on view sync.edits is 'Edits of mirror.users by people, a row per field, with the rights of whoever reads it.';
comment on column sync.edits.edit_id is 'Number of the edit: the fields of a user that one statement edited have the same.';
comment on column sync.edits.team_id is 'The team.';
comment on column sync.edits.user_id is 'The service''s id of the user.';
comment on column sync.edits.field is 'name is the pair of first and last name; name_split says whether they were cut by a guess; email, phone, role_id.';
comment on column sync.edits.old_value is 'The value before; NULL: none.';
comment on column sync.edits.new_value is 'The value after; NULL: none.';
comment on column sync.edits.edited_at is 'When the statement edited the user.';
comment on column sync.edits.edited_by is 'The role that was connected.';
comment on column sync.edits.application is 'What the connection called itself (application_name).';
comment on column sync.edits.actor is 'For whom it was done, where the transaction says so: set_config(''musterd.actor'', …, true).';
comment on column sync.edits.xid is 'The transaction of the edit.';

-- The plan of the join is kept for the session, made when the first statement of it edited one row: a nested loop over
-- two tables without an index would take seconds for 10,000 rows. Runs as its owner, since editors may write nothing
-- of sync; who edits is asked of the session, and whether it is musterd in the trigger's condition.
create function mirror.note_edits() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_nestloop = off as $$
begin
  insert into sync.user_edits (xid, team_id, user_id, edited_at, edited_by, application, actor,
    old_first_name, new_first_name, old_last_name, new_last_name, old_name_split, new_name_split,
    old_email, new_email, old_phone, new_phone, old_role_id, new_role_id)
  select pg_current_xact_id(), n.team_id, n.id, clock_timestamp(), session_user,
    nullif(current_setting('application_name'), ''), nullif(current_setting('musterd.actor', true), ''),
    case when c.name then o.first_name end, case when c.name then n.first_name end,
    case when c.name then o.last_name end, case when c.name then n.last_name end,
    case when c.split then o.name_split end, case when c.split then n.name_split end,
    nullif(o.email, n.email), nullif(n.email, o.email), nullif(o.phone, n.phone), nullif(n.phone, o.phone),
    nullif(o.role_id, n.role_id), nullif(n.role_id, o.role_id)
  from edited n
  join unedited o on o.team_id = n.team_id and o.id = n.id
  cross join lateral (
    select (n.first_name, n.last_name) is distinct from (o.first_name, o.last_name),
      n.name_split is distinct from o.name_split
  ) as c (name, split)
  where c.name or c.split or (n.email, n.phone, n.role_id) is distinct from (o.email, o.phone, o.role_id);
  return null;
end
$$;
revoke execute on function mirror.note_edits() from public;
comment on function mirror.note_edits() is 'Keeps what a statement edited: see sync.user_edits.';

create trigger users_note_edits after update on mirror.users
referencing old table as unedited new table as edited
for each statement when (not mirror.is_musterd()) execute function mirror.note_edits();
comment on trigger users_note_edits on mirror.users is 'Keeps each edit.';

-- What a push sets out with is everything that its snapshot saw. An edit of a transaction that commits later is not in
-- it, whenever it began.
update sync.due set mark = null where mark is not null;
alter table sync.due alter column mark type pg_snapshot using null;
comment on column sync.due.mark is 'Of edits: what was committed when the last push set out. NULL: all edits are looked at, whenever they were made.';
