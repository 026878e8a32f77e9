/** Finds out, only by reading, how the service behaves in points that the interface does not define. */
import type { Config } from '../../../config/config.ts';
import { isRefusal, ServiceError } from '../../../errors.ts';
import type { Database } from '../../../mirror/db/database.ts';
import type { Id } from '../../../model/id.ts';
import inboxes from '../../../model/listed/inboxes.ts';
import { inPlural, type ListedResource } from '../../../model/listed-resource.ts';
import { listedResources } from '../../../model/listed-resources.ts';
import { nothingLearned } from '../../../model/listing.ts';
import type { Team } from '../../../model/team.ts';
import type { ServiceUser } from '../../../model/user.ts';
import type { ServiceClient } from '../../../service/client.ts';
import { probeFields } from './check-fields.ts';
import { checkInWords, type Report } from './check-report.ts';
import { plural } from '../../../model/in-words.ts';

/** Larger than any page size that a service is likely to allow. */
const largeLimit = 1000;

export async function probeService(
  service: ServiceClient,
  team: Team,
  config: Config,
  db: Database | undefined,
  report: Report,
): Promise<void> {
  const users = await probeUnfilteredUsers(service, team, report);
  await attempt(report, 'fields of users', () => probeFields(service, team, users, db, report));
  await probeIds(
    service,
    team,
    users.map(({ id }) => id),
    report,
  );
  const size = config.pages.size;
  for (const resource of listedResources.filter(({ list }) => list.isPaged))
    await probeListing(resource, size, service, report);
}

/** Runs one probe. If it gets no answer, the other probes still run. */
async function attempt(report: Report, probe: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code === 'credentials') throw error;
    report.probe(probe, { error: error.message }, 'fail', checkInWords(error));
  }
}

async function probeUnfilteredUsers(
  service: ServiceClient,
  team: Team,
  report: Report,
): Promise<readonly ServiceUser[]> {
  const probe = 'users/get without a filter';
  let users: readonly ServiceUser[] = [];
  await attempt(report, probe, async () => {
    try {
      users = (await service.users({ emails: [], phones: [] })).users;
      const listed = team.members.length;
      const answer = {
        answer: users.length === 0 ? 'nobody' : users.length < listed ? 'some' : 'all',
        users: users.length,
        members: listed,
      };
      const missing = Math.max(0, listed - users.length);
      const detail = `${plural(users.length, 'user')} for ${plural(listed, 'member')}`;
      const hint =
        missing > 0 ? `; the other ${missing} are looked up by address: see mirror.user_lookups` : '';
      report.probe(probe, answer, missing > 0 ? 'note' : 'ok', detail + hint);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      report.probe(
        probe,
        { answer: 'refused', status: error.status },
        'note',
        `${error.status}; all users are looked up by address: see mirror.user_lookups`,
      );
    }
  });
  return users;
}

/** Finds out whether team, users and inboxes use the same id for a person. */
async function probeIds(
  service: ServiceClient,
  team: Team,
  users: readonly Id[],
  report: Report,
): Promise<void> {
  await attempt(report, 'ids across endpoints', async () => {
    const members = new Set(team.members.map(({ id }) => id));
    const { rows } = await service.list(inboxes, { memory: nothingLearned });
    const inInboxes = [...new Set(rows.flatMap((inbox) => (inbox['members'] ?? []) as readonly Id[]))];
    const strangers = (ids: readonly Id[]) => ids.filter((id) => !members.has(id)).length;
    const answer = {
      users: users.length,
      users_not_in_team: strangers(users),
      inbox_members: inInboxes.length,
      inbox_members_not_in_team: strangers(inInboxes),
    };
    const agree = answer.users_not_in_team + answer.inbox_members_not_in_team === 0;
    const detail = agree
      ? 'team, users and inboxes agree'
      : `${answer.users_not_in_team} of ${users.length} users and ${answer.inbox_members_not_in_team} of ${inInboxes.length} inbox members are not in the team listing`;
    report.probe('ids across endpoints', answer, agree ? 'ok' : 'note', detail);
  });
}

async function probeListing(
  resource: ListedResource,
  size: number | undefined,
  service: ServiceClient,
  report: Report,
): Promise<void> {
  const name = inPlural(resource);
  await attempt(report, `${name}: pages`, async () => {
    const listing = await service.list(resource, { memory: nothingLearned, size });
    const { rows, requests, status } = listing;
    const answer = { rows: rows.length, requests, complete: status === 'complete' };
    if (listing.status === 'complete' && !listing.isOffered) {
      const detail = 'the service has no such listing (404), so it counts as empty';
      report.probe(`${name}: pages`, { ...answer, status: 404 }, 'note', detail);
      return;
    }
    if (listing.status === 'complete')
      report.probe(
        `${name}: pages`,
        answer,
        'ok',
        `${plural(rows.length, 'row')} in ${plural(requests, 'request')}`,
      );
    else report.probe(`${name}: pages`, { ...answer, because: listing.because }, 'fail', listing.because);
    await probeCap(name, resource.list.path, rows.length, service, report);
  });
}

/** Finds the largest number of rows on a page. It can be found only if the listing has more rows. */
async function probeCap(
  name: string,
  path: string,
  rows: number,
  service: ServiceClient,
  report: Report,
): Promise<void> {
  const probe = `${name}: largest limit`;
  try {
    const rowsOf = async (page: number) => {
      const { value } = await service.request('POST', path, { limit: largeLimit, page });
      return Array.isArray(value) ? value.length : 0;
    };
    // Some services refuse page 0, and number their pages from 1.
    const first = await rowsOf(0).catch((error: unknown) => {
      if (isRefusal(error)) return 0;
      throw error;
    });
    const got = first > 0 ? first : await rowsOf(1);
    const cap = got < Math.min(rows, largeLimit) ? got : null;
    const detail =
      cap === null
        ? `at least ${Math.min(Math.max(got, rows), largeLimit)}`
        : `${cap}; a larger one is cut silently`;
    report.probe(probe, { asked: largeLimit, got, cap }, 'ok', detail);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    report.probe(
      probe,
      { asked: largeLimit, status: error.status },
      'ok',
      `below ${largeLimit}, which is answered with ${error.status}`,
    );
  }
}
