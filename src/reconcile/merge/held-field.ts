/**
 * What happens to a held field, by its reason:
 *
 * | reason                               | edited again | edit withdrawn | service moved    | approved    | rejected | limit lifted | user leaves |
 * |--------------------------------------|--------------|----------------|------------------|-------------|----------|--------------|-------------|
 * | limit on a whole run, review         | new batch    | ends           | stays (†)        | passes      | rejected | stays        | returned    |
 * | limit on one field                   | merged again | ends           | merged again     | passes      | rejected | is sent      | returned    |
 * | conflict                             | merged again | ends, pulled   | merged again     | –           | rejected | stays        | returned    |
 * | refused, ineffective, unsupported    | merged again | ends           | merged again     | –           | rejected | stays        | returned    |
 * | rejected                             | merged again | ends           | stays            | –           | –        | stays        | rejected    |
 * | returned                             | merged again | ends           | stays            | –           | rejected | stays        | returned    |
 * | asked                                | stays        | stays          | stays            | –           | –        | stays        | asked       |
 *
 * *Merged again*: it is pushed, pulled or held like any other field, and counted by the guard. –: only `musterd resolve`
 * decides; it also ends any other hold. *Limit lifted*: a look at all users shows that nothing limits it any more
 * (`guard/field-limits.ts`). *Edited again* is also what was taken back and set to the same value later: that is
 * another edit.
 *
 * A decision is about one edit and the service value seen for it. Its fate:
 *
 * | the edit                            | the service             | no decision                  | approved         | rejected         |
 * |-------------------------------------|-------------------------|------------------------------|------------------|------------------|
 * | is as it was                        | is as it was seen       | as above                     | is sent          | stays, silently  |
 * | is as it was                        | has another value       | as above                     | void: held (§)   | stays            |
 * | is as it was                        | went there and back     | as above                     | is sent          | stays            |
 * | was withdrawn                       | ·                       | ends                         | ends with it     | ends with it     |
 * | was replaced, also by itself        | ·                       | a new edit                   | does not pass on | does not pass on |
 * | was made past the triggers          | ·                       | a new edit                   | does not pass on | does not pass on |
 * | is being sent                       | ·                       | –                            | is spent (¶)     | "on its way"     |
 * | was sent, no answer, not there      | ·                       | merged again                 | sent again (¶)   | –                |
 * | is in a refused request that is cut | ·                       | asked again before each part | likewise         | is taken out     |
 * | is of a user who left               | ·                       | returned                     | void: returned   | stays            |
 *
 * An approval is about values: where the service's went there and back, it holds. § with a policy other than `hold` it is merged
 * again, as below. ¶ the decision is spent when an intent is opened under it, which remembers it: the table in
 * `push/result.ts` says what becomes of both. Each part is checked just before it leaves (`send-guard.ts`).
 *
 * † and the run warns. With a policy other than `hold` it is merged again: the service wins, or the edit waits in
 * a new batch, over the present value of the service.
 *
 * *Asked* goes over any other reason: when it is over, the field is held for that one again (`toHold`), and the table says what
 * is left of it after what has happened meanwhile.
 */
import type { Field } from '../../model/fields.ts';
import { sameValue } from '../../model/user.ts';
import { isApprovable, samePush, type Hold, type Values } from '../../model/user-plan.ts';
import type { UserState } from '../../model/user-state.ts';

/** The hold that a field was under before this run. */
export const holdOn = (field: Field, { held }: Pick<UserState, 'held'>): Hold | undefined =>
  held.find((hold) => hold.field === field);

/** Whether the field still has the held edit, and not a later edit, even of the same value. */
export const isSameEdit = (
  { field, edit }: Pick<Hold, 'field' | 'edit'>,
  { edits }: Pick<UserState, 'edits'>,
): boolean => edit === edits[field]?.id;

/** Whether it is the same edit, over the same base and the service value that was seen. */
export const isAsSeen = (hold: Hold, values: Values, known: Pick<UserState, 'edits'>): boolean =>
  isSameEdit(hold, known) && samePush(hold.field, hold, values);

export const isApproved = (
  hold: Hold | undefined,
  values: Values,
  known: Pick<UserState, 'edits'>,
): boolean => hold?.decision !== undefined && isAsSeen(hold, values, known);

/** The reason why a person's decision about this edit is void; `undefined` if it is not. */
export function voidDetail(
  hold: Hold | undefined,
  values: Values,
  known: Pick<UserState, 'edits'>,
): string | undefined {
  if (hold?.decision === undefined || !isSameEdit(hold, known)) return undefined;
  if (!sameValue(hold.field, hold.mirror, values.mirror) || isAsSeen(hold, values, known)) return undefined;
  return 'what was decided about this edit is void: the service has another value than the one it was decided over';
}

/** Whether a limit on a whole run or a review holds the edit. Such an edit waits for a person even after the limit has ended. */
export const isStopped = ({ reason, isAlone }: Hold): boolean => isApprovable(reason) && isAlone !== true;
