/** What wires a command: `commands/program.ts` has the program, and the commands say here what they are. */
import type { Context, ExitCode } from './context.ts';
import type { HelpGroup } from './help.ts';

export type Action = (
  context: Context,
  options: Record<string, unknown>,
  args: readonly string[],
) => Promise<ExitCode>;

/** As much of a command as is needed to give it options. */
export interface WithOptions<C> {
  option(flags: string, description: string): C;
  option(flags: string, description: string, gather: (value: string, all?: readonly string[]) => unknown): C;
}

/** What a command takes that needs the team to itself. */
export const waitOption = [
  '--wait <seconds>',
  'how long to wait for another run to end; else exit 75',
] as const;

export interface Adding<C> {
  /** Where the commands that follow stand in `--help`. */
  readonly group: (name: HelpGroup) => void;
  readonly add: (name: string, description: string, action: Action) => C;
  /** Gives it `--json`. */
  readonly json: (command: C) => C;
}
