/** Calls that the caller can cancel, each with a signal of its own. */
import { ServiceError } from '../errors.ts';
import { nameOperation, type Operation } from './operation.ts';

interface Cancellable {
  readonly operation: Operation;
  readonly signal?: AbortSignal | undefined;
}

/** A signal that is aborted as soon as one of the two signals is. */
export function eitherOf(one: AbortSignal | undefined, other: AbortSignal | undefined) {
  if (one === undefined || other === undefined) return one ?? other;
  return AbortSignal.any([one, other]);
}

/** The error of a call that was cancelled before its request left, or between two attempts that had no effect. */
function cancelled({ operation, signal }: Cancellable): ServiceError {
  const name = nameOperation(operation);
  return new ServiceError(`${name}: cancelled`, {
    operation: name,
    phase: 'not-sent',
    cause: signal?.reason,
    isCancelled: true,
  });
}

/** Makes a call. Calls `noteFlight` when a request leaves, and when it ended and the call waits for its next attempt. */
type MakeNoticed<C, R> = (call: C, noteFlight: (isUnderWay: boolean) => void) => Promise<R>;

/**
 * A cancelled call ends at once, even while it waits for the queue, the rate limit or a pause. If a request is in flight,
 * it is aborted, and its outcome ends the call, because only the request knows whether a byte has left.
 */
export function makeCancellable<C extends Cancellable, R>(make: MakeNoticed<C, R>): (call: C) => Promise<R> {
  return async (call) => {
    const { signal } = call;
    if (signal === undefined) return await make(call, () => {});
    if (signal.aborted) throw cancelled(call);
    const { promise, resolve, reject } = Promise.withResolvers<R>();
    let isUnderWay = false;
    const onAbort = () => {
      if (!isUnderWay) reject(cancelled(call));
    };
    signal.addEventListener('abort', onAbort, { once: true });
    const noteFlight = (isNow: boolean) => {
      isUnderWay = isNow;
    };
    make(call, noteFlight).then(resolve, (error: unknown) => {
      reject(signal.aborted && !(error instanceof ServiceError) ? cancelled(call) : error);
    });
    return await promise.finally(() => signal.removeEventListener('abort', onAbort));
  };
}
