create or replace function sync.mark() returns text
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select concat_ws(' ', sync.place(), least(pg_snapshot_xmax(s.now), (
    select x.xid from pg_snapshot_xip(s.now) x (xid)
    where not exists (
      select from pg_locks l
      join pg_stat_activity a on a.pid = l.pid
      join pg_database d on d.datname = current_database() and d.oid <> a.datid
      where l.locktype = 'transactionid' and l.transactionid = x.xid::xid and l.mode = 'ExclusiveLock' and l.granted)
    order by x.xid limit 1)))
  from (select pg_current_snapshot()) s (now)
$$;
comment on function sync.mark() is 'Names the present state: whatever it does not show was, or will be, written by the transaction of this number or by a later one. It is the oldest open transaction, leaving out those in other databases.';

create or replace function sync.reach(mark text) returns int
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select m.reach from (select age(split_part(mark, ' ', 2)::xid8::xid)) m (reach)
  where split_part(mark, ' ', 1) = sync.place()::text and m.reach >= 0
$$;
comment on function sync.reach(text) is 'The greatest age that the xmin of a row can have that was written since this mark; NULL: the mark is of another database, or more than 2^31 transactions ago.';

create or replace function sync.rest(of_team bigint, out mark text, out schema text, out since text, out written bigint[],
  out noted bigint[], out present int)
language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
declare
  planned bigint[];
  reach int;
begin
  mark := sync.mark();
  schema := (select m.name from sync.migrations m order by m.name desc limit 1);
  noted := array(
    select a.id from sync.absences a where a.team_id = of_team and a.resource = 'users'
    union select c.user_id from sync.changes c where c.team_id = of_team and c.state = 'open'
    union select h.user_id from sync.held_fields h where h.team_id = of_team
    union select s.id from sync.stale_rows s where s.team_id = of_team);
  select l.value ->> 'mark', array(select p::bigint from jsonb_array_elements_text(l.value -> 'planned') p),
    sync.reach(l.value ->> 'mark')
  into since, planned, reach
  from sync.teams t join sync.learned l on l.team = t.team and l.topic = 'users at rest' where t.team_id = of_team;
  if reach is null then
    since := null;
    written := '{}';
    present := 0;
    return;
  end if;
  -- The numbers of transactions in rows have 32 bits: a row that is older than 2^31 of them counts as written.
  select coalesce(array_agg(r.id) filter (where r.is_written), '{}'),
    count(*) filter (where r.is_present and not r.is_written and r.id <> all (planned))
  into written, present
  from (
    select coalesce(u.id, b.id) as id, u.id = b.id and u.gone_at is null as is_present,
      least(age(u.xmin), age(b.xmin)) <= reach as is_written
    from (select id, gone_at, xmin from mirror.users where team_id = of_team) u
    full join (select id, xmin from sync.user_base where team_id = of_team) b on b.id = u.id) r;
end
$$;
comment on function sync.rest(bigint) is 'The present mark, the users who are noted as not at rest and, since the record of the users at rest, who was written in mirror or base, and how many others are present with a base, without those that the record leaves open.';

create or replace function sync.listing_rests(of_team bigint, out resource text, out mark text, out schema text, out since text,
  out present int, out "isLacking" boolean) returns setof record
language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
declare
  reach int;
begin
  mark := sync.mark();
  schema := (select m.name from sync.migrations m order by m.name desc limit 1);
  for resource in select t from mirror.listed_tables() t loop
    select l.value ->> 'mark', sync.reach(l.value ->> 'mark') into since, reach
    from sync.teams t join sync.learned l on l.team = t.team and l.topic = listing_rests.resource || ' at rest'
    where t.team_id = of_team;
    since := case when reach is not null then since end;
    execute format('
      select case when not coalesce(bool_or(age(r.xmin) <= $1), false) then count(*) filter (where r.gone_at is null) end
      from mirror.%I r where r.team_id = $2', resource) into present using reach, of_team;
    "isLacking" := exists (select from sync.absences a where a.team_id = of_team and a.resource = listing_rests.resource);
    return next;
  end loop;
end
$$;
comment on function sync.listing_rests(bigint) is 'The same for each listing of a team: how many rows are present if none was written since its record, and whether rows of it are missing.';
