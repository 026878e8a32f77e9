-- What people write has a bound where it is stored, and the right to remove lookups is none to lock the table.

-- Everybody may say for whom something is done. Nobody needs more than that to be known.
create function sync.actor() returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select nullif(btrim(left(btrim(current_setting('musterd.actor', true)), 200)), '')
$$;
comment on function sync.actor() is 'For whom this transaction says that it is done (musterd.actor), up to 200 characters. NULL: it does not say.';
grant execute on function sync.actor() to public;

-- In the functions that asked for themselves. An edit has 32 authors by name at most: of more, the last ones stay, and that
-- there were others.
do $$
declare
  one text;
begin
  for one in
    select pg_get_functiondef(p.oid) from pg_proc p
    where p.pronamespace in ('mirror'::regnamespace, 'sync'::regnamespace, 'report'::regnamespace)
      and p.prosrc like '%current_setting(''musterd.actor''%' and p.oid <> 'sync.actor()'::regprocedure
  loop
    one := replace(one, $was$nullif(btrim(current_setting('musterd.actor', true)), '')$was$, 'sync.actor()');
    one := replace(one, $was$nullif(current_setting('musterd.actor', true), '')$was$, 'sync.actor()');
    execute replace(one, 'when j.authors @> names then j.authors', $is$when cardinality(j.authors) >= 32 then
          (names || ''::text || array(select a.name from unnest(j.authors) a (name) where a.name <> '' and a.name <> all (names)))[1:32]
        when j.authors @> names then j.authors$is$);
  end loop;
end
$$;

-- What is longer is cut; who had a longer name is not known any more; what is no address is dropped.
update sync.edits e set actor = left(e.actor, 200),
  authors = array(select distinct case when char_length(a.name) > 200 then '' else a.name end from unnest(e.authors) a (name))
where char_length(e.actor) > 200 or exists (select from unnest(e.authors) a (name) where char_length(a.name) > 200);
update sync.edits e set authors = e.authors[1:31] || ''::text where cardinality(e.authors) > 32;
update sync.user_periods p set actor = left(p.actor, 300) where char_length(p.actor) > 300;
update sync.changes c set decided_by = left(c.decided_by, 300), decided_why = left(c.decided_why, 1000)
where char_length(c.decided_by) > 300 or char_length(c.decided_why) > 1000;
update sync.held_fields h set decided_by = left(h.decided_by, 300), decided_why = left(h.decided_why, 1000)
where char_length(h.decided_by) > 300 or char_length(h.decided_why) > 1000;
update sync.absences a set decided_by = left(a.decided_by, 300), decided_why = left(a.decided_why, 1000)
where char_length(a.decided_by) > 300 or char_length(a.decided_why) > 1000;
delete from mirror.user_lookups l where char_length(l.email) > 320 or char_length(l.phone) > 40;

alter table sync.edits
  add constraint actor_has_at_most_200_characters check (char_length(actor) <= 200),
  add constraint application_has_at_most_200_characters check (char_length(application) <= 200),
  add constraint at_most_40_authors check (cardinality(authors) <= 40);
alter table sync.user_periods add constraint actor_has_at_most_300_characters check (char_length(actor) <= 300);
alter table sync.changes
  add constraint decider_has_at_most_300_characters check (char_length(decided_by) <= 300),
  add constraint reason_has_at_most_1000_characters check (char_length(decided_why) <= 1000);
alter table sync.held_fields
  add constraint decider_has_at_most_300_characters check (char_length(decided_by) <= 300),
  add constraint reason_has_at_most_1000_characters check (char_length(decided_why) <= 1000);
alter table sync.absences
  add constraint decider_has_at_most_300_characters check (char_length(decided_by) <= 300),
  add constraint reason_has_at_most_1000_characters check (char_length(decided_why) <= 1000);
alter table mirror.user_lookups
  add constraint email_has_at_most_320_characters check (char_length(email) <= 320),
  add constraint phone_has_at_most_40_characters check (char_length(phone) <= 40);

-- Whoever may delete from a table, or update, truncate or maintain it whole, may also lock it: for everybody, and for as long
-- as they like.
create function mirror.forget_lookups(team bigint, addresses text[]) returns bigint
language sql security definer set search_path = pg_catalog, pg_temp as $$
  with forgotten as (
    delete from mirror.user_lookups l
    where l.team_id = forget_lookups.team and sync.session_sees(l.team_id)
      and (l.email = any (forget_lookups.addresses) or l.phone = any (forget_lookups.addresses))
    returning true
  )
  select count(*) from forgotten
$$;
comment on function mirror.forget_lookups(bigint, text[]) is 'Removes these email addresses and phone numbers of a team from mirror.user_lookups, and says how many rows that were.';
comment on table mirror.user_lookups is 'Addresses to look users up by, for services that list nobody without a filter. Insert rows freely; a repeated address does no harm. mirror.forget_lookups() removes them.';
revoke execute on function mirror.forget_lookups(bigint, text[]) from public;
do $$
declare
  one record;
begin
  for one in
    select g.name, string_agg(a.privilege_type, ', ') as rights, bool_or(a.privilege_type = 'DELETE') as deletes
    from pg_class c
    cross join lateral aclexplode(c.relacl) a
    cross join lateral (select case a.grantee when 0 then 'public' else a.grantee::regrole::text end) g (name)
    where c.oid = 'mirror.user_lookups'::regclass and a.grantee <> c.relowner and a.privilege_type not in ('SELECT', 'INSERT')
      and (a.grantee = 0 or not has_table_privilege(a.grantee, 'sync.held_fields', 'UPDATE'))
    group by g.name
  loop
    execute format('revoke %s on mirror.user_lookups from %s cascade', one.rights, one.name);
    if one.deletes then
      execute format('grant execute on function mirror.forget_lookups(bigint, text[]) to %s', one.name);
    end if;
  end loop;
end
$$;

comment on table sync.migration_lock is 'Belongs to the migrator, which wants it; what is locked is sync.migrations.';
