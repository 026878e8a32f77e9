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
 * *Merged again*: the field is pushed, pulled or held like any other field, and counted by the guard. –: cannot happen;
 * only `musterd resolve` can decide, which also ends any other hold. *Limit lifted*: a look at all users shows that no
 * limit holds the field any more (`guard/field-limits.ts`). *Edited again*: the field has a later edit, even with the same
 * value. *User leaves*: the reason of the hold once the user is back.
 *
 * A person's decision is about one edit and the service value seen for it. What happens to the decision:
 *
 * | the edit                            | the service             | no decision                  | approved         | rejected         |
 * |-------------------------------------|-------------------------|------------------------------|------------------|------------------|
 * | is unchanged                        | is unchanged            | as above                     | is sent          | stays            |
 * | is unchanged                        | has another value       | as above                     | void: held (§)   | stays            |
 * | is unchanged                        | went there and back (‡) | as above                     | is sent          | stays            |
 * | was withdrawn                       | ·                       | ends                         | ends with it     | ends with it     |
 * | was replaced, even by its own value | ·                       | is merged as a new edit      | no longer counts | no longer counts |
 * | was made with the triggers off      | ·                       | is merged as a new edit      | no longer counts | no longer counts |
 * | is being sent                       | ·                       | –                            | is used up (¶)   | if not confirmed |
 * | was sent without answer or effect   | ·                       | is merged again              | sent again (¶)   | –                |
 * | is in a refused request that is cut | ·                       | is checked before each part  | checked, too     | is taken out     |
 * | belongs to a user who left          | ·                       | returned                     | void: returned   | stays            |
 *
 * ‡ An approval is about values: if no run read the other value in between, the approval still applies. § with a policy
 * other than `hold` the edit is merged again, see †. ¶ an approval counts for one push. The intent of the push records it,
 * and gives it back in some cases (`push/result.ts`). Each part is checked just before it is sent (`send-guard.ts`).
 *
 * † It stays held, and the run warns. With a conflict policy other than `hold` it is merged again: the service wins, or
 * the edit waits in a new batch, over the present value of the service.
 *
 * A hold on request (*asked*) hides an earlier reason. When it ends, the field is held for the earlier reason again
 * (`toHold`), and the first table applies to everything that has happened during the hold on request.
 */
import type { Field } from '../../model/fields.ts';
import { sameValue } from '../../model/user.ts';
import { isApprovable, samePush, type Hold, type Values } from '../../model/user-plan.ts';
import type { UserState } from '../../model/user-state.ts';

/** The hold that a field was under before this run. */
export const holdOn = (field: Field, { held }: Pick<UserState, 'held'>): Hold | undefined =>
  held.find((hold) => hold.field === field);

/** True if the field still has the held edit. A later edit counts as another edit, even with the same value. */
export const isSameEdit = (
  { field, edit }: Pick<Hold, 'field' | 'edit'>,
  { edits }: Pick<UserState, 'edits'>,
): boolean => edit === edits[field]?.id;

/** True if the field still has the held edit, over the same base and the same value of the service. */
export const isAsSeen = (hold: Hold, values: Values, known: Pick<UserState, 'edits'>): boolean =>
  isSameEdit(hold, known) && samePush(hold.field, hold, values);

export const isApproved = (
  hold: Hold | undefined,
  values: Values,
  known: Pick<UserState, 'edits'>,
): boolean => hold?.decision !== undefined && isAsSeen(hold, values, known);

/** The reason why a person's decision about this edit is void; `undefined` if there is no void decision. */
export function voidDetail(
  hold: Hold | undefined,
  values: Values,
  known: Pick<UserState, 'edits'>,
): string | undefined {
  if (hold?.decision === undefined || !isSameEdit(hold, known)) return undefined;
  if (!sameValue(hold.field, hold.mirror, values.mirror) || isAsSeen(hold, values, known)) return undefined;
  return 'the decision about this edit is void: the service no longer has the value that it was based on';
}

/** True if a limit on a whole run or a review holds the edit. The edit waits for a person even if the limit is raised. */
export const isStopped = ({ reason, isAlone }: Hold): boolean => isApprovable(reason) && isAlone !== true;
