/** How a command waits until another run ends: it prints on a terminal that it waits, and a stop signal ends the wait. */
import type { Config } from '../config/config.ts';
import type { LeasedTeam } from '../runs/sync/with-run.ts';
import type { Context } from './context.ts';
import { printLine } from './output.ts';
import { plural } from '../model/in-words.ts';

/** How long a command waits for another run if --wait is not given. */
export const patienceMs = 60_000;

/** Prints on stderr, in one line, which run the command waits for. It prints nothing if stderr is not a terminal. */
export function tellOfWait({ err }: Pick<Context, 'err'>, waitMs: number): (who: string) => void {
  return (holder) => {
    if (err.isTTY !== true) return;
    printLine(
      err,
      `Waiting up to ${plural(Math.ceil(waitMs / 1000), 'second')} for ${holder}; Ctrl-C ends the wait …`,
    );
  };
}

export function leaseWait(
  context: Pick<Context, 'err' | 'signal' | 'waitMs'>,
  { team, lease }: Pick<Config, 'team' | 'lease'>,
): LeasedTeam {
  const { signal, waitMs = patienceMs } = context;
  return { team, lease: { ...lease, waitMs, signal, onWait: tellOfWait(context, waitMs) } };
}
