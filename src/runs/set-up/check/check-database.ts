import type { Database } from '../../../mirror/db/database.ts';
import { readPlacing } from '../../../mirror/team/known-place.ts';
import { createIsOurs, pendingMigrations } from '../../../mirror/migrations.ts';
import { missingPrivileges, openSchemas, othersObjects, readServer } from '../../../mirror/team/probes.ts';
import { firstOf } from '../../../model/in-words.ts';
import { adviceOn, placeInWords } from '../../../model/place.ts';
import type { Report } from './check-report.ts';
import { inShort } from '../../open.ts';
import { missingRoles } from '../../../mirror/db/roles-for-people.ts';

/** Reports whether the mirror is at its recorded place, because from any other place, runs send nothing. */
async function checkPlace(db: Database, report: Report): Promise<void> {
  const placing = await readPlacing(db);
  const { verdict } = placing;
  const advice = adviceOn(placing);
  const level = verdict === 'elsewhere' ? 'fail' : verdict === 'copy' ? 'note' : 'ok';
  report.add('place', level, `${placeInWords(placing)}${advice === '' ? '' : `. ${advice}`}`);
}

/** Checks version, encoding, migrations, privileges. @returns true if the schema is complete */
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
        `not applied yet: ${inShort(pending)}; reconcile and "musterd migrate" apply it`,
      );
      return false;
    }
    report.add('migrations', 'ok', 'complete');
    await checkPlace(db, report);
    const isOurs = createIsOurs();
    const others = await othersObjects(db, isOurs);
    if (others.length > 0) report.add("others' objects in our schemas", 'ok', others.join(', '));
    const missing = await missingPrivileges(db, isOurs);
    if (missing.length > 0) report.add('privileges', 'fail', `${user} lacks ${firstOf(missing)}`);
    else report.add('privileges', 'ok', 'all that a run needs');
    const open = await openSchemas(db);
    const advice = open.map((name) => `revoke create on schema ${name} from …`).join('; ');
    if (open.length === 0) report.add('search_path', 'ok', 'no other role can create in its schemas');
    else
      report.add(
        'search_path',
        'note',
        `other roles may create functions in it, and people's SQL would call them: ${advice}`,
      );
    return true;
  } catch (error) {
    report.fail('database', error);
    return false;
  }
}
