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
 * decides; this command also ends any other hold. *Limit lifted*: a look at all users shows that no limit holds the field
 * any more (`guard/field-limits.ts`). *Edited again*: the field has another edit, even if its value was taken back and
 * then set to the same value.
 *
 * A person's decision is about one edit and the service value seen for it. What happens to the decision:
 *
 * | the edit                            | the service             | no decision                  | approved         | rejected         |
 * |-------------------------------------|-------------------------|------------------------------|------------------|------------------|
 * | is unchanged                        | is unchanged            | as above                     | is sent          | stays, silently  |
 * | is unchanged                        | has another value       | as above                     | void: held (§)   | stays            |
 * | is unchanged                        | changed and went back   | as above                     | is sent          | stays            |
 * | was withdrawn                       | ·                       | ends                         | ends with it     | ends with it     |
 * | was replaced, even by its own value | ·                       | a new edit                   | does not pass on | does not pass on |
 * | was made with the triggers off      | ·                       | a new edit                   | does not pass on | does not pass on |
 * | is being sent                       | ·                       | –                            | is spent (¶)     | "on its way"     |
 * | was sent, no answer, does not show  | ·                       | merged again                 | sent again (¶)   | –                |
 * | is in a refused request that is cut | ·                       | checked before each part     | likewise         | is taken out     |
 * | belongs to a user who left          | ·                       | returned                     | void: returned   | stays            |
 *
 * An approval is about values: if the service's value changed and changed back, the approval still applies. § with a policy
 * other than `hold` the edit is merged again, see †. ¶ opening an intent under a decision spends the decision, and the intent
 * remembers it: see the table in `push/result.ts`. Each part is checked just before it leaves (`send-guard.ts`).
 *
 * † and the run warns. With a policy other than `hold` the field is merged again: the service wins, or the edit waits in
 * a new batch, over the present value of the service.
 *
 * A hold on request (*asked*) hides an earlier reason. When it ends, the field is held for the earlier reason again
 * (`toHold`), and the first table applies to all that has happened meanwhile.
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

/** The reason why a person's decision about this edit is void; `undefined` if it is not void, or there is none. */
export function voidDetail(
  hold: Hold | undefined,
  values: Values,
  known: Pick<UserState, 'edits'>,
): string | undefined {
  if (hold?.decision === undefined || !isSameEdit(hold, known)) return undefined;
  if (!sameValue(hold.field, hold.mirror, values.mirror) || isAsSeen(hold, values, known)) return undefined;
  return 'the decision about this edit is void: the service no longer has the value that it was based on';
}

/** True if a limit on a whole run or a review holds the edit. It then waits for a person even after the limit has ended. */
export const isStopped = ({ reason, isAlone }: Hold): boolean => isApprovable(reason) && isAlone !== true;
