/**
 * What is made sure of right before a push leaves, after all waiting for the rate and the token is over:
 * the lease is still ours, and what is sent was prepared only a moment ago. A process that stalled, or a
 * pause that the service asked for, must not send what others have changed since.
 */
import { ServiceError } from '../errors.ts';
import type { Id } from '../model/id.ts';
import type { MirrorWriter } from './ports.ts';

const operation = 'POST /v1/users/update';

/** The last moment at which what was prepared may leave, by the clock that never jumps. */
export interface SendDeadline {
  readonly mirror: Pick<MirrorWriter, 'markSent'>;
  readonly monotonicMs: () => number;
  readonly sendByMs: number;
}

/** Prepared too long ago: it never left, and has to be read and merged anew. */
export class LateError extends ServiceError {
  constructor() {
    super(`${operation} was not sent: it had waited for too long since it was prepared`, {
      operation,
      phase: 'not-sent',
    });
    this.name = 'LateError';
  }
}

/** The clock is looked at last: the database may take its time as well. */
export async function guardSend(
  { mirror, monotonicMs, sendByMs }: SendDeadline,
  ids: readonly Id[],
): Promise<void> {
  if (monotonicMs() > sendByMs) throw new LateError();
  await mirror.markSent(ids);
  if (monotonicMs() > sendByMs) throw new LateError();
}

/** Whether nothing was applied for a reason that passes: the same edits may be prepared and sent anew. */
export function isPassing(error: unknown): boolean {
  return error instanceof LateError || (error instanceof ServiceError && error.status === 429);
}
