delete from sync.learned where topic = 'a version moves though no value does' or topic ~ '^scope ';
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
alter table sync.teams drop column plan_key, add column phone_country text;
comment on column sync.teams.phone_country is 'The calling code of phones that are written without a plus sign: phones.country of the settings, as the last run had it; NULL: each code is taken.';
-- A state of an edit and a reason to hold it have one word each.
alter table sync.held_fields drop constraint held_fields_reason_check, drop constraint if exists held_fields_decision_check,
  drop constraint if exists why_asked_has_at_most_1000_characters, add column alone boolean not null default false;
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
alter table sync.edits add constraint edits_pkey primary key (edit_id);
drop function if exists sync.decide_edits(text, bigint, jsonb, text, text, boolean, bigint, bigint, text, boolean), sync.decide(text, boolean, bigint[], text, boolean, bigint, bigint[]);
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
