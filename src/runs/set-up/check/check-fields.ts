/** Checks that the service shows the writable fields of users, and that they can be read. */
import { isRefusal } from '../../../errors.ts';
import type { Database } from '../../../mirror/db/database.ts';
import { readKnownAddresses } from '../../../mirror/users/verify-read.ts';
import { columnOf, fields } from '../../../model/fields.ts';
import type { Team } from '../../../model/team.ts';
import { type FieldReading, type ServiceUser, readingOf } from '../../../model/user.ts';
import type { ServiceClient } from '../../../service/client.ts';
import type { Report } from './check-report.ts';
import { plural } from '../../../model/in-words.ts';

const probe = 'fields of users';
/** The number of addresses to look up if the service does not list users without a filter. */
const maxAddresses = 50;

/** The users that the service returns for addresses in the mirror. */
async function lookSomeUp(service: ServiceClient, team: Team, db: Database): Promise<readonly ServiceUser[]> {
  const addresses = await readKnownAddresses(db.kysely, team.id);
  const emails = addresses.flatMap(({ email }) => email ?? []).slice(0, maxAddresses);
  const phones = addresses.flatMap(({ phone }) => phone ?? []).slice(0, maxAddresses - emails.length);
  if (emails.length + phones.length === 0) return [];
  try {
    return (await service.users({ emails, phones })).users;
  } catch (error) {
    if (isRefusal(error)) return [];
    throw error;
  }
}

export async function probeFields(
  service: ServiceClient,
  team: Team,
  answered: readonly ServiceUser[],
  db: Database | undefined,
  report: Report,
): Promise<void> {
  const users = answered.length > 0 || db === undefined ? answered : await lookSomeUp(service, team, db);
  if (users.length === 0) return;
  const count = (wanted: FieldReading) =>
    Object.fromEntries(
      fields
        .map(
          (field) =>
            [columnOf(field), users.filter((user) => readingOf(field, user) === wanted).length] as const,
        )
        .filter(([, times]) => times > 0),
    );
  const [unreadable, leftOut] = [count('unreadable'), count('left out')];
  const inWords = (of: Readonly<Record<string, number>>, what: string) =>
    Object.entries(of).map(([column, times]) => `${column} ${what} of ${times}`);
  const details = [...inWords(unreadable, 'cannot be read'), ...inWords(leftOut, 'is left out')];
  const verdict = Object.keys(unreadable).length > 0 ? 'fail' : details.length > 0 ? 'note' : 'ok';
  const detail = details.length === 0 ? 'all are shown' : details.join(', ');
  report.probe(
    probe,
    { users: users.length, unreadable, left_out: leftOut },
    verdict,
    `${plural(users.length, 'user')}: ${detail}`,
  );
}
