/** Reads the present state of one user from the service. */
import type { TeamMember } from '../model/team-member.ts';
import { MusterdError, ServiceError } from '../errors.ts';
import { plain, type UserQuery, wholeName } from '../mirror/users/user-query.ts';
import { readLogin } from '../mirror/users/decide-edits.ts';
import type { Id } from '../model/id.ts';
import type { Team } from '../model/team.ts';
import { readable, type ServiceUser } from '../model/user.ts';
import type { UserState } from '../model/user-state.ts';
import type { Setup } from './open.ts';
import { withReading } from './sync/with-run.ts';
import { look } from '../reconcile/look.ts';
import type { ServiceClient } from '../service/client.ts';
import { theOnly } from './named-user.ts';

/** The user on the service, or the reason why the service could not be asked. */
export type ServiceAnswer =
  | {
      readonly reached: true;
      readonly teamId: Id;
      /** `undefined` if neither the mirror nor the service knows the user. */
      readonly id: Id | undefined;
      readonly service: ServiceUser | undefined;
      readonly member: TeamMember | undefined;
      /** All three versions; `undefined` if they are equal, or if the service does not show the user. */
      readonly state: UserState | undefined;
    }
  | { readonly reached: false; readonly error: MusterdError };

export interface WantedUser {
  readonly typed: string;
  readonly query: UserQuery;
  /** The user's id in the mirror. If it is `undefined`, the service is searched. */
  readonly known: Id | undefined;
}

/** Reads the user from the service. It stores nothing, and its client refuses writes. */
export async function askService(
  setup: Setup,
  signal: AbortSignal,
  wanted: WantedUser,
): Promise<ServiceAnswer> {
  const { config, log, mirror: opened } = setup;
  const { login, isOwner } = await readLogin(opened.db.kysely);
  if (!isOwner) {
    const words = `only the login that owns the mirror may ask it, not ${login}`;
    return { reached: false, error: new MusterdError('denied', words) };
  }
  try {
    return await withReading(opened.db, config, { log, signal }, async (context, team) => {
      const id = wanted.known ?? (await findOnService(context.service, team, wanted));
      if (id === undefined)
        return {
          reached: true,
          teamId: team.id,
          id,
          service: undefined,
          member: undefined,
          state: undefined,
        };
      const { email, phone } = wanted.query;
      const emails = email === null ? [] : [wanted.typed.trim()];
      const seen = await look(context, team, [{ id, emails, phones: phone === null ? [] : [phone] }]);
      const { users, members } = seen.roster;
      const [state] = seen.states;
      return { reached: true, teamId: team.id, id, service: users.get(id), member: members.get(id), state };
    });
  } catch (error) {
    if (error instanceof ServiceError) return { reached: false, error };
    throw error;
  }
}

/** Searches for a user that the mirror does not know yet. @throws MusterdError `usage` if several match */
export async function findOnService(
  service: ServiceClient,
  team: Team,
  { typed, query }: Pick<WantedUser, 'typed' | 'query'>,
): Promise<Id | undefined> {
  const { id, email, phone, name } = query;
  const called = new RegExp(wholeName(query), 'u');
  const listed = team.members.filter(
    (member) => member.id === id || (name !== null && called.test(plain(member.name ?? ''))),
  );
  if (listed.length > 0)
    return theOnly(
      typed,
      listed.map((one) => ({ ...one, name: one.name ?? '' })),
    )?.id;
  if (email === null && phone === null) return undefined;
  const filter = { emails: email === null ? [] : [typed.trim()], phones: phone === null ? [] : [phone] };
  const { users } = await service.users(filter);
  const named = users.map((user) => ({
    id: user.id,
    name: readable(user.name) ?? '',
    email: readable(user.email) ?? null,
    phone: readable(user.phone) ?? null,
  }));
  return theOnly(typed, named)?.id;
}
