-- Missing rows that wait for a person stand where all other missing rows do, in batches as held fields do, and are decided
-- by the same functions.

alter table sync.absences
  add column batch       text,
  add column detail      text,
  add column scope       text,
  add column withheld_at timestamptz,
  add column decided_by  text,
  add column decided_why text,
  add constraint absences_withheld check (num_nulls(batch, detail, withheld_at) in (0, 3) and (batch is not null or scope is null));
comment on column sync.absences.verdict is 'approved: a person agreed that it may be called gone. left: a person left it out of an approval, so it waits on. found: the service says that it is there, though the listing does not show it; it stays in the mirror. NULL: none of these. It ends when the row is shown again or called gone.';
comment on column sync.absences.batch is 'Of a row that is not called gone before a person agrees: what "musterd approve" and sync.approve() are given. First 12 hex digits of the SHA-256 of the resource and the ids that wait together.';
comment on column sync.absences.detail is 'Of a batch: why no run decides it by itself.';
comment on column sync.absences.scope is 'Of a batch: what the settings asked for when it was withheld; an approval counts for that.';
comment on column sync.absences.withheld_at is 'Of a batch: since when it waits.';
comment on column sync.absences.decided_by is 'Who approved it or left it out: the role that was connected.';
comment on column sync.absences.decided_why is 'The reason that was given.';

update sync.absences a
set batch = w.hash, detail = w.reason, scope = w.scope, withheld_at = w.made_at
from sync.withheld_absences w
where w.state = 'waiting' and w.team_id = a.team_id and w.resource = a.resource and a.id = any (w.ids);

-- What was left out was left out by the approval of that moment.
update sync.absences a set decided_by = d.decided_by, decided_why = d.decided_why
from (
  select distinct on (b.team_id, b.resource, b.id) b.team_id, b.resource, b.id, w.decided_by, w.decided_why
  from sync.absences b
  join sync.withheld_absences w on w.team_id = b.team_id and w.resource = b.resource and w.state = 'approved'
    and w.decided_at <= b.decided_at and (b.verdict = 'left' or b.id = any (w.ids))
  where b.verdict in ('approved', 'left')
  order by b.team_id, b.resource, b.id, w.decided_at desc
) d
where (a.team_id, a.resource, a.id) = (d.team_id, d.resource, d.id);

-- Who agreed that a user has left stays in the ledger.
insert into sync.changes (team_id, user_id, kind, opened_at, closed_at, decided_by, decided_why)
select w.team_id, i.id, 'approve', w.decided_at, w.decided_at, w.decided_by, w.decided_why
from sync.withheld_absences w cross join lateral unnest(w.ids) as i (id)
where w.state = 'approved' and w.resource = 'users'
order by w.absence_id, i.id;
comment on column sync.changes.kind is 'adopt: first sight. pull: service to mirror. push: mirror to service. settle: both had moved to the same place. hold: a field now waits. tombstone: proven gone. forget: the bookkeeping of a row that is nowhere. approve, reject, resolve: a person decided about a held field; old is the service''s value then, new the mirror''s. approve without a field: a person agreed that the user has left.';

drop table sync.withheld_absences;

create function sync.decide_batch(batch text, approves boolean, only_ids bigint[], reason text, revert boolean, team bigint)
returns table (team_id bigint, user_id bigint, field text, outcome text)
language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  teams    bigint[];
  missing  text;
  stranger bigint;
begin
  perform sync.require_approver();
  -- A run that looks at these rows ends first; what it replaced no longer waits under this name.
  perform from sync.absences a
  where a.batch = lower(decide_batch.batch) and (decide_batch.team is null or a.team_id = decide_batch.team)
    and sync.session_sees(a.team_id)
  order by a.team_id, a.resource, a.id for update;
  select array_agg(distinct a.team_id), min(a.resource) into teams, missing
  from sync.absences a
  where a.batch = lower(decide_batch.batch) and (decide_batch.team is null or a.team_id = decide_batch.team)
    and sync.session_sees(a.team_id);
  if teams is null then
    return query select * from sync.decide(decide_batch.batch, approves, only_ids, reason, revert, team);
    return;
  end if;
  if cardinality(teams) > 1 then
    raise exception 'Batch % waits in % teams', decide_batch.batch, cardinality(teams)
      using errcode = 'invalid_parameter_value', hint = 'Say which one: team => 41.';
  end if;
  select o.id into stranger
  from unnest(decide_batch.only_ids) as o (id)
  where not exists (
    select from sync.absences a where a.team_id = teams[1] and a.batch = lower(decide_batch.batch) and a.id = o.id
  )
  limit 1;
  if stranger is not null then
    raise exception '% is not among the missing % of batch %', stranger, missing, decide_batch.batch
      using errcode = 'invalid_parameter_value';
  end if;

  return query
  with named as materialized (
    select a.team_id, a.resource, a.id, decide_batch.only_ids is null or a.id = any (decide_batch.only_ids) as is_chosen
    from sync.absences a where a.team_id = teams[1] and a.batch = lower(decide_batch.batch)
  ),
  -- As a run names them that finds nothing else in doubt.
  rest as (
    select substr(encode(sha256(convert_to(
        format('["%s",[%s]]', missing, string_agg(n.id::text, ',' order by n.id)), 'UTF8')), 'hex'), 1, 12) as hash,
      case count(*) when 1 then '1 missing row was' else count(*) || ' missing rows were' end || ' left out of an approval' as words
    from named n where not n.is_chosen
  ),
  written as (
    update sync.absences a set
      verdict = case when n.is_chosen then 'approved' else 'left' end,
      verdict_scope = case when n.is_chosen then a.scope end,
      batch = case when not n.is_chosen then r.hash end,
      detail = case when not n.is_chosen then r.words end,
      scope = case when not n.is_chosen then a.scope end,
      withheld_at = case when not n.is_chosen then clock_timestamp() end,
      decided_at = clock_timestamp(), decided_by = session_user, decided_why = coalesce(decide_batch.reason, '')
    from named n cross join rest r
    where decide_batch.approves and (a.team_id, a.resource, a.id) = (n.team_id, n.resource, n.id)
  ),
  recorded as (
    insert into sync.changes (team_id, user_id, kind, closed_at, decided_by, decided_why)
    select n.team_id, n.id, 'approve', clock_timestamp(), session_user, coalesce(decide_batch.reason, '')
    from named n where decide_batch.approves and n.is_chosen and n.resource = 'users' order by n.id
  )
  select n.team_id, n.id, n.resource, case when decide_batch.approves then 'approved' else 'left' end
  from named n where n.is_chosen order by n.id;
end
$$;
comment on function sync.decide_batch(text, boolean, bigint[], text, boolean, bigint) is 'Approves or rejects what waits under a name: missing rows, or else held fields. What sync.approve() and sync.reject() do.';
comment on function sync.decide(text, boolean, bigint[], text, boolean, bigint) is 'Approves or rejects the held fields of a batch, for sync.decide_batch().';

create or replace function sync.approve(batch text, only_users bigint[] default null, reason text default null, team bigint default null)
returns table (team_id bigint, user_id bigint, field text, outcome text)
language sql security definer set search_path = pg_catalog, pg_temp as $$
  select * from sync.decide_batch(batch, true, only_users, reason, false, team)
$$;
comment on function sync.approve(text, bigint[], text, bigint) is 'Lets the fields of a batch pass the limits, all of them or those of some users: once, within a day, with the values of mirror, base and service that were held. Says of each row: approved; moved: it is not as it was held, and is left; asked, held: something else holds it; gone: the user has left. Of a batch of missing rows: agrees that they are gone, for as long as they are missing and the settings ask for the same; those that only_users leaves out wait on. user_id is the id of the row then, and field says what it is: users, tags or contact_fields.';

create or replace function sync.reject(batch text, only_users bigint[] default null, reason text default null, revert boolean default false, team bigint default null)
returns table (team_id bigint, user_id bigint, field text, outcome text)
language sql security definer set search_path = pg_catalog, pg_temp as $$
  select * from sync.decide_batch(batch, false, only_users, reason, revert, team)
$$;
comment on function sync.reject(text, bigint[], text, boolean, bigint) is 'Decides that the fields of a batch are not sent, all of them or those of some users, until somebody edits them again. With revert the mirror is given back what both sides last agreed on. Says of each row: rejected; left: nothing is to be rejected, as with missing rows, which stay as they are until they are approved; and what sync.approve() says.';

revoke execute on function sync.decide_batch(text, boolean, bigint[], text, boolean, bigint) from public;
