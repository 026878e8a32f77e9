-- A field that the service does not show stays as it is: no limit stops all pushes for it.
delete from sync.held_fields where user_id is null;
alter table sync.held_fields drop constraint held_fields_key;
alter table sync.held_fields add constraint held_fields_pkey primary key (team_id, user_id, field);
comment on column sync.held_fields.user_id is 'The user.';

-- An approval is about values: if the service's value went there and back, it still holds.
alter table sync.held_fields drop column seen_version;
delete from sync.learned where topic = 'a version moves though no value does';
