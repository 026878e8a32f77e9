-- Runs compare everybody: what was kept to leave users out is no longer read.
drop function if exists sync.listing_rests(bigint), sync.rest(bigint), sync.reach(text), sync.mark();
delete from sync.learned where topic like '% at rest';
alter table sync.learned drop column hashes;
-- A place is taken by one statement of the program.
drop function if exists sync.take_places(text, float8, float8, float8, float8, float8, float8, jsonb);
alter table sync.rate_limits drop column counted;
delete from sync.learned where topic = 'rate';
