-- If a transaction has edited a field several times, only its last edit of the field is returned.
create or replace function sync.edit_states(of_xid xid8)
returns table (user_id bigint, field text, state text, detail text, request_id text, reason text)
language sql stable set search_path = pg_catalog, pg_temp as $$
  select e.user_id, e.field, f.state, case when f.state <> 'waiting' then f.detail
      when u.gone_at is not null then 'the user has left the team'
      when not u.resolved then 'no lookup of the service answers for the user'
      when (select sync.why_silent()) is not null then 'nothing is sent from here: ' || (select sync.why_silent())
      when l.expires_at > clock_timestamp() then 'a run is under way'
      when r.learned_at > clock_timestamp() + interval '1 s'
        then 'the rate limit of the service lets the next request leave in ' || ceil(extract(epoch from r.learned_at - clock_timestamp())) || ' s'
      when t.team <> all (array(
        select d.team from pg_stat_activity a join mirror.daemons() d on d.ended_at is null
        where a.datname = current_database() and a.application_name like 'musterd listen%'))
        then 'no daemon serves this team: the next run handles it'
      else 'the daemon handles it with one of its next runs' end,
    f.request_id, f.reason
  from (
    select distinct on (s.team_id, s.user_id, s.field) s.* from sync.edits s
    where s.xid = edit_states.of_xid and s.field <> 'name_split' and sync.session_sees(s.team_id)
    order by s.team_id, s.user_id, s.field, s.edit_id desc
  ) e
  left join mirror.users u on u.team_id = e.team_id and u.id = e.user_id
  left join sync.teams t on t.team_id = e.team_id
  left join sync.leases l on l.team = t.team
  left join sync.learned r on r.team = t.team and r.topic = 'pace'
  cross join lateral sync.edit_fate(e.team_id, e.user_id, e.field, e.edit_id) f
  order by e.user_id, e.field
$$;
comment on function sync.edit_states(xid8) is 'The state of each edit of a transaction now: see sync.settled().';

create or replace function sync.settled(timeout interval default '10 s', raise boolean default false, xid xid8 default null)
returns table (user_id bigint, field text, state text, detail text, request_id text, reason text)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  noted   constant text[] := string_to_array(current_setting('musterd.last_edit', true), ' ');
  wanted  constant xid8 := coalesce(settled.xid, noted[1]::xid8);
  ends_at constant timestamptz := clock_timestamp() + settled.timeout;
  left_over text;
begin
  if wanted is null and settled.raise is not true then
    raise notice 'This session has not edited any user';
    return;
  end if;
  if wanted is null or settled.xid is null and noted[2]::bigint is distinct from currval('sync.edits_edit_id_seq') then
    raise exception 'The last statement of this session on mirror.users failed or was rolled back, so it made no edits'
      using errcode = 'no_data_found', hint = 'To see committed edits, give their transaction: select * from sync.settled(xid => …).';
  end if;
  if wanted = pg_current_xact_id_if_assigned() then
    raise exception 'These edits are not committed yet: no run can see them'
      using errcode = 'active_sql_transaction', hint = 'Commit first, then call sync.settled() in a transaction of its own.';
  end if;
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'sync.settled() waits for commits of other transactions, and this transaction cannot see new commits'
      using errcode = 'active_sql_transaction', hint = 'Call it with isolation level read committed.';
  end if;
  -- Each query of this loop has its own snapshot, so that it sees new commits. The loop locks nothing.
  while clock_timestamp() < ends_at
    and (pg_xact_status(wanted) = 'in progress'
      or exists (select from sync.edit_states(wanted) s where s.state in ('waiting', 'sending', 'unknown') and s.detail is distinct from 'the user has left the team')) loop
    perform pg_sleep(least(0.1, extract(epoch from ends_at - clock_timestamp())));
  end loop;
  if pg_xact_status(wanted) in ('in progress', 'aborted') then
    raise exception 'Transaction % has no edits to show: %', wanted,
        case pg_xact_status(wanted) when 'aborted' then 'it was rolled back' else 'it is not committed yet' end
      using errcode = 'no_data_found', hint = 'To see committed edits, give their transaction: select * from sync.settled(xid => …).';
  end if;
  if settled.raise then
    select string_agg(format('%s of user %s: %s', s.field, s.user_id, concat_ws(', ', s.state, s.reason, s.detail)), '; ')
    into left_over
    from (select * from sync.edit_states(wanted) w where w.state <> 'confirmed' limit 5) s;
    if left_over is not null then
      raise exception 'Some edits are not on the service: %', left_over
        using errcode = 'raise_exception', hint = 'To see all edits: select * from sync.settled().';
    end if;
  end if;
  return query select s.user_id, s.field, s.state, s.detail, s.request_id, s.reason from sync.edit_states(wanted) s;
  if not found then
    raise notice 'Transaction % has not edited any user', wanted;
  end if;
end
$$;
comment on function sync.settled(interval,boolean,xid8) is 'Waits until no edit of the transaction xid is waiting, sending or unknown any more, at most until the timeout. By default, xid is the last transaction in which this session edited users. Returns the state of each edit: confirmed; held for a person, or rejected by one, with the reason of the hold, the batch, or the answer of the service and its X-Request-Id; sending; unknown: it was sent, and not answered; waiting, with what it waits for; ended: it was taken back, edited again or given up. With raise, any state but confirmed is an error. Call it after the commit.';
