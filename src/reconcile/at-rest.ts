/**
 * What a run need not look at. The last complete run has left word of the answers that it had, of the rows in them, and
 * of mirror and base as they were in the end. Whose row is among those, and who was not written since, is equal
 * everywhere: it was found so then.
 *
 * | team, settings, mirror and base | answer about the users            | not at rest | what is read                      |
 * |---------------------------------|-----------------------------------|-------------|-----------------------------------|
 * | the same                        | the same                          | nobody      | nothing                           |
 * | the same                        | the same                          | some        | their rows                        |
 * | the same                        | of the same users, other rows     | ·           | the other rows, and those of some |
 * | the same                        | any other                         | ·           | everybody                         |
 * | any other                       | ·                                 | ·           | everybody                         |
 *
 * Not at rest is of whom the database says so, and who was planned in the last run. All of it counts for a day since
 * everybody was read.
 */
import { createHash } from 'node:crypto';
import type { Id } from '../model/id.ts';
import { toJson } from '../model/json.ts';
import { type RowsBefore, rowsToKeep } from '../model/known-rows.ts';
import type { Look, Rest, RestingUsers } from '../model/rest.ts';
import type { UsersAnswer } from '../model/service-request.ts';
import type { Team } from '../model/team.ts';
import type { RunContext, UsersPlan } from './plan-users.ts';
import type { MirrorPort, MirrorWriter } from './ports.ts';
import { askForAll } from './read/ask.ts';

/** Stands for whatever decides which users differ, besides the two answers. */
export function standFor({ schema }: Pick<Rest, 'schema'>, settings: unknown): string {
  return createHash('sha256')
    .update(toJson([schema, settings]))
    .digest('base64url');
}

/** Who is looked at even where the service shows the same. */
const notAtRest = (known: RestingUsers, rest: Rest): ReadonlySet<Id> =>
  new Set([...rest.restless, ...known.planned.map(BigInt)]);

/** The rows that were kept; `null`: none, or somebody who is not at rest is in none of them. */
async function recallRows(mirror: MirrorPort, known: RestingUsers, rest: Rest): Promise<RowsBefore | null> {
  const rows = await mirror.readKnownRows('users', known);
  const asked = rows?.holding(notAtRest(known, rest)) ?? null;
  return rows === null || asked === null ? null : { rows, ended: new Set(known.rows.ended), asked };
}

/** Asks for everybody, if what was learned may still count; the database is looked at meanwhile. */
export async function lookForNews(
  { service, mirror, notes }: RunContext,
  team: Team,
  settings: unknown,
): Promise<Look> {
  const known = await mirror.readRestingUsers();
  if (known === null || known.team !== team.digest) return {};
  if ((await mirror.readIntents()).length > 0) return {};
  notes.event({ kind: 'step', step: 'users' });
  const reading = mirror.readRest(known);
  const isAsBefore = (rest: Rest) => known.print === rest.print && known.under === standFor(rest, settings);
  const before = async () => {
    const rest = await reading;
    return isAsBefore(rest) ? await recallRows(mirror, known, rest) : null;
  };
  const [rest, answer] = await Promise.all([reading, askForAll(service, { digest: known.users, before })]);
  // What another version of the program has kept may have another form: none of it is read before this.
  if (!isAsBefore(rest)) return { first: (await answer.read?.()) ?? answer };
  const restless = notAtRest(known, rest);
  if (answer.read === undefined) return lookAt(team, answer, rest, restless);
  if (restless.size === 0) return { atRest: known.shown, ...nobody(known.shown), rest };
  const rows = await before();
  const news = rows === null ? null : ((await answer.readNews?.(rows)) ?? null);
  return news === null ? { first: await answer.read() } : lookAt(team, news, rest, restless);
}

/** Nothing is new, and nobody is to be looked at. */
const nobody = (shown: number): Pick<Look, 'first' | 'only'> => ({
  first: {
    users: [],
    rejected: [],
    requestId: null,
    noted: { length: shown, packed: () => Buffer.alloc(0) },
    changed: new Set(),
  },
  only: new Set(),
});

/** An answer that was read: all of it, or what is new. */
function lookAt(team: Team, answer: UsersAnswer, rest: Rest, restless: ReadonlySet<Id>): Look {
  const { users, changed } = answer;
  if (changed === undefined) return { first: answer };
  // Somebody is of another team by now: everybody is asked for once more.
  if (users.some(({ teamId }) => (teamId ?? team.id) !== team.id)) return {};
  return { first: answer, only: changed.union(restless), rest };
}

/** Whether nobody was known here: all that is here now is what the service says. */
export const isFirst = ({ roster, plans, unknown }: UsersPlan): boolean =>
  plans.length === 0 && unknown.length === roster.shown;

/** Whether all who are shown are in the team, were in one answer, and can be compared. */
function isComplete({ roster, absent, stale }: UsersPlan): boolean {
  const { shown, noted, members, rejected, unresolved } = roster;
  return (
    rejected.length + unresolved.length + absent.length + stale.length === 0 &&
    shown === members.size &&
    shown === noted?.length
  );
}

/** What there is to learn from. */
export interface Learnable {
  readonly plan: UsersPlan;
  /** What was found of mirror and base beforehand, where not everybody was read. */
  readonly rest: Rest | undefined;
}

/** Learns from a run that was complete. Who was planned in it is looked at again the next time. */
export async function learnRest(
  mirror: MirrorPort & MirrorWriter,
  team: Team,
  { plan, rest: before }: Learnable,
  settings: unknown,
): Promise<void> {
  const { versions, restOfSome, plans, unknown, roster } = plan;
  const { digest, noted, shown } = roster;
  if (team.digest === undefined || digest === undefined || noted === undefined || !isComplete(plan)) return;
  if (versions === undefined || restOfSome === undefined) return;
  const planned = [...plans.map(({ id }) => id), ...(isFirst(plan) ? [] : unknown)];
  // Who else wrote any of it since it was compared may have gone past the triggers.
  const rest = await mirror.inSnapshot((one) =>
    one.readRestSince({ ...before, versions }, planned, restOfSome),
  );
  if (rest === null) return;
  const { packed, ...rows } = rowsToKeep(noted);
  const users: RestingUsers = {
    under: standFor(rest, settings),
    name: team.name,
    listSize: team.listSize?.toString() ?? null,
    team: team.digest,
    users: digest,
    print: rest.print,
    versions: rest.versions,
    differing: rest.differing.map(String),
    shown,
    rows,
    planned: planned.map(String),
  };
  await mirror.applyRestingUsers(users, packed, before === undefined);
}
