/**
 * The only shortcut of a run. If the service's answers have the same bytes as in a complete run that found both sides
 * equal, and the mirror has not changed since, the answers are not parsed. It applies to all users or to none.
 * It is safe, because digests and base are in one database and are restored together: any change on the service
 * changes the bytes, and `agreesWithBase` finds any change in the mirror, whoever made it.
 */
import { createHash } from 'node:crypto';
import type { Database } from '../../mirror/db/database.ts';
import type { KnownTeam } from '../../mirror/team/known-team.ts';
import type { Learned } from '../../mirror/team/learned.ts';
import { agreesWithBase } from '../../mirror/users/users-compare.ts';
import { toJson } from '../../model/json.ts';
import type { AnswerDigests, KnownAnswers } from '../../model/service-request.ts';
import { programVersion } from '../program-version.ts';

const topic = 'answers that agree';
/** All users are compared at least once a day, even if the answers do not change. */
const longestMs = 24 * 3_600_000;

/** The record of a complete run that found both sides equal. */
interface Agreed extends AnswerDigests {
  readonly setup: string;
  /** The time of the last agreement on a base. If it is newer now, a value has changed since, even if it changed back. */
  readonly base: string;
  /** The number of users that the service showed. */
  readonly shown: number;
}

/** A digest of program version and settings. If one of them changes, a run may do more with the same answers. */
const setupOf = (settings: unknown) =>
  createHash('sha256')
    .update(toJson([programVersion(), settings]))
    .digest('base64url');

/** @returns the record, if usable. `stillCount` is true if the same answers still mean that there is nothing to do */
export function readAgreed(
  db: Database,
  known: KnownTeam,
  settings: unknown,
): { readonly shown: number; readonly answers: KnownAnswers } | undefined {
  const { teamId } = known;
  const record = known.learned.get(topic);
  if (record === undefined || teamId === null || record.ageMs >= longestMs) return undefined;
  const { setup, base, shown, ...digests } = record.value as Agreed;
  if (setup !== setupOf(settings) || known.mayLackRoles) return undefined;
  // The check runs in parallel with the requests. If it throws, the run fails where it awaits the check.
  const stillCount = agreesWithBase(db.kysely, teamId).then((agreed) => agreed === base);
  stillCount.catch(() => undefined);
  return { shown, answers: { digests, stillCount } };
}

/** The record of a complete run that found nothing to do. */
export const learnedOfAgreed = (
  digests: AnswerDigests,
  { shown, base }: Pick<Agreed, 'shown' | 'base'>,
  settings: unknown,
): Learned => ({
  topic,
  value: { ...digests, shown, base, setup: setupOf(settings) } satisfies Agreed,
  atMs: Date.now(),
});
