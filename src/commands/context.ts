/** What a command gets: environment, streams and a stop signal. Only `commands/command-line.ts` creates a context. */
import type { Log } from '../log.ts';

/** Exit codes that scripts depend on (docs/guide.md, Exit codes). */
export const exitCode = {
  ok: 0,
  partial: 1,
  changes: 2,
  waiting: 3,
  refused: 4,
  unknown: 5,
  usage: 64,
  busy: 75,
  credentials: 77,
  configuration: 78,
} as const;

export type ExitCode = (typeof exitCode)[keyof typeof exitCode];

export interface Stream {
  readonly isTTY?: boolean | undefined;
  /** @returns `false` if the caller must wait (`waitForRoom`) before it writes more */
  write(text: string): unknown;
  /** Waits until the underlying stream can take more text. @returns `false` if the reader has closed that stream */
  readonly room?: (signal: AbortSignal) => Promise<boolean>;
}

/** A line on the terminal that shows that the command is working. */
export interface Sign {
  /** Shows these words at once, in place of the name of the command. `undefined`: the name again. */
  readonly say: (words: string | undefined) => void;
  /** Removes the line, which does not return: the command ends or asks a question. */
  readonly close: () => void;
}

export interface Context {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The version of musterd. */
  readonly version: string;
  /** Stdout, for data. */
  readonly out: Stream;
  /** Stderr, for everything else. */
  readonly err: Stream;
  /** Aborted when the process is asked to stop. */
  readonly signal: AbortSignal;
  /** The settings file named on the command line. */
  readonly configFile: string | undefined;
  /** The team named on the command line. */
  readonly team: string | undefined;
  /** How long to wait for another run to end, if --wait is given. */
  readonly waitMs: number | undefined;
  /** Absent if nothing is shown, for example with --json. */
  readonly sign?: Sign | undefined;
  /** True if stdout gets JSON instead of text. */
  readonly json: boolean;
  /** Prints to stderr the error that ended the work for one of several teams. @returns its exit code, and that error */
  explain(team: string, error: unknown): { readonly code: ExitCode; readonly told: unknown };
  /** Makes the log once the settings are known. */
  createLog(
    level: string | undefined,
    fallback: 'info' | 'warn',
    secrets: readonly { reveal(): string }[],
  ): Log;
}
