/** Finds on the service the inbox and the user that a command names. */
import { MusterdError } from '../../errors.ts';
import { hasWords, readUserQuery } from '../../mirror/users/user-query.ts';
import type { Id } from '../../model/id.ts';
import { printable } from '../../model/in-words.ts';
import inboxes from '../../model/listed/inboxes.ts';
import { nothingLearned } from '../../model/listing.ts';
import { canonicalName } from '../../model/name.ts';
import type { Team } from '../../model/team.ts';
import type { ServiceClient } from '../../service/client.ts';
import { findOnService } from '../ask-service.ts';
import { refuse } from '../named-user.ts';

interface Named {
  readonly id: Id;
  readonly name: string;
}

export interface NamedInbox extends Named {
  /** The ids of the inbox's members; `null` if the listing does not show them. */
  readonly members: readonly unknown[] | null;
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
  const query = readUserQuery(text);
  const id = await findOnService(service, team, { typed: text, query });
  const members = team.members.map((member) => ({ id: member.id, name: member.name ?? '' }));
  if (id === undefined) {
    const near = members.filter(({ name }) => hasWords(name, query));
    const [hint, shown] =
      near.length === 0
        ? ['Give an id, an email, a phone number or a whole name, such as:', members]
        : ['Did you mean one of these? Name one by the id:', near];
    throw refuse(`No user matches "${printable(text)}"`, hint, shown);
  }
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
