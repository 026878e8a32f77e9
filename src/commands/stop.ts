/**
 * SIGTERM and SIGINT: the first asks for an orderly end, another one later ends at once. An error that nobody
 * caught asks for an orderly end as well, so that the lease is given back, and makes it a failure.
 */

export interface Stop {
  /** Aborted with the first signal, or with the first error that nobody caught. */
  readonly signal: AbortSignal;
  /** Whether there was such an error. */
  readonly crashed: boolean;
  /** Stops listening. */
  close(): void;
}

export interface StopOptions {
  /** What waiting work is rejected with. */
  readonly reason: Error;
  /** Called at the second signal, and when an orderly end takes too long. */
  readonly leaveAtOnce: () => void;
  /** Told of an error that nobody caught. */
  readonly onCrash: (error: unknown) => void;
  readonly monotonicMs?: () => number;
}

/** npm hands on the Ctrl-C that a terminal has sent to every process: what comes within this time is one signal. */
const oneSignalMs = 500;

/** Ms for an orderly end, in which a database that hangs is given up; what is under way can be taken up again. */
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
    get crashed() {
      return crashed;
    },
    close: () => {
      process.off('SIGTERM', onSignal);
      process.off('SIGINT', onSignal);
      process.off('uncaughtException', onError);
      process.off('unhandledRejection', onError);
    },
  };
}
