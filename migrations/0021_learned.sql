-- What was learned of a team's deployment stands in one table, a row a topic: what was tried out, when each credential
-- was last accepted, how listings are read, what pace the service stands. The table of what was tried out becomes it, so
-- that who might read and write that may go on.

alter table sync.probes rename to learned;
alter table sync.learned rename constraint probes_pkey to learned_pkey;
alter table sync.learned rename column probe to topic;
alter table sync.learned rename column answer to value;
alter table sync.learned rename column probed_at to learned_at;
comment on table sync.learned is 'What was learned of a team''s deployment, from run to run. All of it can be deleted: it is learned again.';
comment on column sync.learned.topic is '"credential" and the first 16 hex digits of the SHA-256 of a Secret ID or an API key. "listing" and tags or contact_fields: how its pages are read. "rate": the pace that the service stands. Anything else: what "musterd check" or a run found out about a point that the interface leaves open.';
comment on column sync.learned.value is 'What it is known to be; of a credential: true.';
comment on column sync.learned.learned_at is 'When it was found out; of a credential, when the service last accepted it.';

insert into sync.learned (team, topic, value, learned_at)
select team, 'credential ' || fingerprint, 'true', last_accepted_at from sync.credentials
union all
select t.team, 'listing ' || l.resource,
  jsonb_build_object('firstPage', l.first_page, 'limit', l.row_limit, 'pages', l.pages, 'cursor', l.cursor), l.learned_at
from sync.listings l join sync.teams t using (team_id)
union all
select team, 'rate', jsonb_build_object('burst', burst, 'perMinute', per_minute), learned_at from sync.rate_limits
where burst is not null and per_minute is not null and learned_at is not null;

drop table sync.credentials, sync.listings;
alter table sync.rate_limits drop column burst, drop column per_minute, drop column learned_at;
