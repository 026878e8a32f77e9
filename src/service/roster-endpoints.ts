/** The endpoints for team and users. */
import type {
  Everybody,
  RowsBefore,
  SendOptions,
  SomeUsers,
  UnreadUsers,
  UserFilter,
  UsersAnswer,
} from '../model/service-request.ts';
import { canonicalPhone } from '../model/canonical.ts';
import type { Id } from '../model/id.ts';
import { asAnswer, type Team, type TeamAnswer, type TeamHead } from '../model/team.ts';
import type { UserPatch } from '../model/user.ts';
import { type MakeCall, readLeft, type Reply } from './call.ts';
import { operations } from './operation.ts';
import { createRowSieve, type NewsSieve } from './row-sieve.ts';
import { isDecoded } from './decoded-rows.ts';
import { isObject } from './json-object.ts';
import { decodeMembers, decodeTeam } from './wire-team.ts';
import { decodeMemberships, decodeUsers, encodeUserFilter, encodeUserPatch } from './wire-user.ts';

export interface RosterEndpoints {
  /** `GET /v1/team` (interface.md, Endpoints; Team): the team of the credentials and its members. */
  team(): Promise<Team>;
  /** Asks for the same. @param known an earlier team; if the answer is the same, it is read only on request */
  askTeam(known?: TeamHead): Promise<TeamAnswer>;
  /**
   * `GET /v1/users/get` with a JSON body (interface.md, Endpoints, note 1): "returns the team's users
   * matching the given phones or emails". The answer to an empty filter is not documented.
   */
  users(filter: UserFilter): Promise<UsersAnswer>;
  /** The same with an empty filter, to which some deployments answer with everybody. */
  askEverybody(): Promise<UnreadUsers>;
  /**
   * `POST /v1/users/update` (interface.md, Endpoints, note 2): at most 25 users, by our own rule. A write:
   * repeated only if it certainly had no effect, and never after a 429, because its values may be old
   * after the pause. The answer may lack users, and its values may differ from those sent.
   *
   * @throws RangeError for more than 25 users, or for clearing an email or a role
   */
  updateUsers(patches: ReadonlyMap<Id, UserPatch>, options?: SendOptions): Promise<UsersAnswer>;
}

const maxPatches = 25;
const nobody: UsersAnswer = { users: [], rejected: [], requestId: null };

/** Does the work on an answer that may be long. A program may prepare itself for that. */
export type OnLongAnswer = <T>(work: () => Promise<T>) => Promise<T>;

function takeTeam(reply: Reply, known: TeamHead | undefined, readLong: OnLongAnswer): TeamAnswer {
  if (reply.body.read === undefined || known === undefined) return asAnswer(decodeTeam(reply));
  let whole: Promise<Team> | undefined;
  const readTeam = () => (whole ??= readLong(async () => decodeTeam(await readLeft(reply))));
  return { head: known, readTeam };
}

const memberships = { property: 'memberships', decode: decodeUsers };

function takeEverybody(reply: Reply): Everybody {
  const { digest = '', value } = reply.body;
  const answer = decodeMemberships(reply);
  const list = isObject(value) ? value['memberships'] : undefined;
  const hashes = isDecoded(list) ? (list.sieve?.packed() ?? null) : null;
  return { how: 'everybody', ...answer, mark: { digest, hashes } };
}

/** Asks for everybody, and reads the answer. */
async function readEverybody(call: MakeCall): Promise<Everybody> {
  const list = { long: { ...memberships, sieve: createRowSieve() } };
  return takeEverybody(await call({ operation: operations.users, body: {}, list }));
}

async function askEverybody(call: MakeCall, readLong: OnLongAnswer): Promise<UnreadUsers> {
  const list = { long: memberships, isLeft: () => true };
  const reply = await call({ operation: operations.users, body: {}, list });
  const { digest = '', read: readBody } = reply.body;
  /** @returns `null` if it cannot be read; it is then asked for again, and that is an error as for any other answer */
  const read = async (sieve: NewsSieve): Promise<Everybody | null> => {
    const body = await readBody?.(sieve);
    return body ? takeEverybody({ ...reply, body }) : null;
  };
  const readNew = async (before: RowsBefore): Promise<Everybody | SomeUsers> => {
    const news = createRowSieve(before);
    const answer = await read(news);
    if (answer === null) return await readEverybody(call);
    // Without hashes the list could not be cut into rows, so it was read as a whole.
    if (answer.mark.hashes === null) return answer;
    const changed = answer.rejected.length === 0 ? news.changed() : null;
    return changed === null ? await readEverybody(call) : { ...answer, how: 'some', changed };
  };
  return {
    digest,
    requestId: reply.requestId,
    readAll: () => readLong(async () => (await read(createRowSieve())) ?? (await readEverybody(call))),
    readNew: (before) => readLong(() => readNew(before)),
  };
}

export function createRosterEndpoints(call: MakeCall, readLong: OnLongAnswer): RosterEndpoints {
  const askTeam = (known?: TeamHead) =>
    readLong(async () => {
      const long = { property: 'members', decode: decodeMembers };
      const list = { long, isLeft: (digest: string) => digest === known?.digest };
      return takeTeam(await call({ operation: operations.team, list }), known, readLong);
    });
  return {
    team: async () => await (await askTeam()).readTeam(),
    askTeam,
    askEverybody: () => askEverybody(call, readLong),
    users: async ({ emails, phones }) => {
      const filter = { emails, phones: phones.filter((phone) => canonicalPhone(phone) !== '') };
      if (emails.length + phones.length === 0) return await readLong(() => readEverybody(call));
      // Phones without a digit find nobody, and an empty filter would return all users.
      if (emails.length + filter.phones.length === 0) return nobody;
      const list = { long: memberships };
      return await readLong(async () =>
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
  };
}
