-- A daemon says of each of its teams that it runs, and how it ended.

comment on column sync.learned.topic is '"credential" and the first 16 hex digits of the SHA-256 of a Secret ID or an API key. "daemon": which processes serve the team, or served it last. "listing" and tags or contact_fields: how its pages are read. "notice" and failing, stale, credentials-refused, batch-waits, fields-held or elsewhere: what people were told of that, by notify.url. "place", of no team: where this mirror is at home, or that it is a copy. "prune": whose turn it is to remove what is old, and whether it is done for the day. "rate": the pace that the service stands. "scope" and users, tags or contact_fields: what the settings asked for when a complete pass last left nothing in doubt; when that changes, a row that is no longer shown may be there all the same. Anything else: what "musterd check" or a run found out about a point that the interface leaves open.';

-- The page asks this with the rights of whoever reads.
create function mirror.daemons()
returns table (team text, host text, pid bigint, by_systemd boolean, started_at timestamptz, seen_at timestamptz, ended_at timestamptz, how text)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select l.team, p.host, p.pid, p.by_systemd, p.started_at, p.seen_at, p.ended_at, p.how
  from sync.learned l
  join sync.teams t on t.team = l.team and sync.session_sees(t.team_id)
  cross join lateral jsonb_each(l.value) e (process, said)
  cross join lateral jsonb_to_record(e.said)
    as p (host text, pid bigint, by_systemd boolean, started_at timestamptz, seen_at timestamptz, ended_at timestamptz, how text)
  where l.topic = 'daemon'
$$;
comment on function mirror.daemons() is 'The daemons of the teams that the session sees. seen_at: they say every minute that they run. ended_at and how: asked, somebody asked them to stop; failed, they gave up; both are empty where they run, or ended without a word.';
