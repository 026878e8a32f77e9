/**
 * SIGTERM and SIGINT. The first one asks for an orderly end, another one later ends the process at once. An error that
 * nobody caught also asks for an orderly end, so that the lease is given back, and makes it a failure.
 */

export interface Stop {
  /** Aborted with the first signal, or with the first error that nobody caught. */
  readonly signal: AbortSignal;
  /** Stops listening. */
  close(): void;
}

export interface StopOptions {
  /** The error that waiting work is rejected with. */
  readonly reason: Error;
  /** Called at the second signal, and when an orderly end takes too long. */
  readonly leaveAtOnce: () => void;
  /** Called with an error that nobody caught. */
  readonly onCrash: (error: unknown) => void;
  readonly monotonicMs?: () => number;
}

/** npm passes on the Ctrl-C that a terminal has sent to every process, so signals within this time count as one. */
const oneSignalMs = 500;

/** Ms for an orderly end, after which a hanging database is given up. Unfinished work can be taken up again. */
const longestEndMs = 60_000;
/** Ms for an orderly end after a crash. */
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
