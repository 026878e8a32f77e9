/** Checks what the daemon needs: database and schema now, and credentials according to the service's last answer. */
import type { CheckState, ReadyChecks } from '../model/readiness-report.ts';
import type { MeteredServiceEvent } from './metrics.ts';
import { withTimeout } from './with-timeout.ts';

export interface Readiness {
  onServiceEvent(team: string, event: MeteredServiceEvent): void;
  /** Forgets all teams except these. */
  keepTeams(teams: readonly string[]): void;
  /** Never rejects. */
  check(): Promise<ReadyChecks>;
}

export interface ReadinessOptions {
  /** Makes a small query. Rejects if the database does not answer. */
  readonly ask: () => Promise<unknown>;
  /** Number of migrations that the database lacks; rejects if this version does not know its schema. */
  readonly countPending: () => Promise<number>;
  readonly patienceMs?: number;
}

export function createReadiness({ ask, countPending, patienceMs = 3_000 }: ReadinessOptions): Readiness {
  /** By team: true if the service accepted its credentials in the last answer. */
  const accepted = new Map<string, boolean>();
  const credentials = (): CheckState => {
    if (accepted.size === 0) return 'unknown';
    return [...accepted.values()].includes(true) ? 'ok' : 'failing';
  };
  return {
    onServiceEvent: (team, event) => {
      if (event.kind === 'request' && event.status !== null) accepted.set(team, event.status !== 401);
    },
    keepTeams: (teams) => {
      for (const team of accepted.keys()) if (!teams.includes(team)) accepted.delete(team);
    },
    check: async () => {
      try {
        await withTimeout(patienceMs, ask());
      } catch {
        return { database: 'failing', migrations: 'unknown', credentials: credentials() };
      }
      const pending = await withTimeout(patienceMs, countPending()).catch(() => null);
      return { database: 'ok', migrations: pending === 0 ? 'ok' : 'failing', credentials: credentials() };
    },
  };
}
