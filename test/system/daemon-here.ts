/** A daemon within this process, which spares the start of another one. What only a process shows is in `signals.test.ts`. */
import { daemonCommand } from '../../src/commands/sync/daemon.ts';
import type { Context, ExitCode } from '../../src/commands/context.ts';
import { createLog } from '../../src/log.ts';
import { atAnyPace } from './run-musterd.ts';

export interface DaemonHere {
  /** What it has logged so far. */
  log(): string;
  /** Its exit code. @throws what ended it */
  readonly ended: Promise<ExitCode>;
  /** Asks it to stop, and waits for that. */
  stop(): Promise<ExitCode>;
}

/** The world of a command whose words and log go to `stream`. */
export const contextFor = (
  env: Context['env'],
  stream: Context['err'],
  signal: AbortSignal,
  configFile?: string,
): Context => ({
  env,
  version: '0.0.0',
  out: { write: (text) => stream.write(text) },
  err: stream,
  signal,
  configFile,
  team: undefined,
  waitMs: undefined,
  json: false,
  explain: () => ({ code: 1, told: undefined }),
  createLog: (level, fallback, secrets) =>
    createLog({ level: level ?? fallback, secrets, stream: { write: (line) => void stream.write(line) } }),
});

/** Schedules that do not come up by themselves while a test runs. */
const yearly = Object.fromEntries(
  ['users', 'listings', 'counts'].map((group) => [`MUSTERD__schedule__${group}`, '0 0 1 1 *']),
);

export function startDaemon(env: Readonly<Record<string, string>>, configFile?: string): DaemonHere {
  const asked = new AbortController();
  let written = '';
  const stream = { write: (text: string) => (written += text) };
  const ended = daemonCommand(
    contextFor({ ...atAnyPace, ...yearly, ...env }, stream, asked.signal, configFile),
  );
  // Whoever waits for its end hears of it.
  ended.catch(() => {});
  return {
    log: () => written,
    ended,
    stop: () => {
      asked.abort();
      return ended;
    },
  };
}
