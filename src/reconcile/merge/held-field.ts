/**
 * What happens to a held field, by its reason:
 *
 * | reason                               | edited again | edit withdrawn | service moved    | approved    | rejected | limit lifted | user leaves |
 * |--------------------------------------|--------------|----------------|------------------|-------------|----------|--------------|-------------|
 * | limit, review, in a batch            | new batch    | ends           | stays (†)        | passes once | rejected | stays        | gone        |
 * | limit on one field                   | merged again | ends           | merged again     | –           | –        | stays        | gone        |
 * | conflict                             | merged again | ends, pulled   | merged again     | –           | –        | stays        | gone        |
 * | refused, ineffective, unsupported    | merged again | ends           | merged again     | –           | –        | stays        | gone        |
 * | rejected                             | merged again | ends           | stays            | –           | –        | stays        | rejected    |
 * | gone                                 | merged again | ends           | stays            | –           | –        | stays        | gone        |
 * | asked                                | stays        | stays          | stays            | –           | –        | stays        | asked       |
 *
 * *Merged again*: it is pushed, pulled or held like any other field, and counted by the guard. –: only `musterd resolve`
 * decides; it also ends any other hold. An approval is for exactly these values of mirror, base and service; if one of
 * them has moved, it is void.
 *
 * † and the run says so. With a policy other than `hold` it is merged again: the service wins, or the edit waits in a
 * new batch, over the value that the service has now.
 *
 * A field stays in its batch while something else holds it: after that it waits in the batch again.
 */
import { samePush } from '../../model/push-values.ts';
import type { Hold, Values } from '../../model/user-plan.ts';

/** Whether a person approved this push with exactly these values. */
export const isApproved = (hold: Hold | undefined, values: Values): boolean =>
  hold?.decision !== undefined && samePush(hold.field, hold, values);

/** Whether it only waits in a batch. */
export const waitsInBatch = ({ reason, batch }: Hold): boolean =>
  batch !== undefined && (reason === 'limit' || reason === 'review');
