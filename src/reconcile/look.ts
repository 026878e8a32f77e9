/**
 * A look reads users from the service and compares them with mirror and base. Each decision about users begins with a
 * look. A full run and a resync look at all users; a run for edits, the read before a push and `musterd why` at some.
 */
import type { Addresses, RoleNames } from '../model/plan.ts';
import type { Id } from '../model/id.ts';
import type { UsersAnswer } from '../model/service-request.ts';
import type { Team } from '../model/team.ts';
import type { ServiceUser } from '../model/user.ts';
import type { UserState } from '../model/user-state.ts';
import type { MirrorPort, ServicePort } from './ports.ts';
import { readEverybody } from './read/ask.ts';
import { createUserLookup, type UserLookup } from './read/lookup.ts';
import { rolesOf } from './read/members.ts';
import { type Roster, readRoster } from './read/roster.ts';

interface Seen {
  readonly roster: Roster;
  readonly roles: RoleNames;
  /** Users whose mirror, base and service differ, ordered by id. If all users were read, also users whom the service lacks. */
  readonly states: readonly UserState[];
  /** Users who are new to the mirror. */
  readonly unknown: readonly Id[];
  /** The time of the first answer, by `monotonicMs`. Some users' values may be as old as this answer. */
  readonly readAtMs: number;
  /** The number of requests that the look made; at least one. */
  readonly requests: number;
}

interface WholeLook extends Seen {
  readonly isWhole: true;
}

interface PartialLook extends Seen {
  readonly isWhole: false;
  /** Looks up further users, in addition to the users of this look. */
  readonly lookup: UserLookup;
}

/** A look is whole if all users were read. Only a whole look shows that a user is missing. */
export type Look = WholeLook | PartialLook;

/** Users whom the service shows with an older version than before. */
export const staleOf = ({ states }: Pick<Look, 'states'>): readonly Id[] =>
  states.filter(({ stale }) => stale === true).map(({ id }) => id);

export interface LookContext {
  readonly service: ServicePort;
  readonly mirror: MirrorPort;
  readonly monotonicMs: () => number;
  /** If given, it returns all users, so that a whole look does not request all users itself. */
  readonly everybody?: (() => Promise<UsersAnswer | null>) | undefined;
}

/** The state of a user who is new to the mirror. */
export const unknownUser = (id: Id, service?: ServiceUser): UserState => ({
  id,
  service,
  base: undefined,
  mirror: undefined,
  held: [],
  edits: {},
  hasOpenIntent: false,
  missingForMs: undefined,
  observedDiffers: true,
});

export const byId = (states: readonly UserState[]) => states.toSorted((a, b) => (a.id < b.id ? -1 : 1));

async function lookAtAll(
  { service, mirror, monotonicMs, everybody }: LookContext,
  team: Team,
): Promise<WholeLook> {
  const answer = await (everybody?.() ?? readEverybody(service));
  const readAtMs = monotonicMs();
  const { roster, compared } = await readRoster(service, mirror, team, answer);
  const { differing, unknown, unseen } = compared;
  const known = new Set(unseen.map(({ id }) => id));
  const strangers = roster.unresolved.filter((id) => !known.has(id)).map((id) => unknownUser(id));
  const states = byId([...differing, ...unseen, ...strangers]);
  const roles = rolesOf(roster.members);
  return { isWhole: true, roster, roles, states, unknown, readAtMs, requests: 1 };
}

/** Looks at all users, or at the given users, trying their given addresses first. Writes nothing. */
export async function look(
  places: LookContext,
  team: Team,
  whom: 'everybody' | readonly Addresses[],
): Promise<Look> {
  if (whom === 'everybody') return await lookAtAll(places, team);
  const { service, mirror, monotonicMs } = places;
  const answeredAtMs: number[] = [];
  const ask: ServicePort['users'] = async (filter) => {
    const answer = await service.users(filter);
    answeredAtMs.push(monotonicMs());
    return answer;
  };
  const lookup = await createUserLookup({ service: { ...service, users: ask }, mirror }, team);
  await lookup.find(whom);
  const readAtMs = answeredAtMs[0] ?? monotonicMs();
  const requests = Math.max(1, answeredAtMs.length);
  const { roster } = lookup;
  const roles = rolesOf(roster.members);
  const users = new Map(
    whom.flatMap(({ id }) => {
      const user = roster.users.get(id);
      return user === undefined ? [] : [[id, user] as const];
    }),
  );
  const { differing } = await mirror.compareUsers({ users, roles, leftOut: null });
  return { isWhole: false, lookup, roster, roles, states: byId(differing), unknown: [], readAtMs, requests };
}
