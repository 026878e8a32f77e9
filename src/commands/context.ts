/** The world of a command: settings, streams, a request to stop. Only `commands/command-line.ts` makes one. */
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
  /** @returns `false` if more has to wait for room (`waitForRoom`) */
  write(text: string): unknown;
  /** Waits for room in the stream that this one passes its text to. @returns `false` if nobody reads any more */
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
  /** How long to wait for another run to end, if the command line says it. */
  readonly waitMs: number | undefined;
  /** Removes the sign that the command is at work, because it shows that itself, or asks something. */
  readonly showItself?: () => void;
  /** Whether stdout gets machine-readable data instead of words. */
  readonly json: boolean;
  /** Says on stderr what ended the work for one team of several. @returns its exit code, and what was said */
  explain(team: string, error: unknown): { readonly code: ExitCode; readonly told: unknown };
  /** Makes the log once the settings are known. */
  createLog(
    level: string | undefined,
    fallback: 'info' | 'warn',
    secrets: readonly { reveal(): string }[],
  ): Log;
}
