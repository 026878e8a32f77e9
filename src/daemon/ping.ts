/**
 * A dead-man switch: each team's `ping.url` is called after a complete run of the users, and only then. The watching
 * service raises the alarm if no call comes, whatever the cause, so a failed call only logs a warning.
 */
import type { RunGroup } from '../model/run-group.ts';
import { callOut, describeCallError } from './call-out.ts';
import { readCallUrl } from './call-url.ts';
import type { WarningLog } from './systemd.ts';

export interface PingOptions {
  /** `ping.url` of each team that has one. */
  readonly urls: ReadonlyMap<string, string>;
  readonly log: WarningLog;
  readonly timeoutMs?: number;
}

export interface Ping {
  /**
   * Calls `ping.url` if the run was complete and included the users. It resolves after the call, at the latest after
   * its timeout, and never rejects. Callers need not await it. A team has at most one call at a time.
   */
  onRun(team: string, run: { readonly groups: readonly RunGroup[]; readonly outcome: string }): Promise<void>;
  /** Aborts the current calls and waits for their end. */
  close(): Promise<void>;
}

/** @throws MusterdError `configuration` */
export function createPing({ urls, log, timeoutMs = 10_000 }: PingOptions): Ping {
  const addresses = new Map([...urls].map(([team, url]) => [team, readCallUrl(url)]));
  const underWay = new Map<string, Promise<void>>();
  const closing = new AbortController();

  const call = async (team: string, url: URL) => {
    try {
      const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(timeoutMs)]);
      const status = await callOut(url, { signal });
      if (status < 200 || status > 299) log.warn({ team, status }, 'ping not accepted');
    } catch (error) {
      if (closing.signal.aborted) return;
      log.warn({ team, problem: describeCallError(error) }, 'ping not sent');
    }
  };
  return {
    onRun: async (team, { groups, outcome }) => {
      const url = addresses.get(team);
      if (url === undefined || outcome !== 'complete' || !groups.includes('users')) return;
      if (closing.signal.aborted || underWay.has(team)) return;
      const done = call(team, url).finally(() => underWay.delete(team));
      underWay.set(team, done);
      await done;
    },
    close: async () => {
      closing.abort();
      await Promise.all(underWay.values());
    },
  };
}
