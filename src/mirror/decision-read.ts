/** What became of a decision, and what can be taken back of it. */
import { sql } from 'kysely';
import type { Id } from '../model/id.ts';
import type { Queryable } from './database.ts';
import { describeRefusal } from './held-batches.ts';

/** One field of a user that was decided about, as it is by now. */
export interface DecidedEdit {
  readonly userId: Id;
  readonly name: string | null;
  /** `null`: a person agreed that the user has left. */
  readonly field: string | null;
  /** The edit; `null`: none, or it has no number. */
  readonly edit: Id | null;
  /** `null`: nobody knows. */
  readonly state: 'confirmed' | 'waiting' | 'unknown' | 'refused' | 'void' | 'held' | 'withdrawn' | null;
  readonly detail: string | null;
}

/** Of each edit of a decision what became of it. */
export async function readDecision(
  db: Queryable,
  teamId: Id,
  decision: bigint,
): Promise<readonly DecidedEdit[]> {
  const { rows } = await sql<DecidedEdit>`
    select user_id as "userId", name, field, edit_id as edit, state, detail from report.decisions
    where team_id = ${teamId} and decision_id = ${decision} order by user_id, field`.execute(db);
  return rows;
}

/** What taking a decision back does to one of its edits. */
export interface UndecidedEdit {
  readonly userId: Id;
  readonly field: string | null;
  readonly outcome: 'undecided' | 'on its way' | 'arrived' | 'given back' | 'moved';
  /** The number of the decision that takes it back; `null`: it is only shown. */
  readonly number: bigint | null;
}

/** Makes the edits of a decision undecided again that wait still. @throws MusterdError `usage` if there is no such decision */
export async function undecide(
  db: Queryable,
  decision: bigint,
  { why, isShown }: { readonly why: string | undefined; readonly isShown: boolean },
): Promise<readonly UndecidedEdit[]> {
  const undone = sql<UndecidedEdit>`
    select user_id as "userId", field, outcome, decision_id as number
    from sync.undecide(${decision}, ${why ?? null}, ${isShown})`;
  return (
    await undone.execute(db).catch((error: unknown) => {
      throw describeRefusal(error);
    })
  ).rows;
}
