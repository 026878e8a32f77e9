/**
 * The one shortcut of a run: if the service answers with the bytes that the last complete run found to agree with the
 * mirror, and the mirror is as it was then, there is nothing to do for the users, and the answers are not parsed. All or
 * nothing. It holds because digest and base stand in one database and go back together; what a push or a person changes on
 * the service changes the bytes; and what anybody changes in the mirror, by whatever way, `agreesWithBase` finds.
 */
import { createHash } from 'node:crypto';
import type { Database } from '../mirror/db/database.ts';
import type { KnownTeam } from '../mirror/team/known-team.ts';
import type { Learned } from '../mirror/team/learned.ts';
import { agreesWithBase } from '../mirror/users/users-compare.ts';
import { toJson } from '../model/json.ts';
import type { AnswerDigests } from '../model/service-request.ts';
import { programVersion } from './program-version.ts';

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

/** @returns the record, if the same answers would again mean that nothing is to be done */
export async function readAgreed(
  db: Database,
  known: KnownTeam,
  settings: unknown,
): Promise<Agreed | undefined> {
  const record = known.learned.get(topic);
  if (record === undefined || known.teamId === null || record.ageMs >= longestMs) return undefined;
  const agreed = record.value as Agreed;
  const isOver = agreed.setup !== setupOf(settings) || known.mayLackRoles;
  return isOver || (await agreesWithBase(db.kysely, known.teamId)) !== agreed.base ? undefined : agreed;
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
