/** Findings of `musterd check` about the service, kept between checks. */
import { sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { writeLearned } from './learned.ts';

export interface Probe {
  /** For example `users/get without a filter`. */
  readonly probe: string;
  /** The finding of the probe about the service, as texts and values. */
  readonly answer: unknown;
}

export async function writeProbes(db: Database, team: string, probes: readonly Probe[]): Promise<void> {
  const learned = probes.map(({ probe, answer }) => ({ topic: probe, value: answer }));
  if (learned.length > 0) await db.transaction((tx) => writeLearned(tx, team, learned));
}

/** Finds objects in musterd's schemas that musterd did not create, such as "index mirror.users_by_department". */
export async function othersObjects(
  { kysely }: Database,
  isOurs: (name: string) => boolean,
): Promise<readonly string[]> {
  const { rows } = await sql<{ kind: string; place: string; name: string }>`
    select o.kind, concat_ws('.', n.nspname, o.place) as place, o.name from pg_namespace n
    join lateral (
      select case c.relkind when 'i' then 'index' when 'v' then 'view' when 'm' then 'materialized view' when 'S' then 'sequence'
        when 'c' then 'type' else 'table' end as kind, null as place, c.relname as name
      from pg_class c where c.relnamespace = n.oid and c.relkind in ('r', 'p', 'v', 'm', 'f', 'i', 'S', 'c')
        and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'i')
      union all select 'function', null, p.proname from pg_proc p where p.pronamespace = n.oid
      union all select 'type', null, t.typname from pg_type t where t.typnamespace = n.oid and t.typtype in ('e', 'd', 'r')
      union all select p.kind, c.relname, p.name from pg_class c join lateral (
        select 'trigger' as kind, t.tgname as name from pg_trigger t where t.tgrelid = c.oid and not t.tgisinternal
        union all select 'policy', y.polname from pg_policy y where y.polrelid = c.oid
        union all select 'constraint', k.conname from pg_constraint k where k.conrelid = c.oid and k.contype in ('c', 'f', 'u', 'x')
        union all select 'column', a.attname from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      ) p on c.relkind in ('r', 'p') where c.relnamespace = n.oid
    ) o on true
    where n.nspname in ('mirror', 'report', 'sync')
    order by 1, 2, 3`.execute(kysely);
  const others = rows.filter(({ name }) => !isOurs(name));
  // The columns of a table that others created are left out, because the table itself is reported.
  const isTable = (name: string) =>
    others.some((one) => one.kind === 'table' && name === `${one.place}.${one.name}`);
  return others
    .filter(({ place }) => !isTable(place))
    .map(({ kind, place, name }) => `${kind} ${place}.${name}`);
}

/** Reads which of the rights that a run needs the connected role lacks. */
export async function missingPrivileges(
  { kysely }: Database,
  isOurs: (name: string) => boolean,
): Promise<readonly string[]> {
  const { rows } = await sql<{ missing: string; name: string }>`
    select format('%s on %s.%s', p.privilege, n.nspname, c.relname) as missing, c.relname as name
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    cross join lateral (values ('SELECT'), ('INSERT'), ('UPDATE'), ('DELETE')) p (privilege)
    where n.nspname in ('mirror', 'sync') and c.relkind in ('r', 'p')
      and not has_table_privilege(c.oid, p.privilege)
    order by 1`.execute(kysely);
  return rows.filter(({ name }) => isOurs(name)).map(({ missing }) => missing);
}

/** The schemas of the search_path in which roles other than the database's owner and this role can create functions. */
export async function openSchemas({ kysely }: Database): Promise<readonly string[]> {
  const { rows } = await sql<{ schema: string }>`
    select distinct n.nspname as schema
    from pg_settings s
    join pg_namespace n on n.nspname = any (
      regexp_split_to_array(replace(replace(s.reset_val, '"$user"', current_user), '"', ''), '\\s*,\\s*'))
    cross join lateral aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) a
    left join pg_roles r on r.oid = a.grantee
    where s.name = 'search_path' and a.privilege_type = 'CREATE'
      and (a.grantee = 0 or (not r.rolsuper and r.rolname not in ('pg_database_owner', current_user)))
    order by 1`.execute(kysely);
  return rows.map(({ schema }) => schema);
}

export async function readServer({
  kysely,
}: Database): Promise<{ readonly version: string; readonly encoding: string; readonly user: string }> {
  const { rows } = await sql<{ version: string; encoding: string; user: string }>`
    select current_setting('server_version') as version, current_setting('server_encoding') as encoding, current_user as "user"`.execute(
    kysely,
  );
  return rows[0] ?? { version: 'unknown', encoding: 'unknown', user: 'unknown' };
}

/** True if the connected role can run programs on the server, or read or write its files. A superuser can. */
export async function reachesBeyondTables({ kysely }: Database): Promise<boolean> {
  const { rows } = await sql<{ may: boolean }>`
    select bool_or(pg_has_role(rolname, 'member')) as may from pg_roles
    where rolname in ('pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files')`.execute(
    kysely,
  );
  return rows[0]?.may === true;
}
