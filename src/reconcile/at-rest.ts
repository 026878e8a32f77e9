/**
 * What a run need not look at. Where both answers have the bytes that they had in a run that read everybody and left
 * nobody to differ, and mirror and base are as that run left them, nobody differs now but those of whom the database
 * says so:
 *
 * | answers, settings, mirror and base | in the database nobody / some are not at rest | what is read           |
 * |------------------------------------|-----------------------------------------------|------------------------|
 * | the same                           | nobody                                        | nothing                |
 * | the same                           | some                                          | the answer; those alone |
 * | any other                          | ·                                             | everybody              |
 *
 * It is learned from a complete run alone, and counts for a day.
 */
import { createHash } from 'node:crypto';
import { toJson } from '../model/json.ts';
import type { Look, Rest } from '../model/rest.ts';
import type { Team } from '../model/team.ts';
import { isPush } from '../model/user-plan.ts';
import type { RunContext, UsersPlan } from './plan-users.ts';
import type { MirrorPort, MirrorWriter } from './ports.ts';
import { askForAll } from './read/roster.ts';

/** Stands for whatever decides which users differ, besides the two answers. */
export function standFor({ schema }: Pick<Rest, 'schema'>, settings: unknown): string {
  return createHash('sha256')
    .update(toJson([schema, settings]))
    .digest('base64url');
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
  const [rest, answer] = await Promise.all([mirror.readRest(known), askForAll(service, known.users)]);
  if (answer.read === undefined) return { first: answer };
  if (known.print !== rest.print || known.under !== standFor(rest, settings))
    return { first: await answer.read() };
  if (rest.restless.length === 0) return { atRest: known.shown };
  return { first: await answer.read(), only: new Set(rest.restless) };
}

/** Whether nobody was known here: all that is here now is what the service says. */
export const isFirst = ({ roster, plans, unknown }: UsersPlan): boolean =>
  plans.length === 0 && unknown.length === roster.users.size;

/** Whether everybody was shown in one answer, and nothing was written of anybody but of all for the first time. */
function isQuiet(planned: UsersPlan): boolean {
  const { roster, plans, unknown, absent, stale, movedAlone } = planned;
  const { users, members, rejected, unresolved } = roster;
  return (
    rejected.length + unresolved.length + absent.length + stale.length + movedAlone === 0 &&
    users.size === members.size &&
    plans.every((plan) => plan.write === null && !isPush(plan)) &&
    (unknown.length === 0 || isFirst(planned))
  );
}

/** Learns from a run that read everybody, was complete, and has done all that there was to do. */
export async function learnRest(
  mirror: MirrorPort & MirrorWriter,
  team: Team,
  plan: UsersPlan,
  settings: unknown,
): Promise<void> {
  const { digest, users } = plan.roster;
  if (team.digest === undefined || digest === undefined || !isQuiet(plan)) return;
  const rest = await mirror.inSnapshot((one) => one.readRest(null));
  // Who wrote any of it since it was compared may have gone past the triggers.
  if (rest.versions !== plan.versions) return;
  const restless = new Set(rest.restless);
  // Others differ by what the service says: they would be overlooked from now on.
  if (!plan.plans.every((one) => restless.has(one.id))) return;
  const under = standFor(rest, settings);
  await mirror.applyRestingUsers({
    under,
    name: team.name,
    listSize: team.listSize?.toString() ?? null,
    team: team.digest,
    users: digest,
    print: rest.print,
    versions: rest.versions,
    differing: rest.differing.map(String),
    shown: users.size,
  });
}
