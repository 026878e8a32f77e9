-- Runs compare everybody: what was kept to leave users out is no longer read.
drop function if exists sync.listing_rests(bigint);
drop function if exists sync.rest(bigint);
drop function if exists sync.reach(text);
drop function if exists sync.mark();
delete from sync.learned where topic like '% at rest';
alter table sync.learned drop column hashes;
