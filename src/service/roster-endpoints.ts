/** The endpoints for team, users and inboxes. */
import type { KnownUsers, SendOptions, UserFilter, UsersAnswer } from '../model/service-request.ts';
import { canonicalPhone } from '../model/canonical.ts';
import type { Id } from '../model/id.ts';
import type { RejectedRow } from '../model/rejected-row.ts';
import type { TeamBefore, Team } from '../model/team.ts';
import type { ServiceUser, UserPatch } from '../model/user.ts';
import type { MakeCall, Reply } from './call.ts';
import type { AnswerNews } from './page.ts';
import { takeAllNews } from './row-news.ts';
import { operations } from './operation.ts';
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
   * @param known an earlier answer
   */
  users(filter: UserFilter, known?: KnownUsers): Promise<UsersAnswer>;
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

function takeUsers(reply: Reply): UsersAnswer {
  const { digest, read, readNews, news } = reply.body;
  const known = digest === undefined ? {} : { digest };
  if (news !== undefined) return { ...usersOfNews(reply, news), ...known };
  if (read === undefined) return { ...decodeMemberships(reply), ...known };
  return {
    ...nobody,
    ...known,
    read: () => withSmallNursery(async () => takeUsers({ ...reply, body: await read() })),
    readNews: (before) =>
      withSmallNursery(async () => {
        const found = (await readNews?.(takeAllNews(before))) ?? null;
        return found === null ? null : { ...usersOfNews(reply, found), ...known };
      }),
  };
}

function usersOfNews({ requestId }: Reply, { rows, changed, noted }: AnswerNews): UsersAnswer {
  const users = rows as readonly ServiceUser[];
  return {
    users,
    rejected: [],
    requestId,
    changed: new Set(changed),
    ...(noted === undefined ? {} : { noted }),
  };
}

function takeTeam(reply: Reply, known: TeamBefore | undefined): Team {
  const { read } = reply.body;
  if (read === undefined || known === undefined) return decodeTeam(reply);
  let whole: Promise<Team> | undefined;
  const readTeam = () =>
    (whole ??= withSmallNursery(async () => decodeTeam({ ...reply, body: await read() })));
  return { ...known, members: [], rejected: [], raw: {}, read: readTeam };
}

export function createRosterEndpoints(call: MakeCall): RosterEndpoints {
  return {
    team: (known) =>
      withSmallNursery(async () => {
        const list = { long: { property: 'members', decode: decodeMembers }, known: known?.digest };
        return takeTeam(await call({ operation: operations.team, list }), known);
      }),
    users: async ({ emails, phones }, known) => {
      const filter = { emails, phones: phones.filter((phone) => canonicalPhone(phone) !== '') };
      const asksForAll = emails.length + filter.phones.length === 0;
      // Phones without a digit find nobody, and an empty filter would return all users.
      if (asksForAll && phones.length > 0) return nobody;
      const body = encodeUserFilter(filter);
      const long = { property: 'memberships', decode: decodeUsers, isNoted: asksForAll };
      const takeNews = async () => {
        const before = (await known?.before()) ?? null;
        return before === null ? null : takeAllNews(before);
      };
      const list = { long, known: known?.digest, takeNews };
      return await withSmallNursery(async () =>
        takeUsers(await call({ operation: operations.users, body, list })),
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
