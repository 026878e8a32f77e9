-- Two roles to grant to people: who reads, and who edits. Roles belong to the whole server, so they may be
-- there already; where the migrating role may not make any, nothing is granted and README.md says how.

do $$
begin
  if not exists (select from pg_roles where rolname = 'musterd_reader') then
    create role musterd_reader nologin;
  end if;
  if not exists (select from pg_roles where rolname = 'musterd_editor') then
    create role musterd_editor nologin;
  end if;
exception
  when insufficient_privilege then
    raise notice 'musterd_reader and musterd_editor were not created: this role may not create roles';
  when duplicate_object or unique_violation then
    null; -- another database of this server was migrated in the same moment
end
$$;

do $$
begin
  if not exists (select from pg_roles where rolname = 'musterd_reader')
     or not exists (select from pg_roles where rolname = 'musterd_editor') then
    return;
  end if;
  grant usage on schema mirror, report to musterd_reader, musterd_editor;
  grant select on all tables in schema mirror, report to musterd_reader, musterd_editor;
  grant update (first_name, last_name, name_split, email, phone, role_id) on mirror.users to musterd_editor;
  grant insert, delete on mirror.user_lookups to musterd_editor;
end
$$;
