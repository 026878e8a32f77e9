-- Messages, read conversations and new tags are no longer asked for in SQL: commands send them at once, and the ledger has a
-- row of each. What the tables of 0.1.0 had of them goes; "musterd migrate" refuses while a request is open. The ledger keeps
-- its rows, with the local_id among the values.

update sync.changes c set
  base = (select coalesce(jsonb_object_agg(k, case jsonb_typeof(v) when 'object' then v || jsonb_build_object('local_id', c.local_id) else v end), '{}') from jsonb_each(c.base) e (k, v)),
  old = (select coalesce(jsonb_object_agg(k, case jsonb_typeof(v) when 'object' then v || jsonb_build_object('local_id', c.local_id) else v end), '{}') from jsonb_each(c.old) e (k, v)),
  new = (select coalesce(jsonb_object_agg(k, case jsonb_typeof(v) when 'object' then v || jsonb_build_object('local_id', c.local_id) else v end), '{}') from jsonb_each(c.new) e (k, v)),
  outcome = case c.state when 'open' then (select jsonb_object_agg(k, 'unknown') from jsonb_object_keys(c.new) k) else c.outcome end,
  state = 'closed', closed_at = coalesce(c.closed_at, clock_timestamp())
where c.local_id is not null;
delete from sync.held_fields where local_id is not null;
delete from sync.edits where local_id is not null;
delete from sync.learned where topic in ('schedule', 'notice message-unknown');
delete from mirror.tags where id is null;

-- A view that loses a column is made anew. Whoever may read it goes on to: until the repeatable files make it, another one
-- with its columns keeps the rights. Other people's views on what goes are left alone, and named.
do $$
declare
  what    text;
  users   text;
  again   text[] := '{}';
  view    text;
begin
  foreach view in array array['changes', 'decisions', 'pending', 'held'] loop
    continue when to_regclass('report.' || view) is null;
    again := again || (
      select format('create view report.%I with (security_invoker) as select %s', view,
        string_agg(format('null::%s as %I', format_type(a.atttypid, a.atttypmod), a.attname), ', ' order by a.attnum))
      from pg_attribute a where a.attrelid = to_regclass('report.' || view) and a.attnum > 0 and a.attname <> 'local_id');
    again := again || array(
      select format('grant %s on report.%I to %s%s', a.privilege_type, view,
        case a.grantee when 0 then 'public' else a.grantee::regrole::text end, case when a.is_grantable then ' with grant option' else '' end)
      from pg_class c cross join lateral aclexplode(c.relacl) a
      where c.oid = to_regclass('report.' || view) and a.grantee <> c.relowner);
    again := again || array(
      select format('grant %s (%I) on report.%I to %s%s', a.privilege_type, t.attname, view,
        case a.grantee when 0 then 'public' else a.grantee::regrole::text end, case when a.is_grantable then ' with grant option' else '' end)
      from pg_attribute t cross join lateral aclexplode(t.attacl) a
      where t.attrelid = to_regclass('report.' || view) and t.attname <> 'local_id');
  end loop;
  foreach what in array array['drop view if exists report.schedule', 'drop view if exists report.changes', 'drop view if exists report.decisions',
    'drop view if exists report.pending', 'drop view if exists report.held', 'drop view if exists sync.requests',
    'drop table mirror.scheduled_messages', 'drop table mirror.conversation_reads', 'alter table mirror.tags drop column local_id'] loop
    begin
      execute what;
    exception
      when dependent_objects_still_exist then
        get stacked diagnostics users = pg_exception_detail;
        raise exception 'Something of yours uses what this version of musterd drops (%)', what
          using errcode = 'dependent_objects_still_exist', detail = users,
            hint = 'Drop it, run "musterd migrate" again, and create it anew without messages, read conversations and local_id.';
    end;
  end loop;
  foreach what in array again loop
    execute what;
  end loop;
end
$$;

-- So is a function that answers otherwise. Whoever may approve may choose a side, too.
create type sync.decided_edit as (edit_id bigint, user_id bigint, field text, state text, detail text, decision_id bigint, outcome text);
comment on type sync.decided_edit is 'What a person''s decision does about one edit.';
do $$
declare
  again text[];
  one   text[];
  what  text;
begin
  foreach one slice 1 in array array[
    ['sync.settled(interval, boolean, xid8)', 'sync.settled(timeout interval default null, raise boolean default null, xid xid8 default null)',
      'table (user_id bigint, field text, state text, detail text, request_id text, reason text)'],
    ['sync.approve(text, bigint[], text, bigint, bigint[])', 'sync.resolve(team_id bigint, user_id bigint, field text, take text, value text default null, reason text default null, edit_id bigint default null, seen_service text default null, part_of bigint default null)',
      'setof sync.decided_edit'],
    ['sync.approve(text, bigint[], text, bigint, bigint[])', 'sync.approve(batch text, reason text default null, only_users bigint[] default null, only_edits bigint[] default null, team bigint default null)',
      'setof sync.decided_edit'],
    ['sync.reject(text, bigint[], text, boolean, bigint, bigint[])', 'sync.reject(batch text, reason text default null, revert boolean default null, only_users bigint[] default null, only_edits bigint[] default null, team bigint default null)',
      'setof sync.decided_edit']] loop
    continue when to_regprocedure(one[1]) is null;
    again := array(
      select format('grant execute on function %s to %s%s', split_part(one[2], '(', 1), a.grantee::regrole, case when a.is_grantable then ' with grant option' else '' end)
      from pg_proc p cross join lateral aclexplode(p.proacl) a where p.oid = to_regprocedure(one[1]) and a.grantee not in (0, p.proowner));
    if split_part(one[1], '(', 1) = split_part(one[2], '(', 1) then
      execute format('drop function %s', one[1]);
    end if;
    execute format('create function %s returns %s language plpgsql as %L', one[2], one[3], 'begin end');
    execute format('revoke execute on function %s from public', split_part(one[2], '(', 1));
    foreach what in array again loop
      execute what;
    end loop;
  end loop;
end
$$;
drop function if exists sync.edit_states(xid8), sync.require_approver(), sync.decide(text, boolean, bigint[], text, boolean, bigint, bigint[]),
  sync.decide_batch(text, boolean, bigint[], text, boolean, bigint, bigint[]), sync.wanted_columns(text), sync.wanted(text, jsonb), sync.resolve_message(bigint, uuid, bigint, text),
  sync.note_request(bigint, uuid, text, jsonb, jsonb), sync.withdraw_request(bigint, uuid, text), sync.hold_messages(text),
  sync.decide_requests(text, bigint, jsonb, text, text, boolean, bigint), sync.undecide_requests(bigint, text, bigint), sync.undecide(bigint, text, boolean),
  mirror.require_write(bigint, text), mirror.message_terms(), mirror.check_message(), mirror.cancel_messages(), mirror.check_conversation_read();
drop function if exists mirror.note_request(), mirror.check_tag() cascade;

alter table mirror.tags drop constraint tags_id_key, add constraint tags_pkey primary key (team_id, id);
comment on table mirror.tags is 'The team''s contact tags. Read-only: "musterd tag create" makes one.';
comment on column mirror.tags.id is 'The service''s id of the tag.';

alter table sync.teams drop column writes;

alter table sync.edits drop column local_id, alter column user_id set not null, drop constraint edits_field_check, add constraint edits_field_check check (field in ('name', 'name_split', 'email', 'phone', 'role_id'));
comment on column sync.edits.user_id is 'The service''s id of the user.';
comment on column sync.edits.field is 'name is the pair of first and last name; name_split says whether they were cut by a guess, which is recorded and ends at once; email, phone, role_id.';

-- A field that the service does not show stays as it is: no limit stops all pushes for it.
delete from sync.held_fields where user_id is null;
-- An approval is about values: if the service's value went there and back, it still holds.
alter table sync.held_fields drop column local_id, drop column seen_version, add constraint held_fields_pkey primary key (team_id, user_id, field),
  drop constraint held_fields_field_check, add constraint held_fields_field_check check (field in ('name', 'email', 'phone', 'role_id'));
comment on column sync.held_fields.user_id is 'The user.';
comment on column sync.held_fields.field is 'The field: name is the pair of first and last name.';

alter table sync.changes drop column local_id, drop constraint changes_kind_check;
alter table sync.changes add constraint changes_kind_check check (kind in ('adopt', 'return', 'pull', 'push', 'settle', 'hold', 'tombstone', 'forget', 'approve', 'reject', 'resolve', 'undo', 'place', 'call'));
alter table sync.changes add constraint changes_user_check check (user_id is not null or kind in ('place', 'approve', 'call') or new ?| '{tag,message,conversation_read}'::text[]);
comment on column sync.changes.user_id is 'The user whose fields moved; NULL: it is about a message, a tag or a read conversation, or about the mirror itself, or a person approved that many users lack a field.';
comment on column sync.changes.kind is 'adopt: first sight. return: shown again after having been gone. pull: service to mirror. push: mirror to service. settle: both had moved to the same place. hold: a field now waits. tombstone: proven gone. forget: the bookkeeping of a row that is nowhere. approve, reject, resolve: a person decided about a held field; old is the service''s value then, new the mirror''s. approve without a field: a person agreed that the user has left. undo: up to 0.1.0, a person took one of these back. place: a person said where this mirror is at home, or that it is a copy. call: a command sent a message, a tag or a read conversation at once; new is what was sent.';
comment on column sync.changes.outcome is 'By field of a push: confirmed, ineffective, changed, missing, refused, unsent, unanswered or unknown. Of a rejection: withdrawn, where the mirror was given back. Of a resolved field: withdrawn, where the service''s value was taken; edited, where a person gave it another value than that of either side. Of a call: answered; confirmed, if it was seen on the service; refused; unsent, if it never left; or unknown.';

-- The role for messages has nothing to do any more. Other databases of the server may still use it.
do $$
begin
  if to_regrole('musterd_messenger') is not null then
    revoke all on all tables in schema mirror, sync, report from musterd_messenger;
    revoke all on all functions in schema mirror, sync, report from musterd_messenger;
    revoke all on schema mirror, sync, report from musterd_messenger;
  end if;
end
$$;
