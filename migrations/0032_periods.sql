-- The team as it was: a row for each user and for as long as what the roster shows of it stayed the same. Written where
-- mirror.users is written, by the same transaction, whoever writes it.

create table sync.user_periods (
  team_id    bigint not null,
  user_id    bigint not null,
  valid_from timestamptz not null,
  valid_to   timestamptz not null default 'infinity',
  present    boolean not null,
  name       text not null,
  first_name text not null,
  last_name  text not null,
  email      text,
  phone      text,
  role_id    bigint,
  role       text,
  resolved   boolean not null,
  created_at timestamptz,
  updated_at timestamptz,
  edited_at  timestamptz,
  edited_by  text,
  side       text check (side in ('mirror', 'service')),
  run_id     bigint,
  changed_by text,
  actor      text,
  role_moved boolean not null default false,
  primary key (team_id, user_id, valid_from),
  check (valid_from < valid_to)
);
create unique index user_periods_open on sync.user_periods (team_id, user_id) where valid_to = 'infinity';
comment on index sync.user_periods_open is 'What is so now: one period of each user.';
create index user_periods_as_of on sync.user_periods (team_id, valid_to, valid_from);
comment on index sync.user_periods_as_of is 'Who was there at a given time.';
create index user_periods_by_time on sync.user_periods (valid_from) where side is not null;
comment on index sync.user_periods_by_time is 'What changed lately. Only of changes, so that it is not taken for a time: it leads through all that was before.';
create index user_periods_role_moved on sync.user_periods (valid_from) where role_moved;
comment on index sync.user_periods_role_moved is 'Who got another role.';
create index user_periods_by_run on sync.user_periods (run_id) where run_id is not null;
comment on index sync.user_periods_by_run is 'Whether a run is still referred to.';
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
comment on column sync.user_periods.role is 'Name of the role.';
comment on column sync.user_periods.resolved is 'False: only the team listing knew this member.';
comment on column sync.user_periods.created_at is 'When the user joined the team.';
comment on column sync.user_periods.updated_at is 'Last change on the service, as it was known then.';
comment on column sync.user_periods.edited_at is 'Last edit in the mirror until then.';
comment on column sync.user_periods.edited_by is 'Who made that edit.';
comment on column sync.user_periods.side is 'Where the change came from with which it begins. mirror: an edit. service: musterd wrote what the service has. NULL: not known, it was so when the table was made.';
comment on column sync.user_periods.run_id is 'The run that wrote it.';
comment on column sync.user_periods.changed_by is 'Without a run: the role that was connected.';
comment on column sync.user_periods.actor is 'Without a run: for whom it was done, where the transaction says so (musterd.actor).';
comment on column sync.user_periods.role_moved is 'Whether the user had another role before.';
alter table sync.user_periods enable row level security;
create policy seen_teams on sync.user_periods
  using ((select mirror.sees_all_teams()) or team_id in (select mirror.seen_teams()));
comment on policy seen_teams on sync.user_periods is 'A role sees and writes the rows of its teams: see mirror.team_roles.';

-- Compares with the open period, which is a user's last one, rather than with the row that was there before, so that it
-- also records what came past the triggers. It is looked up by the primary key, which alone has them in this
-- order without a sort (before there are statistics other indexes look as good, and lead through the whole team), and
-- closed by its place: however many rows
-- the statement had for which the plan was made, that is one look a row. A period cannot begin before the one that it
-- ends, so where an edit was faster than the transaction of a run, this one begins right after it.
create function mirror.note_periods() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_sort = off set jit = off as $$
declare
  begins  timestamptz := now();
  is_edit constant boolean := tg_argv[0] = 'mirror';
  run     constant bigint := case when tg_argv[0] = 'service' then nullif(current_setting('musterd.run', true), '')::bigint end;
begin
  if is_edit then
    select greatest(max(t.edited_at), statement_timestamp()) into begins from touched t;
  end if;
  with moved as materialized (
    select t.team_id, t.id, tg_op <> 'DELETE' and t.gone_at is null as present, t.name, t.first_name, t.last_name, t.email, t.phone,
      t.role_id, t.role, t.resolved, t.created_at, t.updated_at, t.edited_at, t.edited_by, p.place, p.valid_from,
      p.present and (p.role_id is distinct from t.role_id or t.role_id is null and p.role is distinct from t.role) as role_moved
    from touched t
    left join lateral (
      select o.ctid as place, o.valid_from, o.present, o.name, o.first_name, o.last_name, o.email, o.phone, o.role_id, o.role,
        o.resolved, o.created_at, o.updated_at, o.edited_at, o.edited_by
      from sync.user_periods o
      where o.team_id = t.team_id and o.user_id = t.id order by o.valid_from desc limit 1
    ) p on true
    where case when tg_op <> 'DELETE' and t.gone_at is null
      then p.present is distinct from true or
        (p.name, p.first_name, p.last_name, p.email, p.phone, p.role_id, p.role, p.resolved, p.created_at, p.updated_at, p.edited_at, p.edited_by)
          is distinct from
        (t.name, t.first_name, t.last_name, t.email, t.phone, t.role_id, t.role, t.resolved, t.created_at, t.updated_at, t.edited_at, t.edited_by)
      else p.present end
  ),
  closed as (
    update sync.user_periods o set valid_to = greatest(begins, o.valid_from + interval '1 microsecond')
    where o.ctid = any (array(select m.place from moved m where m.place is not null))
    returning true
  )
  insert into sync.user_periods (team_id, user_id, valid_from, present, name, first_name, last_name, email, phone, role_id, role,
    resolved, created_at, updated_at, edited_at, edited_by, side, run_id, changed_by, actor, role_moved)
  select m.team_id, m.id, greatest(begins, m.valid_from + interval '1 microsecond'), m.present, m.name, m.first_name, m.last_name,
    m.email, m.phone, m.role_id, m.role, m.resolved, m.created_at, m.updated_at, m.edited_at, m.edited_by,
    tg_argv[0], run, case when run is null then session_user end,
    case when run is null then nullif(current_setting('musterd.actor', true), '') end, m.present and coalesce(m.role_moved, false)
  from moved m where (select count(*) from closed) >= 0; -- first the end of one, then the beginning of the next
  return null;
end
$$;
revoke execute on function mirror.note_periods() from public;
comment on function mirror.note_periods() is 'Ends and begins periods for what a statement wrote: see sync.user_periods.';

create trigger users_note_periods after update on mirror.users
referencing new table as touched
for each statement when (not mirror.is_musterd()) execute function mirror.note_periods('mirror');
comment on trigger users_note_periods on mirror.users is 'Keeps what the roster was, from the edit on.';
create trigger users_note_periods_of_run after update on mirror.users
referencing new table as touched
for each statement when (mirror.is_musterd()) execute function mirror.note_periods('service');
comment on trigger users_note_periods_of_run on mirror.users is 'Keeps what the roster was, from what musterd writes on.';
create trigger users_note_periods_of_new after insert on mirror.users
referencing new table as touched
for each statement execute function mirror.note_periods('service');
comment on trigger users_note_periods_of_new on mirror.users is 'Keeps since when a user is in the roster.';
create trigger users_note_periods_of_deleted after delete on mirror.users
referencing old table as touched
for each statement execute function mirror.note_periods('service');
comment on trigger users_note_periods_of_deleted on mirror.users is 'Keeps until when a user was in the roster.';

-- What is there. Since when, as far as somebody wrote it down: the last edit, and the last row of the ledger that moved
-- anything here.
insert into sync.user_periods (team_id, user_id, valid_from, present, name, first_name, last_name, email, phone, role_id, role,
  resolved, created_at, updated_at, edited_at, edited_by)
select u.team_id, u.id, least(now(), coalesce(greatest(u.edited_at, c.moved_at), now())), true, u.name, u.first_name, u.last_name,
  u.email, u.phone, u.role_id, u.role, u.resolved, u.created_at, u.updated_at, u.edited_at, u.edited_by
from mirror.users u
left join (
  select team_id, user_id, max(coalesce(closed_at, opened_at)) as moved_at
  from sync.changes where kind in ('adopt', 'pull', 'push', 'settle') group by team_id, user_id
) c on c.team_id = u.team_id and c.user_id = u.id
where u.gone_at is null;

create view report.roster_history with (security_invoker) as
select p.team_id, t.name as team, p.user_id, p.valid_from, p.valid_to, p.name, p.first_name, p.last_name, p.email, p.phone,
       p.role_id, p.role, p.resolved, p.created_at, p.updated_at, p.edited_at, p.edited_by
from sync.user_periods p
left join mirror.teams t on t.team_id = p.team_id
where p.present and ((select mirror.sees_all_teams()) or p.team_id in (select mirror.seen_teams()));
comment on view report.roster_history is 'The users of the team as they were: a row per user and period in which nothing of the row changed. It begins with the first run, or with the last change of the user before the history was recorded.';
comment on column report.roster_history.team_id is 'The team.';
comment on column report.roster_history.team is 'Name of the team today.';
comment on column report.roster_history.user_id is 'The service''s id of the user.';
comment on column report.roster_history.valid_from is 'Since when it was so.';
comment on column report.roster_history.valid_to is 'Until when it was so, itself no longer a part of it; infinity: it is so now.';
comment on column report.roster_history.name is 'The name as the service joined it.';
comment on column report.roster_history.first_name is 'First name.';
comment on column report.roster_history.last_name is 'Last name.';
comment on column report.roster_history.email is 'Email address.';
comment on column report.roster_history.phone is 'Phone number.';
comment on column report.roster_history.role_id is 'The service''s id of the role.';
comment on column report.roster_history.role is 'Name of the role.';
comment on column report.roster_history.resolved is 'False: only the team listing knew this member.';
comment on column report.roster_history.created_at is 'When the user joined the team.';
comment on column report.roster_history.updated_at is 'Last change on the service, as it was known then.';
comment on column report.roster_history.edited_at is 'Last edit in the mirror until then.';
comment on column report.roster_history.edited_by is 'Who made that edit.';

-- A body that is bound to its tables needs no path, and becomes a part of the statement that calls it. Team by team, since
-- the index begins with it: asked for a time alone, Postgres would read all periods that there ever were.
create function report.roster_as_of(at timestamptz)
returns table (team_id bigint, team text, user_id bigint, name text, first_name text, last_name text, email text, phone text,
  role_id bigint, role text, resolved boolean, created_at timestamptz, updated_at timestamptz, edited_at timestamptz, edited_by text)
language sql stable parallel safe
begin atomic
  select p.team_id, t.name, p.user_id, p.name, p.first_name, p.last_name, p.email, p.phone, p.role_id, p.role, p.resolved,
    p.created_at, p.updated_at, p.edited_at, p.edited_by
  from sync.user_periods p
  left join mirror.teams t on t.team_id = p.team_id
  where p.present and p.team_id = any (array(select s.team_id from mirror.teams s)) and p.valid_from <= at and p.valid_to > at
    and ((select mirror.sees_all_teams()) or p.team_id in (select mirror.seen_teams()));
end;
comment on function report.roster_as_of(timestamptz) is 'The users who were in the team at that time, as report.roster showed them then; the name of the team is today''s. Of times before the history was recorded it shows only users who have not changed since: see report.roster_history. A change counts from when it was made, also where its transaction was committed later: what is asked about a time at which a transaction was still open can be answered otherwise once it has ended.';
grant execute on function report.roster_as_of(timestamptz) to public;

create view report.roster_changes with (security_invoker) as
select p.team_id, p.user_id, p.name as user_name, p.valid_from as changed_at, f.field, f.old_value, f.new_value, p.side,
       coalesce(p.actor, p.changed_by) as edited_by, p.changed_by as connected_as, p.run_id
from sync.user_periods p
left join lateral (
  select o.present, o.name, o.first_name, o.last_name, o.email, o.phone, o.role_id, o.role, o.resolved from sync.user_periods o
  where o.team_id = p.team_id and o.user_id = p.user_id and o.valid_from < p.valid_from order by o.valid_from desc limit 1
) o on true
cross join lateral (values
  ('present', coalesce(o.present, false)::text, p.present::text, true),
  ('name', o.name, p.name, o.present and p.present),
  ('first_name', o.first_name, p.first_name, o.present and p.present),
  ('last_name', o.last_name, p.last_name, o.present and p.present),
  ('email', o.email, p.email, o.present and p.present),
  ('phone', o.phone, p.phone, o.present and p.present),
  ('role_id', o.role_id::text, p.role_id::text, o.present and p.present),
  ('role', o.role, p.role, o.present and p.present),
  ('resolved', o.resolved::text, p.resolved::text, o.present and p.present)
) as f (field, old_value, new_value, counts)
where p.side is not null and f.counts and f.old_value is distinct from f.new_value
  and ((select mirror.sees_all_teams()) or p.team_id in (select mirror.seen_teams()));
comment on view report.roster_changes is 'Who changed what in the roster, a row per field and change. One who came or went has one row, of the field present.';
comment on column report.roster_changes.team_id is 'The team.';
comment on column report.roster_changes.user_id is 'The service''s id of the user.';
comment on column report.roster_changes.user_name is 'The name as the service joined it then.';
comment on column report.roster_changes.changed_at is 'Since when the new value was in the mirror.';
comment on column report.roster_changes.field is 'The column of report.roster, or present: whether the user was in the team.';
comment on column report.roster_changes.old_value is 'The value before, as text; NULL: none.';
comment on column report.roster_changes.new_value is 'The value from then on, as text; NULL: none.';
comment on column report.roster_changes.side is 'From which side it came. mirror: somebody edited it here. service: it was changed there, and musterd brought it.';
comment on column report.roster_changes.edited_by is 'Who changed it here: the actor where one was named (musterd.actor), else the role that was connected; NULL: a run did.';
comment on column report.roster_changes.connected_as is 'The database role that was connected; NULL: a run did.';
comment on column report.roster_changes.run_id is 'The run that brought it.';

create view report.role_changes with (security_invoker) as
select p.team_id, p.user_id, p.name as user_name, p.valid_from as changed_at, o.role_id as old_role_id, o.role as old_role,
       p.role_id as new_role_id, p.role as new_role, p.side, coalesce(p.actor, p.changed_by) as edited_by,
       p.changed_by as connected_as, p.run_id
from sync.user_periods p
cross join lateral (
  select o.role_id, o.role from sync.user_periods o
  where o.team_id = p.team_id and o.user_id = p.user_id and o.valid_from < p.valid_from order by o.valid_from desc limit 1
) o
where p.role_moved and ((select mirror.sees_all_teams()) or p.team_id in (select mirror.seen_teams()));
comment on view report.role_changes is 'Who got another role, a row per user and change.';
comment on column report.role_changes.team_id is 'The team.';
comment on column report.role_changes.user_id is 'The service''s id of the user.';
comment on column report.role_changes.user_name is 'The name as the service joined it then.';
comment on column report.role_changes.changed_at is 'Since when the new role was in the mirror.';
comment on column report.role_changes.old_role_id is 'The service''s id of the role before.';
comment on column report.role_changes.old_role is 'Name of the role before.';
comment on column report.role_changes.new_role_id is 'The service''s id of the role from then on.';
comment on column report.role_changes.new_role is 'Its name, as the mirror had it then: after an edit here it is the old one until the service has taken the edit.';
comment on column report.role_changes.side is 'From which side it came. mirror: somebody edited it here. service: it was changed there, and musterd brought it.';
comment on column report.role_changes.edited_by is 'Who changed it here: the actor where one was named (musterd.actor), else the role that was connected; NULL: a run did.';
comment on column report.role_changes.connected_as is 'The database role that was connected; NULL: a run did.';
comment on column report.role_changes.run_id is 'The run that brought it.';

-- Whoever may read the roster may read what it was. All columns of a period are read by these views.
do $$
declare
  reader text;
begin
  for reader in
    select case a.grantee when 0 then 'public' else a.grantee::regrole::text end
    from pg_class v cross join lateral aclexplode(v.relacl) a
    where v.oid = 'report.roster'::regclass and a.privilege_type = 'SELECT' and a.grantee <> v.relowner
  loop
    execute format('grant select on report.roster_history, report.roster_changes, report.role_changes to %s', reader);
    execute format('grant select (%s) on sync.user_periods to %s', (
      select string_agg(quote_ident(a.attname), ', ') from pg_attribute a
      where a.attrelid = 'sync.user_periods'::regclass and a.attnum > 0), reader);
  end loop;
end
$$;
