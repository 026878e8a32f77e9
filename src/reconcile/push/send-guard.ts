/**
 * Checks right before a push leaves that the lease is still ours, and that the push was prepared
 * only a moment ago. Otherwise, after a stall or a pause that the service asked for, the process could overwrite
 * later changes by other writers. The check is made twice: after waiting for the rate limit and the token, and
 * again when the connection is open. The second check uses only the clock, no query.
 */
import type { SendOptions } from '../../model/service-request.ts';
import { ServiceError } from '../../errors.ts';
import type { Id } from '../../model/id.ts';
import type { MirrorWriter } from '../ports.ts';

const operation = 'POST /v1/users/update';

/** The latest time at which the prepared updates may leave, by the monotonic clock. */
interface SendDeadline {
  readonly mirror: Pick<MirrorWriter, 'markSent' | 'requireLease'>;
  readonly monotonicMs: () => number;
  readonly sendByMs: number;
  /** `open` is true once an update of this run has cleared or shortened a name that it did not contain. */
  readonly breaker: { readonly open: boolean };
}

/** Thrown if a push was prepared too long ago. It was not sent, and its users must be read and merged again. */
export class LateError extends ServiceError {
  constructor(why = 'it had waited for too long since it was prepared') {
    super(`${operation} was not sent: ${why}`, {
      operation,
      phase: 'not-sent',
    });
  }
}

export function guardSend(
  { mirror, monotonicMs, sendByMs, breaker }: SendDeadline,
  ids: readonly Id[],
): SendOptions {
  const requireTime = () => {
    if (breaker.open || monotonicMs() > sendByMs) throw new LateError();
  };
  return {
    beforeSend: async () => {
      requireTime();
      const over = await mirror.markSent(ids);
      if (over.length > 0)
        throw new LateError(`an edit of user ${over[0]} was taken back, replaced or rejected meanwhile`);
    },
    atStart: () => {
      requireTime();
      mirror.requireLease();
    },
  };
}

/** True if a push failed for a temporary reason without being applied. The next run sends the same edits again. */
export function isPassing(error: unknown): error is ServiceError {
  return error instanceof LateError || (error instanceof ServiceError && error.status === 429);
}
