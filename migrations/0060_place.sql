-- A mirror knows where it is at home, so that a copy of it sends nothing.

comment on table sync.learned is 'What was learned of a team''s deployment, from run to run, and where this mirror is at home.';
comment on column sync.learned.team is 'Name of the team in the configuration; empty: it is about the whole database.';
comment on column sync.learned.topic is '"credential" and the first 16 hex digits of the SHA-256 of a Secret ID or an API key. "listing" and tags or contact_fields: how its pages are read. "notice" and failing, stale, credentials-refused, batch-waits, fields-held or elsewhere: what people were told of that, by notify.url. "place", of no team: where this mirror is at home, or that it is a copy. "prune": whose turn it is to remove what is old, and whether it is done for the day. "rate": the pace that the service stands. "scope" and users, tags or contact_fields: what the settings asked for when a complete pass last left nothing in doubt; when that changes, a row that is no longer shown may be there all the same. Anything else: what "musterd check" or a run found out about a point that the interface leaves open.';
comment on column sync.learned.value is 'What it is known to be; of a credential: true; of a scope: the first 12 hex digits of the SHA-256 of the service''s address and the filter; of a notice: whether it says that the event stands, its id, and how often it was sent (times in ms since 1970); of the place: home or copy, the identifier of the server, the oid of the database, the addresses by which it is reached, who said so, when and why.';

-- Where a mirror is concerns nobody of the team in particular.
alter table sync.changes drop constraint changes_kind_check;
alter table sync.changes add constraint changes_kind_check check (kind in ('adopt', 'return', 'pull', 'push', 'settle', 'hold',
  'tombstone', 'forget', 'approve', 'reject', 'resolve', 'place'));
alter table sync.changes alter column user_id drop not null;
alter table sync.changes add constraint changes_user_check check (user_id is not null or kind = 'place');
comment on column sync.changes.user_id is 'The user whose fields moved; NULL: it is about the mirror itself.';
comment on column sync.changes.kind is 'adopt: first sight. return: shown again after having been gone. pull: service to mirror. push: mirror to service. settle: both had moved to the same place. hold: a field now waits. tombstone: proven gone. forget: the bookkeeping of a row that is nowhere. approve, reject, resolve: a person decided about a held field; old is the service''s value then, new the mirror''s. approve without a field: a person agreed that the user has left. place: a person said where this mirror is at home, or that it is a copy.';
comment on column report.changes.user_id is 'The user; empty where it is about the mirror itself.';

-- Page and status ask this as well, with the rights of whoever reads.
create function mirror.known_place() returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  known  jsonb := (select l.value from sync.learned l where l.team = '' and l.topic = 'place');
  server text;
begin
  -- Whoever may not ask for the server does without.
  if has_function_privilege('pg_catalog.pg_control_system()', 'execute') then
    select c.system_identifier::text into server from pg_control_system() c;
  end if;
  return jsonb_build_object(
    'place', known,
    'identifier', server,
    'database', (select d.oid::text from pg_database d where d.datname = current_database()),
    'until', coalesce(known -> 'left', to_jsonb((
      select r.finished_at from sync.runs r where r.finished_at is not null order by r.run_id desc limit 1))));
end
$$;
comment on function mirror.known_place() is 'Where this mirror is at home as far as it is on record (place), and the server and the database that it is in now. until: the end of the last run that was there.';

-- One place takes the place of another only where nobody was faster. Those who say it are on record with each team.
create function sync.keep_place(was jsonb, now_at jsonb, moved jsonb) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if pg_trigger_depth() > 0 or not has_table_privilege(session_user, 'sync.user_base', 'UPDATE') then
    raise exception '% may not say where this mirror is', session_user using errcode = 'insufficient_privilege';
  end if;
  if was is null then
    insert into sync.learned (team, topic, value) values ('', 'place', now_at) on conflict do nothing;
  else
    update sync.learned l set value = now_at, learned_at = clock_timestamp()
    where l.team = '' and l.topic = 'place' and l.value = was;
  end if;
  if not found then
    return false;
  end if;
  insert into sync.changes (team_id, kind, old, new, closed_at, decided_by, decided_role, decided_why)
  select t.team_id, 'place', jsonb_build_object('place', moved -> 'from'), jsonb_build_object('place', moved -> 'to'),
    clock_timestamp(), sync.decider(), session_user, moved ->> 'why'
  from sync.teams t where moved is not null order by t.team_id;
  return true;
end
$$;
comment on function sync.keep_place(jsonb, jsonb, jsonb) is 'Writes down where this mirror is at home, if what is on record is still what it was; with what a person said of it, into the ledger. For roles that may write the bookkeeping.';

-- By what address the settings reach it is not known here; another server and another database are.
create or replace function sync.require_approver() returns void
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  found constant jsonb := mirror.known_place();
begin
  if pg_trigger_depth() > 0 then
    raise exception 'A trigger decides nothing' using errcode = 'insufficient_privilege';
  end if;
  if not coalesce(pg_has_role(session_user, to_regrole('musterd_approver')::oid, 'USAGE'), false)
     and not has_table_privilege(session_user, 'sync.held_fields', 'UPDATE') then
    raise exception '% may not decide about what is held', session_user
      using errcode = 'insufficient_privilege', hint = 'An administrator grants the role musterd_approver.';
  end if;
  if found #>> '{place,kind}' = 'copy' then
    raise exception 'Nothing is decided in a copy: whatever is approved here would not be sent'
      using errcode = 'object_not_in_prerequisite_state', hint = 'If it is to send: musterd adopt --reason …';
  end if;
  if found #>> '{place,kind}' is not null and (found #>> '{place,database}' is distinct from found ->> 'database'
      or found #>> '{place,identifier}' <> found ->> 'identifier') then
    raise exception 'This mirror was at another place: nothing is sent from here, and nothing decided'
      using errcode = 'object_not_in_prerequisite_state',
        hint = 'If it has moved: musterd adopt --reason …, and stop the other one. If it is meant as a copy: musterd adopt --as-copy --reason …';
  end if;
end
$$;
comment on function sync.require_approver() is 'Refuses a session whose role is no member of musterd_approver, and whoever decides in a copy.';
