/** How a person's command waits for a run under way: it says so on a terminal, and ends when asked to stop. */
import type { Config } from '../config/config.ts';
import type { LeasedTeam } from '../runs/sync/with-run.ts';
import type { Context } from './context.ts';
import { printLine } from './output.ts';
import { plural } from '../model/in-words.ts';

/** The default for how long a person's command waits. */
export const patienceMs = 60_000;

/** Says once, in one line on stderr, which run a command waits for. It says nothing if nobody is looking. */
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
