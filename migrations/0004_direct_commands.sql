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
delete from sync.learned where topic in ('schedule', 'notice message-unknown', 'rate', 'a version moves though no value does') or topic ~ '^scope | at rest$';
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
    ['sync.approve(text, bigint[], text, bigint, bigint[])', 'sync.hold(team_id bigint, user_id bigint, until timestamptz, reason text default null, only_fields text[] default null)', 'table (field text, held_before text)'],
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
  mirror.require_write(bigint, text), mirror.message_terms(), mirror.check_message(), mirror.cancel_messages(), mirror.check_conversation_read(),
  sync.decide_edits(text, bigint, jsonb, text, text, boolean, bigint, bigint, text, boolean), sync.listing_rests(bigint), sync.rest(bigint), sync.reach(text), sync.mark(),
  sync.take_places(text, float8, float8, float8, float8, float8, float8, jsonb);
drop function if exists mirror.note_request(), mirror.check_tag(), mirror.tell_of_edits() cascade;

alter table mirror.tags drop constraint tags_id_key, add constraint tags_pkey primary key (team_id, id);
comment on table mirror.tags is 'The team''s contact tags. Read-only: "musterd tag create" makes one.';
comment on column mirror.tags.id is 'The service''s id of the tag.';

alter table sync.edits add constraint edits_pkey primary key (edit_id), drop column local_id, alter column user_id set not null, drop constraint edits_field_check, add constraint edits_field_check check (field in ('name', 'name_split', 'email', 'phone', 'role_id'));
comment on column sync.edits.user_id is 'The service''s id of the user.';
comment on column sync.edits.field is 'name is the pair of first and last name; name_split says whether they were cut by a guess, which is recorded and ends at once; email, phone, role_id.';

-- A field that the service does not show stays as it is: no limit stops all pushes for it.
delete from sync.held_fields where user_id is null;
-- An approval is about values: if the service's value went there and back, it still holds.
alter table sync.held_fields drop column local_id, drop column seen_version, add constraint held_fields_pkey primary key (team_id, user_id, field),
  drop constraint held_fields_field_check, add constraint held_fields_field_check check (field in ('name', 'email', 'phone', 'role_id')),
  drop constraint held_fields_reason_check, drop constraint if exists held_fields_decision_check, drop constraint if exists why_asked_has_at_most_1000_characters,
  add column alone boolean not null default false;
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

alter table sync.learned drop column hashes;
-- Whoever is shown with an older version has a base, which says so.
alter table sync.user_base add column older_since timestamptz, add column older_passes integer,
  add constraint user_base_older check ((older_since is null) = (older_passes is null));
create index user_base_older on sync.user_base (team_id, id) where older_since is not null;
comment on index sync.user_base_older is 'Whom the service shows with an older version than before.';
comment on column sync.user_base.older_since is 'When a pass first showed the user with other values and an older version than before, as a cache or a replica that lags does; NULL: the last one did not. The user is left alone until a newer row shows, or this one has shown in three passes over half an hour.';
comment on column sync.user_base.older_passes is 'How many passes in a row have shown the older row.';
update sync.user_base b set older_since = s.since, older_passes = s.passes from sync.stale_rows s where s.team_id = b.team_id and s.id = b.id;
-- Rows that could not be taken are learned of a resource; the next pass finds them again. So is when the next request is due.
insert into sync.learned (team, topic, value, learned_at) select team, 'pace', 'true', next_at from sync.rate_limits;
drop table sync.stale_rows, sync.rejected_rows, sync.rate_limits;
comment on column sync.learned.topic is '"credential" and the first 16 hex digits of the SHA-256 of a Secret ID or an API key. "daemon": which processes serve the team, or served it last. "listing" and the table of a listing: how its pages are read. "notice" and failing, stale, credentials-refused, batch-waits, fields-held or elsewhere: what people were told of that, by notify.url. "pace": its learned_at is when the next request is due, for all processes on this database together. "place", of no team: where this mirror is at home, or that it is a copy. "prune": whose turn it is to remove what is old, and whether it is done for the day. "rejected" and users, or the table of a listing: rows of its last pass that could not be taken. Anything else: what "musterd check" or a run found out about a point that the interface leaves open.';
comment on column sync.learned.value is 'What it is known to be; of a credential: true; of a notice: whether it says that the event stands, its id, and how often it was sent (times in ms since 1970); of rejected rows, up to 1,000: the resource, the id where it was usable, the reason, and an excerpt as JSON; of the pace: true; of the place: home or copy, the identifier of the server, the oid of the database, the addresses by which it is reached, who said so, when and why.';
-- All files that were applied stand in one table.
drop table if exists sync.repeatables, sync.migration_lock;
-- Each login sees whether the schema is that of its musterd.
grant select on sync.migrations to public;
-- Whoever may read the reports runs the commands that read. Each sees the rows of the teams that are theirs.
do $$
declare
  one text;
begin
  for one in
    select format('grant select on sync.absences, sync.changes, sync.due, sync.edits, sync.held_fields, sync.learned, sync.leases, sync.listing_changes, sync.runs, sync.user_base, sync.user_periods to %1$I; grant select (team, team_id, pinned_at, four_eyes) on sync.teams to %1$I', rolname)
    from pg_roles where rolname ~ '^musterd_(reader|editor|role_editor|approver)$' and has_schema_privilege(rolname, 'sync', 'usage') loop
    execute one;
  end loop;
end
$$;
comment on table sync.migrations is 'A migration that was applied. Written by musterd migrate.';
comment on column sync.migrations.name is 'The file, without .sql.';
comment on column sync.migrations.timestamp is 'When it was applied; of a repeatable one, when its present text first was.';
comment on column sync.migrations.checksum is 'SHA-256 of the file, to see that it was not changed afterwards; of a repeatable one, that of each text that was applied, the present one last.';
alter table sync.teams drop column writes, drop column plan_key, add column phone_country text;
comment on column sync.teams.phone_country is 'The calling code of phones that are written without a plus sign: phones.country of the settings, as the last run had it; NULL: each code is taken.';
-- A state of an edit and a reason to hold it have one word each.
update sync.held_fields set alone = reason = 'limit' and batch is null, reason = case reason when 'gone' then 'returned' else reason end;
alter table sync.held_fields add constraint held_fields_reason_check check (reason in ('conflict', 'refused', 'ineffective', 'unsupported', 'returned', 'limit', 'review', 'asked')),
  add constraint held_fields_decision_check check (decision in ('approved', 'spent', 'rejected')),
  add constraint why_asked_has_at_most_1000_characters check (char_length(asked_why) <= 1000);
comment on column sync.held_fields.decision is 'approved: the edit passes what held it: the limit on that field alone if one held it, else those on a whole run. That counts for this edit alone, once, and as long as the service is as it was seen. spent: the edit is being sent under the approval; if it was not sent, or got no answer and is not there, it is approved again. rejected: it is not sent for as long as this edit lasts, whatever the service does. Who decided, and why, is in sync.changes. NULL: nobody has decided.';
comment on column sync.held_fields.reason is 'conflict: both sides changed it. refused: the service refused the value. ineffective: the service takes it without effect. unsupported: it cannot be sent. returned: the user had left, and came back. limit: a limit stopped it, see alone. review: a person wants to see it first. asked: somebody asked for it, and nothing else holds it.';
alter view if exists report.pending rename column held_because to reason;
-- Every held edit is in a batch. A limit on the field alone lets go by itself once it is true no more.
comment on column sync.held_fields.alone is 'Whether a limit on this field alone holds it, and not one on the whole run: it is sent once that limit has gone.';
comment on column sync.held_fields.batch is 'What one person did and one run held: first 12 hex digits of the SHA-256 of its edits, and of what was seen of both sides. Another edit of the field does not inherit it. NULL: the run that holds it has not ended, or no edit is held.';

-- What the service won in a conflict was given up here; it was not changed there.
with pulled as (
  delete from sync.changes p using sync.changes c
  where p.kind = 'pull' and c.kind = 'resolve' and c.run_id = p.run_id and c.team_id = p.team_id and c.user_id = p.user_id
    and p.old ?| array(select jsonb_object_keys(c.new))
  returning c.change_id, p.old
)
update sync.changes c set new = c.new || p.old, outcome = c.outcome || (select jsonb_object_agg(k, 'withdrawn') from jsonb_object_keys(p.old) k)
from pulled p where p.change_id = c.change_id;
drop index sync.edits_over_by_transaction;
create index edits_by_transaction on sync.edits (xid);
comment on index sync.edits_by_transaction is 'What a transaction has edited, and which edits a run has not seen.';
alter table sync.absences drop column verdict_scope, drop column scope, add constraint absences_decided check ((verdict is null) = (decided_at is null)),
  add constraint absences_withheld check (num_nulls(batch, detail, withheld_at) = any (array[0, 3]));
comment on table sync.absences is 'A row that complete passes no longer show, until it is proven gone or comes back.';
comment on table sync.changes is 'One thing that happened to a user: a pull, a push, a hold or a decision, with who and why. A push is written before it is sent.';
comment on table sync.due is 'When a group of a team is to be done next, by the database''s clock, and how its last runs went.';
comment on table sync.edits is 'One edit of a field of a user, from the statement that made it until both sides agree again.';
comment on table sync.held_fields is 'A field of a user that is left alone on both sides until one of the two values changes or somebody decides.';
comment on table sync.learned is 'One thing that was learned of a team''s deployment, or where this mirror is at home.';
comment on table sync.leases is 'Who runs the team now.';
comment on table sync.listing_changes is 'One change of a row of a listing, of a role or of the team itself.';
comment on table sync.runs is 'One run of a team, or one step that a person took.';
comment on table sync.teams is 'Which team of the service a configured team turned out to be at its first run.';
comment on table sync.user_base is 'What mirror and service last agreed on of a user.';
