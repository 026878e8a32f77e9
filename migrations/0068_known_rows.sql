-- What was written since a run recorded who is at rest is told by the rows themselves: each has the transaction that wrote
-- it. The record has one hash for each row of the answer.

drop function sync.rest(bigint);
drop function sync.listing_rests(bigint);
drop function sync.versions(bigint);

delete from sync.learned where topic like '% at rest';
alter table sync.learned rename column rows to hashes;
comment on column sync.learned.hashes is 'Of "users at rest": the id of each user of the answer, and 8 bytes that stand for what it said of them.';

create function sync.mark() returns text
language sql stable set search_path = pg_catalog, pg_temp
as $$ select concat_ws(' ', sync.place(), pg_current_snapshot()) $$;
comment on function sync.mark() is 'Names the present state of this database: which transactions are over.';

create function sync.state_of(mark text) returns pg_snapshot
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select s.state from (select split_part(mark, ' ', 2)::pg_snapshot) s (state)
  where split_part(mark, ' ', 1) = sync.place()::text and age(pg_snapshot_xmin(s.state)::xid) >= 0
$$;
comment on function sync.state_of(text) is 'The state that a mark names; NULL: it is one of another database, or more than 2^31 transactions ago.';

create function sync.rest(of_team bigint, out mark text, out schema text, out since text, out written bigint[],
  out noted bigint[], out present int)
language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
declare
  planned bigint[];
  state pg_snapshot;
  oldest bigint;
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
    sync.state_of(l.value ->> 'mark')
  into since, planned, state
  from sync.teams t join sync.learned l on l.team = t.team and l.topic = 'users at rest' where t.team_id = of_team;
  if state is null then
    since := null;
    written := '{}';
    present := 0;
    return;
  end if;
  oldest := pg_snapshot_xmin(state)::text::bigint;
  reach := age(pg_snapshot_xmin(state)::xid);
  -- The numbers of transactions in the rows have 32 bits: a row that is older than 2^31 of them counts as written.
  select coalesce(array_agg(r.id) filter (where r.is_written), '{}'),
    count(*) filter (where r.is_present and not r.is_written and r.id <> all (planned))
  into written, present
  from (
    select coalesce(u.id, b.id) as id, u.id = b.id and u.gone_at is null as is_present,
      least(age(u.xmin), age(b.xmin)) <= reach and coalesce(not (
        pg_visible_in_snapshot(greatest(oldest + reach - age(u.xmin), 3)::text::xid8, state)
        and pg_visible_in_snapshot(greatest(oldest + reach - age(b.xmin), 3)::text::xid8, state)), false) as is_written
    from (select id, gone_at, xmin from mirror.users where team_id = of_team) u
    full join (select id, xmin from sync.user_base where team_id = of_team) b on b.id = u.id) r;
end
$$;
comment on function sync.rest(bigint) is 'The present mark, the users who are noted as not at rest, and of the time since the record of the users at rest: who was written in mirror or base, and how many others are present with a base, but for those that it leaves open.';

create function sync.listing_rests(of_team bigint, out resource text, out mark text, out schema text, out since text,
  out present int, out "isLacking" boolean) returns setof record
language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
declare
  state pg_snapshot;
  oldest bigint;
  reach int;
begin
  mark := sync.mark();
  schema := (select m.name from sync.migrations m order by m.name desc limit 1);
  for resource in select unnest(array['tags', 'contact_fields']) loop
    select l.value ->> 'mark', sync.state_of(l.value ->> 'mark') into since, state
    from sync.teams t join sync.learned l on l.team = t.team and l.topic = listing_rests.resource || ' at rest'
    where t.team_id = of_team;
    oldest := pg_snapshot_xmin(state)::text::bigint;
    reach := age(pg_snapshot_xmin(state)::xid);
    select case when not coalesce(bool_or(age(r.xmin) <= reach
        and not pg_visible_in_snapshot(greatest(oldest + reach - age(r.xmin), 3)::text::xid8, state)), false)
      then count(*) filter (where r.gone_at is null) end
    into present
    from (
      select xmin, gone_at from mirror.tags where team_id = of_team and listing_rests.resource = 'tags'
      union all
      select xmin, gone_at from mirror.contact_fields where team_id = of_team and listing_rests.resource = 'contact_fields') r;
    since := case when state is not null then since end;
    "isLacking" := exists (select from sync.absences a where a.team_id = of_team and a.resource = listing_rests.resource);
    return next;
  end loop;
end
$$;
comment on function sync.listing_rests(bigint) is 'The same of each listing of a team: how many rows are present if none was written since its record, and whether rows of it are missing.';
