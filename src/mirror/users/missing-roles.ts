/** What an administrator has to do if the roles for people could not be created. */
import type { Database } from '../db/database.ts';
import { readRolesForPeople } from '../db/roles-for-people.ts';

/**
 * @param willMigrate whether migrations are still to be applied, which create the roles if they may
 * @returns sentences and statements, line by line; empty if nothing is missing
 */
export async function missingRoles(db: Database, willMigrate = false): Promise<readonly string[]> {
  const { user, missing, mayCreate } = await readRolesForPeople(db);
  if (missing.length === 0 || (willMigrate && mayCreate)) return [];
  const why = mayCreate ? '' : `, and ${user} may not create roles`;
  const are = missing.length === 1 ? 'The role for people is not there' : 'Roles for people are not there';
  return [
    `${are}${why}. An administrator can make ${missing.length === 1 ? 'it' : 'them'}:`,
    ...missing.map((name) => `  create role ${name} nologin;`),
    'Then "musterd migrate" grants them their rights, and so does each start that migrates.',
  ];
}
