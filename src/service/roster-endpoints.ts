/** The endpoints for team and users. */
import { isRefusal } from '../errors.ts';
import type {
  KnownAnswers,
  SendOptions,
  UserFilter,
  UsersAnswer,
  WholeAnswer,
} from '../model/service-request.ts';
import { canonicalPhone } from '../model/canonical.ts';
import type { Id } from '../model/id.ts';
import type { Team } from '../model/team.ts';
import type { UserPatch } from '../model/user.ts';
import type { MakeCall, Reply } from './call.ts';
import type { IsKnown } from './answer.ts';
import { operations } from './operation.ts';
import { decodeTeam } from './wire-team.ts';
import { decodeMemberships, encodeUserFilter, encodeUserPatch } from './wire-user.ts';

export interface RosterEndpoints {
  /** `GET /v1/team` (interface.md, Endpoints; Team): the team of the credentials and its members. */
  team(): Promise<Team>;
  /**
   * Reads the team, and all users in one answer. If the team's answer is new, the users are read only on demand.
   * @param known the digests of answers that need not be parsed
   * @returns `null` if both answers are known, so that nothing has changed
   */
  whole(known: KnownAnswers | null): Promise<WholeAnswer | null>;
  /**
   * `GET /v1/users/get` with a JSON body (interface.md, Endpoints, note 1): "returns the team's users
   * matching the given phones or emails". The answer to an empty filter is not documented; some deployments return all users.
   */
  users(filter: UserFilter): Promise<UsersAnswer>;
  /**
   * `POST /v1/users/update` (interface.md, Endpoints, note 2): at most 25 users, a limit of our own. The write is
   * repeated only if it certainly had no effect, and never after a 429, because its values may be old
   * after the pause. The answer may lack users, and may have other values than the request.
   *
   * @throws RangeError for more than 25 users, or for clearing an email or a role
   */
  updateUsers(patches: ReadonlyMap<Id, UserPatch>, options?: SendOptions): Promise<UsersAnswer>;
}

const maxPatches = 25;
const nobody: UsersAnswer = { users: [], rejected: [], requestId: null };

/** Asks for all users at once. @returns `null` if the deployment refuses that */
async function askEverybody(call: MakeCall, isKnown: IsKnown): Promise<Reply | null> {
  try {
    return await call({ operation: operations.users, body: {}, isKnown });
  } catch (error) {
    if (isRefusal(error)) return null;
    throw error;
  }
}

export function createRosterEndpoints(call: MakeCall): RosterEndpoints {
  return {
    team: async () => await decodeTeam(await call({ operation: operations.team })),
    whole: async (known) => {
      const isNew = () => Promise.resolve(false);
      const isOf = (what: 'team' | 'users') => async (digest: string | null | undefined) =>
        digest === known?.digests[what] && (await known?.stillCount) === true;
      const askTeam = async (isKnown: IsKnown) => await call({ operation: operations.team, isKnown });
      const first = await askTeam(isOf('team'));
      const isKnown = await isOf('team')(first.digest);
      let users = isKnown ? await askEverybody(call, isOf('users')) : undefined;
      if (isKnown && (await isOf('users')(users?.digest))) return null;
      // The body of a known answer was not kept, so the team is requested again.
      const team = isKnown ? await askTeam(isNew) : first;
      return {
        team: await decodeTeam(team),
        everybody: async () => {
          users ??= await askEverybody(call, isNew);
          return users === null ? null : await decodeMemberships(users);
        },
        digests: () => {
          const digests = { team: team.digest, users: users?.digest ?? null };
          return digests.team === null || digests.users === null
            ? null
            : { team: digests.team, users: digests.users };
        },
      };
    },
    users: async ({ emails, phones }) => {
      const filter = { emails, phones: phones.filter((phone) => canonicalPhone(phone) !== '') };
      const isEverybody = emails.length + phones.length === 0;
      // Phones without a digit match no user, so they are removed. An empty filter would return all users.
      if (!isEverybody && emails.length + filter.phones.length === 0) return nobody;
      const body = isEverybody ? {} : encodeUserFilter(filter);
      return await decodeMemberships(await call({ operation: operations.users, body }));
    },
    updateUsers: async (patches, options) => {
      if (patches.size === 0) return nobody;
      if (patches.size > maxPatches) throw new RangeError(`at most ${maxPatches} users are sent at once`);
      const users = [...patches].map(([id, patch]) => encodeUserPatch(id, patch));
      return await decodeMemberships(
        await call({ operation: operations.updateUsers, body: { users }, ...options }),
      );
    },
  };
}
