-- What is known of the service itself, shared by all processes that talk to it.

create table sync.rate_limits (
  team       text primary key,
  next_at    timestamptz not null,
  burst      double precision,
  per_minute double precision,
  learned_at timestamptz
);
comment on table sync.rate_limits is 'One row a team: the pace of all processes on this database together.';
comment on column sync.rate_limits.team is 'Name of the team in the configuration.';
comment on column sync.rate_limits.next_at is 'When the bucket is full again: the theoretical arrival time of the next request.';
comment on column sync.rate_limits.burst is 'The burst that the service was last seen to stand.';
comment on column sync.rate_limits.per_minute is 'The rate that the service was last seen to stand.';
comment on column sync.rate_limits.learned_at is 'When the last two were learned.';

create table sync.probes (
  team      text not null,
  probe     text not null,
  answer    jsonb not null,
  probed_at timestamptz not null default clock_timestamp(),
  primary key (team, probe)
);
comment on table sync.probes is 'What "musterd check" found out about points that the interface leaves open.';
comment on column sync.probes.team is 'Name of the team in the configuration.';
comment on column sync.probes.probe is 'What was asked.';
comment on column sync.probes.answer is 'What the service did.';
comment on column sync.probes.probed_at is 'When it was asked.';

create table sync.credentials (
  team             text not null,
  fingerprint      text not null,
  last_accepted_at timestamptz not null,
  primary key (team, fingerprint)
);
comment on table sync.credentials is 'When each credential was last accepted, so that an old one can be revoked.';
comment on column sync.credentials.team is 'Name of the team in the configuration.';
comment on column sync.credentials.fingerprint is 'First 16 hex digits of the SHA-256 of the Secret ID or of the API key.';
comment on column sync.credentials.last_accepted_at is 'When the service last accepted it.';
