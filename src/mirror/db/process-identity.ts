/** Identifies this process, so that another process on the same host can see whether it still runs. */
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

export interface ProcessIdentity {
  /** Host, boot and process namespace: process ids are comparable only where all three are equal. */
  readonly host: string;
  readonly pid: bigint;
  /** Start time of the process in clock ticks since boot; empty if unknown. */
  readonly process: string;
}

function attempt(read: () => string): string {
  try {
    return read().trim();
  } catch {
    return '';
  }
}

/** State letter and start time from /proc; both empty if /proc or the process is missing. */
function readStat(pid: bigint): { readonly state: string; readonly started: string } {
  const stat = attempt(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  // The command name is in parentheses and may contain any character: count from the last parenthesis.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { state: fields[0] ?? '', started: fields[19] ?? '' };
}

function readOwn(): ProcessIdentity {
  const boot = attempt(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8'));
  const namespace = attempt(() => readlinkSync('/proc/self/ns/pid'));
  const pid = BigInt(process.pid);
  return {
    host: [hostname(), boot, namespace].filter(Boolean).join(' '),
    pid,
    process: readStat(pid).started,
  };
}

let own: ProcessIdentity | undefined;

/** Read once, because it never changes. */
export function thisProcess(): ProcessIdentity {
  own ??= readOwn();
  return own;
}

/** Only for a process of this host. A zombie counts as ended; a reused process id is another process. */
export function isRunning({ pid, process: started }: Omit<ProcessIdentity, 'host'>): boolean {
  try {
    process.kill(Number(pid), 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  const stat = readStat(pid);
  if (stat.state === '') return true;
  return stat.state !== 'Z' && stat.state !== 'X' && (started === '' || stat.started === started);
}
