/** The endpoints for team, users and inboxes. */
import type { RowsBefore, SendOptions, UserFilter, UsersAnswer } from '../model/service-request.ts';
import { canonicalPhone } from '../model/canonical.ts';
import type { Id } from '../model/id.ts';
import type { RejectedRow } from '../model/rejected-row.ts';
import type { TeamBefore, Team } from '../model/team.ts';
import type { UserPatch } from '../model/user.ts';
import { type MakeCall, readLeft, type Reply } from './call.ts';
import { operations } from './operation.ts';
import { createRowSieve } from './row-sieve.ts';
import { withSmallNursery } from './small-nursery.ts';
import { decodeInbox, type Inbox } from './messages/wire-inbox.ts';
import { decodePage } from './wire-lists.ts';
import { decodeMembers, decodeTeam } from './wire-team.ts';
import { decodeMemberships, decodeUsers, encodeUserFilter, encodeUserPatch } from './wire-user.ts';

export interface InboxesAnswer {
  readonly inboxes: readonly Inbox[];
  readonly rejected: readonly RejectedRow[];
  readonly requestId: string | null;
}

export interface RosterEndpoints {
  /**
   * `GET /v1/team` (interface.md, Endpoints; Team): the team of the credentials and who is in it.
   *
   * @param known a team that was read before
   */
  team(known?: TeamBefore): Promise<Team>;
  /**
   * `GET /v1/users/get` with a JSON body (interface.md, Endpoints, note 1): "returns the team's users
   * matching the given phones or emails". The answer to an empty filter is not documented.
   *
   * @param isLeft whether an answer about everybody is left unread
   */
  users(filter: UserFilter, isLeft?: boolean): Promise<UsersAnswer>;
  /**
   * `POST /v1/users/update` (interface.md, Endpoints, note 2): at most 25 users, by our own rule. A write:
   * repeated only if it certainly had no effect, and never after a 429, because its values may be old
   * after the pause. The answer may lack users, and its values may differ from those sent.
   *
   * @throws RangeError for more than 25 users, or for clearing an email or a role
   */
  updateUsers(patches: ReadonlyMap<Id, UserPatch>, options?: SendOptions): Promise<UsersAnswer>;
  /** `GET /v1/inboxes` (interface.md, Endpoints; Inbox): all of them, in one answer. */
  inboxes(): Promise<InboxesAnswer>;
}

const maxPatches = 25;
const nobody: UsersAnswer = { users: [], rejected: [], requestId: null };

function takeTeam(reply: Reply, known: TeamBefore | undefined): Team {
  if (reply.body.read === undefined || known === undefined) return decodeTeam(reply);
  let whole: Promise<Team> | undefined;
  const readTeam = () => (whole ??= withSmallNursery(async () => decodeTeam(await readLeft(reply))));
  return { ...known, members: [], rejected: [], raw: {}, read: readTeam };
}

const memberships = { property: 'memberships', decode: decodeUsers };

/** Asks for everybody. */
async function readEverybody(call: MakeCall, isLeft: boolean): Promise<UsersAnswer> {
  const sieve = createRowSieve();
  const list = { long: { ...memberships, sieve }, isLeft: () => isLeft };
  const reply = await call({ operation: operations.users, body: {}, list });
  const { digest = '', read: readBody } = reply.body;
  if (readBody === undefined) return { ...decodeMemberships(reply), digest };
  const read = async (before?: RowsBefore): Promise<UsersAnswer> => {
    const news = createRowSieve(before);
    const body = await readBody(news);
    if (body === null) return await readEverybody(call, false);
    const answer = { ...decodeMemberships({ ...reply, body }), digest };
    // A list that could not be cut into pieces is there as a whole.
    if (before === undefined || answer.hashes === undefined) return answer;
    const changed = answer.rejected.length === 0 ? news.changed() : null;
    return changed === null ? await readEverybody(call, false) : { ...answer, changed };
  };
  return { ...nobody, digest, read: (before) => withSmallNursery(() => read(before)) };
}

export function createRosterEndpoints(call: MakeCall): RosterEndpoints {
  return {
    team: (known) =>
      withSmallNursery(async () => {
        const long = { property: 'members', decode: decodeMembers };
        const list = { long, isLeft: (digest: string) => digest === known?.digest };
        return takeTeam(await call({ operation: operations.team, list }), known);
      }),
    users: async ({ emails, phones }, isLeft = false) => {
      const filter = { emails, phones: phones.filter((phone) => canonicalPhone(phone) !== '') };
      if (emails.length + phones.length === 0)
        return await withSmallNursery(() => readEverybody(call, isLeft));
      // Phones without a digit find nobody, and an empty filter would return all users.
      if (emails.length + filter.phones.length === 0) return nobody;
      const list = { long: memberships };
      return await withSmallNursery(async () =>
        decodeMemberships(await call({ operation: operations.users, body: encodeUserFilter(filter), list })),
      );
    },
    updateUsers: async (patches, options) => {
      if (patches.size === 0) return nobody;
      if (patches.size > maxPatches) throw new RangeError(`at most ${maxPatches} users are sent at once`);
      const users = [...patches].map(([id, patch]) => encodeUserPatch(id, patch));
      return decodeMemberships(
        await call({ operation: operations.updateUsers, body: { users }, ...options }),
      );
    },
    inboxes: async () => {
      const reply = await call({ operation: operations.inboxes });
      const { rows: inboxes, rejected } = decodePage(reply, 'inboxes', decodeInbox);
      return { inboxes, rejected, requestId: reply.requestId };
    },
  };
}
