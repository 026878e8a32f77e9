/** Finds on the service the inbox and the user that a command names. */
import { MusterdError } from '../errors.ts';
import { readUserQuery } from '../mirror/users/user-query.ts';
import type { Id } from '../model/id.ts';
import { printable } from '../model/in-words.ts';
import inboxes from '../model/listed/inboxes.ts';
import { nothingLearned } from '../model/listing.ts';
import { canonicalName } from '../model/name.ts';
import type { Team } from '../model/team.ts';
import type { ServiceClient } from '../service/client.ts';
import { findOnService } from './ask-service.ts';

interface Named {
  readonly id: Id;
  readonly name: string;
}

export interface NamedInbox extends Named {
  /** The ids of its members; `null` if the listing does not show them. */
  readonly members: readonly unknown[] | null;
}

const mostShown = 10;

/** A refusal that lists at most ten of those that could be meant. */
function refuse(words: string, hint: string, found: readonly Named[]): MusterdError {
  const lines = found.slice(0, mostShown).map(({ id, name }) => printable(`${id}  ${name}`).trimEnd());
  if (found.length > mostShown) lines.push(`… and ${found.length - mostShown} more`);
  return new MusterdError('usage', words, { hint: [hint, ...lines].join('\n  ') });
}

/** @throws MusterdError `usage` if no inbox or several match; `service` if the listing is incomplete */
export async function requireNamedInbox(service: ServiceClient, text: string): Promise<NamedInbox> {
  const listing = await service.list(inboxes, { memory: nothingLearned });
  if (listing.status === 'incomplete')
    throw new MusterdError('service', `The listing of inboxes is incomplete: ${listing.because}`);
  const wanted = canonicalName(text).toLowerCase();
  const all = listing.rows.map(({ id, name, members }) => ({
    id,
    name: typeof name === 'string' ? name : '',
    members: Array.isArray(members) ? (members as readonly unknown[]) : null,
  }));
  const byId = all.filter(({ id }) => String(id) === wanted);
  const found =
    byId.length > 0 ? byId : all.filter(({ name }) => canonicalName(name).toLowerCase() === wanted);
  const [inbox] = found;
  if (!listing.isOffered) {
    if (/^[1-9]\d{0,17}$/.test(wanted)) return { id: BigInt(wanted), name: '', members: null };
    throw new MusterdError('usage', 'The service does not list its inboxes', {
      hint: 'Give the id of the inbox.',
    });
  }
  if (inbox !== undefined && found.length === 1) return inbox;
  if (inbox !== undefined)
    throw refuse(`${found.length} inboxes are called "${printable(text)}"`, 'Give the id of one:', found);
  throw refuse(`No inbox is called "${printable(text)}"`, 'Give the id or the name of one:', all);
}

/** @throws MusterdError `usage` if no user or several match */
export async function requireNamedUser(service: ServiceClient, team: Team, text: string): Promise<Named> {
  const id = await findOnService(service, team, { typed: text, query: readUserQuery(text) });
  const members = team.members.map((member) => ({ id: member.id, name: member.name ?? '' }));
  if (id === undefined)
    throw refuse(
      `No user matches "${printable(text)}"`,
      'Give an id, an email, a phone number or a whole name, such as:',
      members,
    );
  return members.find((member) => member.id === id) ?? { id, name: '' };
}

/** @throws MusterdError `usage` if the listing of inboxes shows that the user is not a member of this one */
export async function requireNamedMember(
  service: ServiceClient,
  team: Team,
  text: string,
  inbox: NamedInbox,
): Promise<Named> {
  const user = await requireNamedUser(service, team, text);
  if (inbox.members === null || inbox.members.includes(user.id)) return user;
  const { members } = inbox;
  throw refuse(
    printable(`User ${user.id} ${user.name} is not a member of inbox ${inbox.id} ${inbox.name}`),
    'Give one of its members, such as:',
    team.members.flatMap(({ id, name }) => (members.includes(id) ? [{ id, name: name ?? '' }] : [])),
  );
}
