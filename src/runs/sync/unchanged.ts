/**
 * The one shortcut of a run: if the service answers with the bytes that the last complete run found to agree with the
 * mirror, and the mirror is as it was then, there is nothing to do for the users, and the answers are not parsed. All or
 * nothing. It holds because digest and base stand in one database and go back together; what a push or a person changes on
 * the service changes the bytes; and what anybody changes in the mirror, by whatever way, `agreesWithBase` finds.
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
/** Everybody is compared once a day, whatever the answers are. */
const longestMs = 24 * 3_600_000;

/** What a complete run has recorded. */
interface Agreed extends AnswerDigests {
  readonly setup: string;
  /** When the last base was agreed on. A value may go there and back on the service between two runs of the users. */
  readonly base: string;
  /** The number of users that were shown. */
  readonly shown: number;
}

/** Whatever else decides what a run does: another program or another setting may do more with the same answers. */
const setupOf = (settings: unknown) =>
  createHash('sha256')
    .update(toJson([programVersion(), settings]))
    .digest('base64url');

/** @returns the record, and whether the same answers would again mean that nothing is to be done */
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
  // Found while the service is asked. A failure is that of the run, once it waits for it.
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
