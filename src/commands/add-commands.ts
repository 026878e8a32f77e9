/**
 * Types for declaring commands, and functions that read values of the command line. Each group declares its own
 * commands; `commands/program.ts` combines them.
 */
import { MusterdError } from '../errors.ts';
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

/** @throws MusterdError `usage` if the value of the option or argument is not one of the words */
export function readWord<Word extends string>(option: string, given: string, words: readonly Word[]): Word {
  const found = words.find((word) => word === given);
  if (found === undefined)
    throw new MusterdError('usage', `${option} "${given}": use one of ${words.join(', ')}`);
  return found;
}

/** @throws MusterdError `usage` if the value is not a whole number from 1 to `largest` */
export function readWholeNumber(option: string, given: string, largest: bigint): bigint {
  const value = /^\d+$/.test(given) ? BigInt(given) : 0n;
  if (value < 1n || value > largest)
    throw new MusterdError('usage', `${option} "${given}" is not a whole number from 1 to ${largest}`);
  return value;
}
