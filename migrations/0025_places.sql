-- What counts against a team's limit, besides the pace: places that were taken stay on the books until a minute after
-- the answers to their requests.
alter table sync.rate_limits add column counted jsonb not null default '{}';
comment on table sync.rate_limits is 'One row a team: the pace and the limit of all processes on this database together.';
comment on column sync.rate_limits.next_at is 'When a burst may leave again: the theoretical arrival time of the next request.';
comment on column sync.rate_limits.counted is 'Places that count against the limit of 60 s. By process: those in hand and in flight, for two minutes at most. By process and half second: those answered then, for a minute. Each is an array of the number of places and of when they cease to count, in ms since 1970.';
