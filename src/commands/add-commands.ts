/** Types for declaring commands. Each group declares its own commands; `commands/program.ts` combines them. */
import type { Context, ExitCode } from './context.ts';
import type { HelpGroup } from './help.ts';

export type Action = (
  context: Context,
  options: Record<string, unknown>,
  args: readonly string[],
) => Promise<ExitCode>;

/** The methods of a command that add options to it. */
export interface WithOptions<C> {
  option(flags: string, description: string): C;
  option(flags: string, description: string, gather: (value: string, all?: readonly string[]) => unknown): C;
}

/** An option for commands that need the lease of the team. */
export const waitOption = [
  '--wait <seconds>',
  'how long to wait for another run to end; else exit 75',
] as const;

/** An option for commands that record who edits or decides. */
export const asOption = ['--as <person>', 'in whose name (or MUSTERD_ACTOR)'] as const;

export interface Adding<C> {
  /** Sets the group of `--help` for the commands that follow. */
  readonly group: (name: HelpGroup) => void;
  readonly add: (name: string, description: string, action: Action) => C;
}
