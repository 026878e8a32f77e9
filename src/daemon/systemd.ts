/**
 * Notifies systemd (`sd_notify`): ready, reloading, stopping, and watchdog heartbeats. Node has no unix datagram
 * sockets, so the program `systemd-notify` sends the notifications, and the unit needs `NotifyAccess=all`. Without
 * `NOTIFY_SOCKET` nothing is sent.
 */
import { execFile } from 'node:child_process';

/** The needed part of pino's interface. */
export interface WarningLog {
  warn(fields: object, text: string): void;
}

export interface SystemdOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Called before each heartbeat. If it returns `false`, no heartbeat is sent, and systemd restarts the process. */
  readonly isFresh: () => boolean | Promise<boolean>;
  readonly log: WarningLog;
  readonly program?: string;
}

/** Each method resolves when systemd has been notified, and never rejects. */
export interface Systemd {
  ready(): Promise<void>;
  /** Must be followed by `ready`. */
  reloading(): Promise<void>;
  stopping(): Promise<void>;
  /** Stops the heartbeats, and waits for pending notifications. */
  close(): Promise<void>;
}

/** Time limit for one notification, in ms. */
const patienceMs = 10_000;

/** Ms between two heartbeats: a third of systemd's limit, or `null` if systemd expects no heartbeats. */
function watchdogMs(env: SystemdOptions['env']): number | null {
  const usec = Number(env['WATCHDOG_USEC'] ?? '');
  const pid = env['WATCHDOG_PID'];
  const isOurs = pid === undefined || pid === String(process.pid);
  return Number.isFinite(usec) && usec > 0 && isOurs ? Math.max(usec / 3_000, 1) : null;
}

export function createSystemd(options: SystemdOptions): Systemd {
  const { env, isFresh, log, program = 'systemd-notify' } = options;
  const socket = env['NOTIFY_SOCKET'];
  let last: Promise<void> = Promise.resolve();
  let isMissing = socket === undefined || socket === '';
  const complaints = new Set<string>();

  const complain = (problem: string) => {
    if (complaints.has(problem)) return;
    complaints.add(problem);
    log.warn({ program, problem }, 'systemd cannot be notified');
  };
  const run = async (variables: readonly string[]) => {
    if (isMissing) return;
    const { promise, resolve } = Promise.withResolvers<Error | null>();
    const settings = {
      timeout: patienceMs,
      env: { PATH: env['PATH'], NOTIFY_SOCKET: socket },
    };
    execFile(program, [...variables], settings, resolve);
    const error = await promise;
    if (error === null) return;
    const { code } = error as NodeJS.ErrnoException;
    isMissing = code === 'ENOENT' || code === 'EACCES';
    complain(isMissing ? 'it cannot be run' : `it ended with ${String(code)}`);
  };
  /** Notifications are sent one after the other, because concurrent ones could arrive in any order. */
  const say = (...variables: readonly string[]): Promise<void> => {
    last = last.then(() => run(variables));
    return last;
  };
  let beating = false;
  const beat = async () => {
    if (beating) return;
    beating = true;
    const fresh = await Promise.resolve()
      .then(isFresh)
      .catch(() => false);
    if (fresh) await say('WATCHDOG=1');
    beating = false;
  };

  const everyMs = isMissing ? null : watchdogMs(env);
  const timer = everyMs === null ? undefined : setInterval(() => void beat(), everyMs);
  timer?.unref();
  return {
    ready: () => say('READY=1'),
    reloading: () => say('RELOADING=1', `MONOTONIC_USEC=${process.hrtime.bigint() / 1_000n}`),
    stopping: () => say('STOPPING=1'),
    close: async () => {
      clearInterval(timer);
      await last;
    },
  };
}
