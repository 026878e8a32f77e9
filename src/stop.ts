/** SIGTERM and SIGINT: the first asks for an orderly end, the second ends at once. */

export interface Stop {
  /** Aborted with the first signal. */
  readonly signal: AbortSignal;
  /** Stops listening. */
  close(): void;
}

/**
 * @param reason what waiting work is rejected with
 * @param leaveAtOnce called at the second signal
 */
export function listenForStop(reason: Error, leaveAtOnce: () => void): Stop {
  const controller = new AbortController();
  const onSignal = () => {
    if (controller.signal.aborted) leaveAtOnce();
    else controller.abort(reason);
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  return {
    signal: controller.signal,
    close: () => {
      process.off('SIGTERM', onSignal);
      process.off('SIGINT', onSignal);
    },
  };
}
