-- The ledger says who edited what a push carries, and tells a return from a first sight.

-- Each of its edits is looked up when a push is written down, and what is still needed of them when old ones are removed.
create index if not exists user_edits_by_user on sync.user_edits (team_id, user_id, edit_id);
comment on index sync.user_edits_by_user is 'Who edited a user last.';

alter table sync.changes add column edited_by jsonb;
comment on column sync.changes.edited_by is 'By field of a push: who made the edit that it carries, the actor where one was named, else the role that was connected. Not there: nobody knows, since the edit is older than the record or was made past the triggers.';

alter table sync.changes drop constraint changes_kind_check;
alter table sync.changes add constraint changes_kind_check check (kind in
  ('adopt', 'return', 'pull', 'push', 'settle', 'hold', 'tombstone', 'forget', 'approve', 'reject', 'resolve'));
comment on column sync.changes.kind is 'adopt: first sight. return: shown again after having been gone. pull: service to mirror. push: mirror to service. settle: both had moved to the same place. hold: a field now waits. tombstone: proven gone. forget: the bookkeeping of a row that is nowhere. approve, reject, resolve: a person decided about a held field; old is the service''s value then, new the mirror''s. approve without a field: a person agreed that the user has left.';
update sync.changes set kind = 'return' where kind = 'adopt' and old <> '{}';

-- Columns are added behind the others, so that the view keeps whoever was granted it. A text has no quotes around it: a
-- name is its two halves, joined.
create or replace view report.changes with (security_invoker) as
select v.* from (
  select c.change_id, c.team_id, c.user_id, u.name, c.run_id, c.kind, f.field, c.base -> f.field as base_value,
         c.old -> f.field as old_value, c.new -> f.field as new_value,
         case when c.state = 'open' then 'unknown' else c.outcome ->> f.field end as outcome,
         c.request_id, c.opened_at, c.closed_at, c.decided_by, c.decided_why,
         c.edited_by ->> f.field as edited_by,
         case when jsonb_typeof(c.old -> f.field) = 'object'
           then btrim(concat_ws(' ', c.old #>> '{name,first}', c.old #>> '{name,last}')) else c.old ->> f.field end as old_text,
         case when jsonb_typeof(c.new -> f.field) = 'object'
           then btrim(concat_ws(' ', c.new #>> '{name,first}', c.new #>> '{name,last}')) else c.new ->> f.field end as new_text
  from sync.changes c
  left join lateral jsonb_object_keys(c.old || c.new) as f (field) on true
  left join mirror.users u on u.team_id = c.team_id and u.id = c.user_id
) v
where (select mirror.sees_all_teams()) or v.team_id in (select mirror.seen_teams());
comment on column report.changes.kind is 'adopt, return, pull, push, settle, hold, tombstone or forget; approve, reject or resolve: a person decided.';
comment on column report.changes.edited_by is 'Of a push: who made the edit that it carries, the actor where one was named, else the role that was connected. Empty: nobody knows.';
comment on column report.changes.old_text is 'The value that was replaced, as text; of a name its two halves, joined.';
comment on column report.changes.new_text is 'The value that replaced it, as text; of a name its two halves, joined.';

-- Whoever may read the view needs the right to the column that it reads now.
do $$
declare
  reader text;
begin
  for reader in
    select case a.grantee when 0 then 'public' else a.grantee::regrole::text end
    from pg_class v cross join lateral aclexplode(v.relacl) a
    where v.oid = 'report.changes'::regclass and a.privilege_type = 'SELECT' and a.grantee <> v.relowner
  loop
    execute format('grant select (edited_by) on sync.changes to %s', reader);
  end loop;
end
$$;
