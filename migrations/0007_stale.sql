-- Users whom the service shows older than it has shown them before.

create table sync.stale_rows (
  team_id bigint not null,
  id      bigint not null,
  since   timestamptz not null default clock_timestamp(),
  passes  integer not null default 1,
  primary key (team_id, id)
);
comment on table sync.stale_rows is 'Users whom the service shows with other values and an older version than before, as a cache or a replica that lags does. They are left as they are until a newer row shows, or until this one has shown in three passes over half an hour.';
comment on column sync.stale_rows.team_id is 'The team that the user belongs to.';
comment on column sync.stale_rows.id is 'The service''s id of the user.';
comment on column sync.stale_rows.since is 'When a pass first showed the older row.';
comment on column sync.stale_rows.passes is 'How many passes in a row have shown it.';
