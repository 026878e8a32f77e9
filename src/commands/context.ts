/** What a command is given of the world: settings, streams, a request to stop. Only `commands/command-line.ts` makes one. */
import type { Log } from '../log.ts';

/** Exit codes that scripts depend on (docs/guide.md, Exit codes). */
export const exitCode = {
  ok: 0,
  partial: 1,
  changes: 2,
  waiting: 3,
  refused: 4,
  usage: 64,
  busy: 75,
  credentials: 77,
  configuration: 78,
} as const;

export type ExitCode = (typeof exitCode)[keyof typeof exitCode];

export interface Stream {
  readonly isTTY?: boolean | undefined;
  /** False: wait for room (`waitForRoom`) before more is written. */
  write(text: string): unknown;
  /** A stream that hands on to another waits for room there. The answer is false if nobody reads any more. */
  readonly room?: (signal: AbortSignal) => Promise<boolean>;
}

export interface Context {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The version of musterd. */
  readonly version: string;
  /** Data. */
  readonly out: Stream;
  /** Everything else. */
  readonly err: Stream;
  /** Aborted when somebody asks the process to stop. */
  readonly signal: AbortSignal;
  /** The settings file named on the command line. */
  readonly configFile: string | undefined;
  /** The team named on the command line. */
  readonly team: string | undefined;
  /** How long to wait for another run to end, where the command line says. */
  readonly waitMs: number | undefined;
  /** Takes away the sign that the command is at work: it shows that itself, or asks something. */
  readonly showItself?: () => void;
  /** Machine-readable data on stdout instead of words. */
  readonly json: boolean;
  /** Says on stderr what ended the work for one team of several. @returns the exit code of that */
  explain(team: string, error: unknown): ExitCode;
  /** Made once the settings are known. */
  createLog(
    level: string | undefined,
    fallback: 'info' | 'warn',
    secrets: readonly { reveal(): string }[],
  ): Log;
}
