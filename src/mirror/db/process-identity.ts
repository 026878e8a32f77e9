/** Identifies this process, so that another process on the same host can see whether it still runs. */
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

export interface ProcessIdentity {
  /** Host, boot and process namespace. Two process ids can be compared only if all three are equal. */
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
  // The fields begin after the last parenthesis, because the command name in parentheses may contain any character.
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

/** The identity of this process. It is read once, because it never changes. */
export function thisProcess(): ProcessIdentity {
  own ??= readOwn();
  return own;
}

/** True if a process of this host still runs. A zombie does not, and neither does a process whose id was reused. */
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
