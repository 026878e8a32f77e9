/** The roles that migrations create for people, if the migrating role may: `migrations/repeatable/10_rights.sql`. */
import { sql } from 'kysely';
import type { Database, Queryable } from './database.ts';

export const rolesForPeople = [
  'musterd_reader',
  'musterd_editor',
  'musterd_role_editor',
  'musterd_approver',
] as const;

/** The roles for people that exist without rights in this database; empty if the connected role may not grant rights. */
export async function rolesWithoutRights(db: Queryable): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string }>`
    select r.rolname::text as name
    from pg_roles r join pg_namespace n on n.nspname = 'mirror' and pg_has_role(n.nspowner, 'usage')
    where r.rolname = any (${rolesForPeople}::text[])
      and to_regclass('mirror.roles') is not null and not exists (
      select from aclexplode(n.nspacl) a where a.grantee = r.oid
    )`.execute(db);
  return rows.map(({ name }) => name);
}

/**
 * Returns the steps for an administrator if the roles for people could not be created.
 *
 * @param willMigrate true if migrations will be applied after this. They create the roles if the connected role may.
 * @returns sentences and statements, line by line; empty if nothing is missing
 */
export async function missingRoles({ kysely }: Database, willMigrate = false): Promise<readonly string[]> {
  const { rows } = await sql<{ user: string; there: readonly string[]; mayCreate: boolean }>`
    select current_user as "user",
      array(select rolname::text from pg_catalog.pg_roles where rolname = any (${rolesForPeople}::text[])) as there,
      (select rolsuper or rolcreaterole from pg_catalog.pg_roles where rolname = current_user) as "mayCreate"`.execute(
    kysely,
  );
  const [{ user, there, mayCreate } = { user: '', there: [], mayCreate: false }] = rows;
  const missing = rolesForPeople.filter((name) => !there.includes(name));
  if (missing.length === 0 || (willMigrate && mayCreate)) return [];
  const why = mayCreate ? '' : `, and ${user} may not create roles`;
  const are = missing.length === 1 ? 'The role for people is not there' : 'Roles for people are not there';
  return [
    `${are}${why}. An administrator can make ${missing.length === 1 ? 'it' : 'them'}:`,
    ...missing.map((name) => `  create role ${name} nologin;`),
    'Then "musterd migrate" grants them their rights, and so does each start that migrates.',
  ];
}
