/**
 * Handles SIGTERM and SIGINT. The first signal asks for an orderly end; a later signal ends the process immediately. An
 * uncaught error also asks for an orderly end, so that the lease is released, and makes the command fail.
 */

export interface Stop {
  /** Aborted at the first signal, or at the first uncaught error. */
  readonly signal: AbortSignal;
  /** Stops listening. */
  close(): void;
}

export interface StopOptions {
  /** The error that rejects waiting work after the first signal. */
  readonly reason: Error;
  /** Called at the second signal, or if an orderly end takes too long. */
  readonly leaveAtOnce: () => void;
  /** Called with each uncaught error. */
  readonly onCrash: (error: unknown) => void;
  readonly monotonicMs?: () => number;
}

/** npm repeats a Ctrl-C that the terminal already sent to every process, so signals within this time count as one. */
const oneSignalMs = 500;

/** The longest orderly end in ms. Then the process ends even if the database hangs. A later run continues the work. */
const longestEndMs = 60_000;
/** The longest orderly end after a crash in ms. */
const crashGraceMs = 20_000;

export function listenForStop(options: StopOptions): Stop {
  const { reason, leaveAtOnce, onCrash, monotonicMs = () => performance.now() } = options;
  const controller = new AbortController();
  let crashed = false;
  let askedMs = Number.NEGATIVE_INFINITY;
  const onSignal = () => {
    if (monotonicMs() - askedMs < oneSignalMs) return;
    if (controller.signal.aborted) leaveAtOnce();
    else {
      askedMs = monotonicMs();
      setTimeout(leaveAtOnce, longestEndMs).unref();
      controller.abort(reason);
    }
  };
  const onError = (error: unknown) => {
    onCrash(error);
    if (crashed) return;
    crashed = true;
    setTimeout(leaveAtOnce, crashGraceMs).unref();
    controller.abort(reason);
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  process.on('uncaughtException', onError);
  process.on('unhandledRejection', onError);
  return {
    signal: controller.signal,
    close: () => {
      process.off('SIGTERM', onSignal);
      process.off('SIGINT', onSignal);
      process.off('uncaughtException', onError);
      process.off('unhandledRejection', onError);
    },
  };
}
