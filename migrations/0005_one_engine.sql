-- Runs compare everybody: what was kept to leave users out is no longer read. A place is taken by one statement of the program.
drop function if exists sync.listing_rests(bigint), sync.rest(bigint), sync.reach(text), sync.mark(), sync.take_places(text, float8, float8, float8, float8, float8, float8, jsonb);
delete from sync.learned where topic like '% at rest' or topic = 'rate';
alter table sync.learned drop column hashes;
alter table sync.rate_limits drop column counted;
