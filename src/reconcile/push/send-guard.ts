/**
 * What is made sure of right before a push leaves: the lease is still ours, and what is sent was prepared
 * only a moment ago. A process that stalled, or a pause that the service asked for, must not send what others
 * have changed since. It is asked twice: when all waiting for the rate and the token is over, and once more,
 * by the clock alone, when the connection stands.
 */
import type { SendOptions } from '../../model/service-request.ts';
import { ServiceError } from '../../errors.ts';
import type { Id } from '../../model/id.ts';
import type { MirrorWriter } from '../ports.ts';

const operation = 'POST /v1/users/update';

/** The last moment at which what was prepared may leave, by the clock that never jumps. */
export interface SendDeadline {
  readonly mirror: Pick<MirrorWriter, 'markSent' | 'requireLease'>;
  readonly monotonicMs: () => number;
  readonly sendByMs: number;
  /** Open: an update that left meanwhile did what it must not. */
  readonly breaker: { readonly open: boolean };
}

/** Prepared too long ago: it never left, and has to be read and merged again. */
export class LateError extends ServiceError {
  constructor() {
    super(`${operation} was not sent: it had waited for too long since it was prepared`, {
      operation,
      phase: 'not-sent',
    });
    this.name = 'LateError';
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
      await mirror.markSent(ids);
    },
    atStart: () => {
      requireTime();
      mirror.requireLease();
    },
  };
}

/** Whether nothing was applied for a reason that passes: the same edits may be prepared and sent again. */
export function isPassing(error: unknown): boolean {
  return error instanceof LateError || (error instanceof ServiceError && error.status === 429);
}
