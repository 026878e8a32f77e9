-- The rows of the last answers, so that one that comes again need not be parsed.

alter table sync.learned add column rows bytea;
alter table sync.learned alter column rows set storage external;
comment on column sync.learned.rows is 'Of what is at rest: the rows of the answer in which it was found so, as digests of some rows each and their ids.';
delete from sync.learned where topic like '% at rest';
