-- The functions of the mirror look names up in pg_catalog alone. A name without a schema is looked up along the
-- search_path of the session, and a function of public that fits a call better than Postgres's own, such as
-- public.concat(text, text), would run in its place: in musterd's own updates, with the rights of the owner.
-- Views, policies and bodies of "begin atomic" are bound when they are made, and need no path of their own.

alter function mirror.note_half() set search_path = pg_catalog, pg_temp;
alter function mirror.check_user_edit() set search_path = pg_catalog, pg_temp;
alter function mirror.refuse_edit() set search_path = pg_catalog, pg_temp;
alter function mirror.tell_of_edits() set search_path = pg_catalog, pg_temp;
alter function mirror.name_words(text) set search_path = pg_catalog, pg_temp;
