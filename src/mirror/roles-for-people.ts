/** The roles that migrations make for people, where the migrating role may. */
import { sql } from 'kysely';
import type { Database } from './database.ts';

export const rolesForPeople = ['musterd_reader', 'musterd_editor', 'musterd_role_editor'] as const;

export interface RolesForPeople {
  /** Who is connected. */
  readonly user: string;
  /** In the order of the list. */
  readonly missing: readonly string[];
  /** Whether the connected role may create roles. */
  readonly mayCreate: boolean;
}

export async function readRolesForPeople<T>(
  { kysely }: Database<T>,
  names: readonly string[] = rolesForPeople,
): Promise<RolesForPeople> {
  const { rows } = await sql<{ user: string; there: readonly string[]; may: boolean }>`
    select current_user as "user",
      array(select rolname::text from pg_catalog.pg_roles where rolname = any (${names}::text[])) as there,
      (select rolsuper or rolcreaterole from pg_catalog.pg_roles where rolname = current_user) as may`.execute(
    kysely,
  );
  const [{ user, there, may } = { user: '', there: [], may: false }] = rows;
  return { user, missing: names.filter((name) => !there.includes(name)), mayCreate: may };
}
