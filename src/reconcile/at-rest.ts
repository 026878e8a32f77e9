/**
 * Finds what a run need not look at. The last complete run has recorded a state: the hash of each row of the answer, a
 * mark of the database, and the users who were not equal everywhere. All others are still equal everywhere if they have
 * the same hash and were not written since the mark.
 *
 * | team, settings       | users present, with a base | answer about the users | not at rest | what is read   |
 * |----------------------|----------------------------|------------------------|-------------|----------------|
 * | the same             | those of the record        | the same               | nobody      | nothing        |
 * | the same             | those of the record        | the same               | some        | their rows     |
 * | the same             | those of the record        | other rows             | ·           | those, and the rows of some |
 * | the same             | those of the record        | of other users         | ·           | everybody      |
 * | the same             | others                     | ·                      | ·           | everybody      |
 * | any other            | ·                          | ·                      | ·           | everybody      |
 *
 * A user is not at rest who was planned in the last run, was written since, or is held, being pushed, missing or stale.
 * The record counts for a day after everybody was compared.
 */
import { createHash } from 'node:crypto';
import type { Id } from '../model/id.ts';
import { toJson } from '../model/json.ts';
import type { UsersToCompare, Mark, WrittenSince, RestingUsers } from '../model/rest.ts';
import type { TeamHead } from '../model/team.ts';
import type { RunContext, WholePlan } from './plan-users.ts';
import type { MirrorPort, MirrorWriter } from './ports.ts';
import { askEverybody } from './read/ask.ts';
import type { ReadExtent } from './run-notes.ts';

/** With more users to look at than this, and than an eighth, comparing everybody is faster. */
const mostLookedAt = 1_000;

/** Identifies all that decides which users differ, besides the two answers. */
export function setupHash({ schema }: Pick<Mark, 'schema'>, settings: unknown): string {
  return createHash('sha256')
    .update(toJson([schema, settings]))
    .digest('base64url');
}

/** The users who are looked at even if the service shows the same; `null` for everybody. */
function usersToLookAt(known: RestingUsers, rest: WrittenSince, settings: unknown): ReadonlySet<Id> | null {
  // A record of another version of the program may have another form, so nothing else of it is read before this check.
  if (rest.since !== known.mark || known.setup !== setupHash(rest, settings)) return null;
  const open = new Set([...known.planned.map(BigInt), ...rest.written]);
  const restless = open.union(new Set(rest.noted));
  const isMuch = restless.size > Math.max(mostLookedAt, known.shown / 8);
  return isMuch || rest.present !== known.shown - open.size ? null : restless;
}

/** Asks for everybody, if the record may still count, and looks at the database meanwhile. */
export async function lookForNews(
  { service, mirror, notes }: RunContext,
  team: TeamHead,
  settings: unknown,
): Promise<UsersToCompare> {
  const known = await mirror.readRestingUsers();
  if (known === null || known.team !== team.digest || (await mirror.readIntents()).length > 0)
    return { how: 'unasked', rest: await mirror.readRest() };
  notes.event({ kind: 'step', step: 'users' });
  const [rest, unread] = await Promise.all([mirror.readRest(), askEverybody(service)]);
  if (unread === null) return { how: 'everybody', rest, answer: null };
  const restless = usersToLookAt(known, rest, settings);
  const { shown } = known;
  const isSame = unread.digest === known.users;
  if (restless !== null && isSame && restless.size === 0) return { how: 'nothing', shown };
  const hashes = isSame || restless === null ? null : await mirror.readRowHashes(known);
  if (restless === null || (!isSame && hashes === null))
    return { how: 'everybody', rest, answer: await unread.readAll() };
  const answer = await unread.readNew({ hashes, besides: restless });
  if (answer.how === 'everybody') return { how: 'everybody', rest, answer };
  const isOfTeam = answer.users.every(({ teamId }) => (teamId ?? team.id) === team.id);
  // Somebody belongs to another team by now, or is known here and not shown, so everybody is asked for once more.
  if (!isOfTeam || !restless.isSubsetOf(new Set(answer.users.map(({ id }) => id))))
    return { how: 'unasked', rest };
  return { how: 'some', rest, answer, only: answer.changed.union(restless), shown };
}

/** How much of the answer about the users is read, as logs and metrics say it. */
export function extentOf({ how }: UsersToCompare): ReadExtent {
  return how === 'unasked' || how === 'everybody' ? 'all' : how;
}

/** Whether nobody was known here before, so that the mirror has only what the service says. */
const isFirst = ({ roster, plans, unknown }: WholePlan): boolean =>
  plans.length === 0 && unknown.length === roster.shown;

/** Whether all who are shown are in the team, were in one answer, each once, and can be compared. */
function isComplete({ roster, absent, stale }: WholePlan): boolean {
  const { shown, members, rejected, unresolved, repeated } = roster;
  const isOdd = rejected.length + unresolved.length + repeated.size + absent.length + stale.length > 0;
  return !isOdd && shown === members.size;
}

/** The facts to record: the plan, and what was looked at for it. */
export interface LearnablePlan extends WholePlan {
  readonly look: Exclude<UsersToCompare, { how: 'nothing' }>;
}

/**
 * Records the state in which a complete run has compared the users. Those who were planned in it are looked at again
 * next time, and so are those written since the mark, which is older than the comparison.
 */
export async function learnRest(
  mirror: MirrorPort & MirrorWriter,
  team: TeamHead,
  plan: LearnablePlan,
  settings: unknown,
): Promise<void> {
  const { plans, unknown, roster, look } = plan;
  const { mark, shown } = roster;
  if (team.digest === null || mark === null || mark.hashes === null || !isComplete(plan)) return;
  const taken = isFirst(plan) ? await mirror.readTaken() : null;
  const planned = taken?.written ?? [...plans.map(({ id }) => id), ...unknown];
  const users = {
    mark: taken?.mark ?? look.rest.mark,
    setup: setupHash(look.rest, settings),
    name: team.name,
    listSize: team.listSize?.toString() ?? null,
    team: team.digest,
    users: mark.digest,
    shown,
    planned: planned.map(String),
  };
  const isKept = look.how === 'some' && look.answer.changed.size === 0;
  await mirror.applyRestingUsers(users, isKept ? null : mark.hashes, look.how !== 'some');
}
