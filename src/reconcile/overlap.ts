/**
 * Decides whether the service lists the same people as the mirror. The id of the team was compared before (`pinTeam`).
 *
 * | of the smaller side in common           | name of the team       | what happens                        |
 * |-----------------------------------------|------------------------|-------------------------------------|
 * | half or more, or it is fewer than three | ·                      | the run goes on                     |
 * | less                                    | different              | `wrong-team`                        |
 * | less                                    | the same, or unknown   | it waits until a person agrees that |
 * |                                         |                        | those no longer listed have left    |
 *
 * Users whose departure a person approved no longer count on the mirror's side (`musterd approve`).
 */
import { MusterdError } from '../errors.ts';
import type { WithheldAbsence } from '../model/absence.ts';
import type { Team } from '../model/team.ts';
import { absenceHash, type Scope, scopeOf } from './missing-rows.ts';
import type { WritingContext } from './apply-users.ts';
import type { MirrorPort } from './ports.ts';

/** Teams of one or two are often replaced as a whole. */
const tooFew = 3;

/**
 * @returns the users that are no longer listed, if too few of the others are known; `null` if the run may go on
 * @throws MusterdError `wrong-team`
 */
export async function judgeOverlap(
  mirror: Pick<MirrorPort, 'readOverlap'>,
  team: Team,
  scope: Scope,
): Promise<WithheldAbsence | null> {
  const listed = team.members.map(({ id }) => id);
  const { known, population, name, unlisted } = await mirror.readOverlap(listed, scopeOf('users', scope));
  const smaller = Math.min(listed.length, population);
  if (smaller < tooFew || known * 2 >= smaller) return null;
  const counts = `The service lists ${listed.length} members, and the mirror knows ${known} of them among its ${population} users`;
  if (name !== null && team.name !== null && name !== team.name) {
    throw new MusterdError(
      'wrong-team',
      `${counts}; it calls the team "${team.name}", the mirror "${name}"`,
      {
        hint: 'These look like two different teams. Check the credentials and the database; neither side was written to.',
      },
    );
  }
  return { hash: absenceHash('users', unlisted), reason: counts, ids: unlisted };
}

/** The message for people, and what to do. */
export function sayReplaced({ reason, hash, ids }: WithheldAbsence): string {
  return `${reason}: if these are the right credentials and database, ${ids.length} users have left; agree to it with "musterd approve ${hash} --reason …"`;
}

/** @returns whether too few of the listed people are in the mirror, and nobody has approved that yet */
export async function stopReplaced(
  { mirror, notes }: Pick<WritingContext, 'mirror' | 'notes'>,
  team: Team,
  scope: Scope,
): Promise<boolean> {
  const replaced = await judgeOverlap(mirror, team, scope);
  if (replaced === null) return false;
  const isNews = await mirror.applyWithheld('users', replaced, scopeOf('users', scope));
  const { hash, ids } = replaced;
  notes.refuse({
    batches: [],
    hash,
    reasons: [sayReplaced(replaced)],
    users: ids.length,
    stopped: true,
    isReview: false,
    isNews,
    what: 'departures',
  });
  return true;
}
