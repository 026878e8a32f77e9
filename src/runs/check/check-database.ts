import type { Database } from '../../mirror/database.ts';
import { pendingMigrations } from '../../mirror/migrations.ts';
import { missingPrivileges, openSchemas, readServer } from '../../mirror/probes.ts';
import type { Report } from './check-report.ts';
import { inShort } from '../open.ts';
import { missingRoles } from '../../mirror/missing-roles.ts';

/** Checks version, encoding, migrations, privileges. @returns whether the schema is complete */
export async function checkDatabase(db: Database, report: Report): Promise<boolean> {
  try {
    const { version, encoding, user } = await readServer(db);
    report.add('database', 'ok', `Postgres ${version}, ${encoding}, as ${user}`);
    const pending = await pendingMigrations(db);
    const roles = await missingRoles(db, pending.length > 0);
    if (roles.length > 0) report.add('roles for people', 'note', roles.map((line) => line.trim()).join(' '));
    if (pending.length > 0) {
      report.add(
        'migrations',
        'note',
        `not applied yet: ${inShort(pending)}; reconcile and "musterd migrate" do it`,
      );
      return false;
    }
    report.add('migrations', 'ok', 'complete');
    const missing = await missingPrivileges(db);
    if (missing.length > 0) report.add('privileges', 'fail', `${user} lacks ${missing.join(', ')}`);
    else report.add('privileges', 'ok', 'all that a run needs');
    const open = await openSchemas(db);
    const advice = open.map((name) => `revoke create on schema ${name} from …`).join('; ');
    if (open.length === 0) report.add('search_path', 'ok', 'nobody else creates in its schemas');
    else
      report.add(
        'search_path',
        'note',
        `others may create functions in it, which people's SQL calls: ${advice}`,
      );
    return true;
  } catch (error) {
    report.fail('database', error);
    return false;
  }
}
