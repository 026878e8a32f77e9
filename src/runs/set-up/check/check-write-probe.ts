/** Finds side effects of updates by trying them on one user that the operator has named, and then undoes them. */
import type { SendOptions } from '../../../model/service-request.ts';
import type { Config } from '../../../config/config.ts';
import { MusterdError } from '../../../errors.ts';
import { readKnownUsers } from '../../../mirror/users/addresses.ts';
import type { Database } from '../../../mirror/db/database.ts';
import { takeLease } from '../../../mirror/team/lease.ts';
import { keepsNameProbe } from '../../../mirror/team/name-safety.ts';
import { readUserState } from '../../../mirror/users/users-read.ts';
import type { Id } from '../../../model/id.ts';
import { canonicalName, joinName, type NamePair, splitName } from '../../../model/name.ts';
import type { Team } from '../../../model/team.ts';
import { readable, type ServiceUser, type UserPatch } from '../../../model/user.ts';
import type { ServiceClient } from '../../../service/client.ts';
import type { Report } from './check-report.ts';

/** The user to try updates on, and an address to look them up by. */
interface Subject {
  readonly user: Required<Pick<ServiceUser, 'id' | 'name' | 'phone'>> & { readonly email: string };
  /** Both halves of the name, to restore it if an update clears it. */
  readonly name: NamePair;
  /** Guards the writes by the team's lease, if there is a mirror. */
  readonly guard: SendOptions;
}

/** Tries the updates. If there is a mirror, holds the team's lease meanwhile, so that no run sees the tried values. */
export async function probeWrites(
  service: ServiceClient,
  team: Team,
  db: Database | undefined,
  config: Config,
  userText: string,
  report: Report,
): Promise<void> {
  const lease =
    db === undefined ? undefined : await takeLease(db, config.team, { ttlMs: config.lease.ttlMs });
  try {
    const guard =
      lease === undefined ? {} : { beforeSend: () => lease.check(), atStart: () => lease.require() };
    const subject = { ...(await findSubject(service, team, db, userText)), guard };
    try {
      await probeEmail(service, subject, report);
      await probePhone(service, subject, report);
    } finally {
      await restore(service, subject, report);
    }
  } finally {
    await lease?.release();
  }
}

async function findSubject(
  service: ServiceClient,
  team: Team,
  db: Database | undefined,
  userText: string,
): Promise<Omit<Subject, 'guard'>> {
  const user = await findUser(service, team, db, userText);
  if (user === undefined) {
    throw new MusterdError('usage', `--write-probe: no user matches "${userText}"`, {
      hint: 'Give an email, a phone number or an id.',
    });
  }
  const { email } = user;
  if (typeof email !== 'string' || email === '') {
    throw new MusterdError('usage', `--write-probe: user ${user.id} has no email to test an update with`);
  }
  const joined = canonicalName(readable(user.name) ?? '');
  const mirror = db && (await readUserState(db.kysely, team.id, user.id)).mirror;
  return {
    user: { id: user.id, name: readable(user.name) ?? null, phone: readable(user.phone) ?? null, email },
    name: mirror !== undefined && joinName(mirror.name) === joined ? mirror.name : splitName(joined),
  };
}

async function findUser(
  service: ServiceClient,
  team: Team,
  db: Database | undefined,
  userText: string,
): Promise<ServiceUser | undefined> {
  if (userText.includes('@')) return (await service.users({ emails: [userText], phones: [] })).users[0];
  const digits = userText.replace(/^\+/, '');
  if (!/^\d+$/.test(digits)) return undefined;
  const id: Id = BigInt(digits);
  const [knownAddresses] = db === undefined ? [] : await readKnownUsers(db.kysely, team.id, [id]);
  const byId = async (emails: readonly string[], phones: readonly string[]) =>
    (await service.users({ emails, phones })).users.findLast((user) => user.id === id);
  if (knownAddresses !== undefined) return byId(knownAddresses.emails, knownAddresses.phones);
  if (team.members.some((member) => member.id === id)) return byId([], []);
  return (await service.users({ emails: [], phones: [digits] })).users[0];
}

/** Sends one update. @returns the user as the service then shows it, in the answer or by a lookup */
async function update(
  service: ServiceClient,
  { user, guard }: Subject,
  patch: UserPatch,
): Promise<ServiceUser> {
  const answer = await service.updateUsers(new Map([[user.id, patch]]), guard);
  const direct = answer.users.findLast(({ id }) => id === user.id);
  if (direct !== undefined) return direct;
  const emails = [user.email, ...(patch.email == null ? [] : [patch.email])];
  const seen = (await service.users({ emails, phones: [] })).users.findLast(({ id }) => id === user.id);
  if (seen === undefined) {
    throw new MusterdError(
      'service',
      `The service did not return user ${user.id} after the update; check the user in the web app`,
    );
  }
  return seen;
}

const keepsName = (user: Pick<ServiceUser, 'name'>, seen: ServiceUser) =>
  canonicalName(readable(seen.name) ?? '') === canonicalName(readable(user.name) ?? '');

/** Sends only the email, in another case, to find out whether the name stays and how the email is stored. */
async function probeEmail(service: ServiceClient, subject: Subject, report: Report): Promise<void> {
  const { user } = subject;
  const [local = '', domain = ''] = user.email.split('@');
  const upper = local.toUpperCase() === local ? local.toLowerCase() : local.toUpperCase();
  const tried = `${upper}@${domain}`;
  const seen = await update(service, subject, { email: tried });
  const kept = keepsName(user, seen);
  const stored = seen.email === tried ? 'as sent' : seen.email === user.email ? 'not changed' : 'normalised';
  const detail = kept ? 'yes' : 'no: the name is sent with pushes of other fields';
  report.probe(keepsNameProbe, { keeps_name: kept }, kept ? 'ok' : 'fail', detail);
  report.probe('case of a written email', { stored }, 'ok', stored);
}

/** Sends the phone unchanged, as digits, to find out in which form the service returns it. */
async function probePhone(service: ServiceClient, subject: Subject, report: Report): Promise<void> {
  const { phone } = subject.user;
  if (typeof phone !== 'string' || !/\d/.test(phone)) return;
  const seen = await update(service, subject, { phone });
  const form = readable(seen.phone)?.startsWith('+') === true ? 'with a plus sign' : 'as digits';
  report.probe('form of a written phone', { form }, 'ok', form);
}

/** Restores email and name, even if the lease is lost, because the tried values must not stay on the service. */
async function restore(service: ServiceClient, tried: Subject, report: Report): Promise<void> {
  const { user, name } = tried;
  const subject = { ...tried, guard: {} };
  const seen = await update(service, subject, { email: user.email });
  const restored = keepsName(user, seen) ? seen : await update(service, subject, { email: user.email, name });
  const same = restored.email === user.email && keepsName(user, restored);
  const detail = same
    ? `user ${user.id} is as before`
    : `user ${user.id} has changed: check the user in the web app`;
  report.add('write probe', same ? 'ok' : 'fail', detail);
}
