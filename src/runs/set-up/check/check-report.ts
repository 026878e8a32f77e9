import { MusterdError } from '../../../errors.ts';
import { describeError } from '../../../log.ts';
import type { Database } from '../../../mirror/db/database.ts';
import { type Probe, writeProbes } from '../../../mirror/team/probes.ts';

/** One line of the report of "musterd check". */
export interface Finding {
  readonly check: string;
  readonly verdict: 'ok' | 'note' | 'fail';
  readonly detail: string;
}

/** The report to which checks add: findings for the table, probes for the database. */
export interface Report {
  add(check: string, verdict: Finding['verdict'], detail: string): void;
  /** Reports a check that ended with an error. */
  fail(check: string, error: unknown): void;
  probe(probe: string, answer: unknown, verdict: Finding['verdict'], detail: string): void;
  readonly findings: readonly Finding[];
  readonly probes: readonly Probe[];
  /** The errors that stopped checks before their end. */
  readonly errors: readonly unknown[];
}

export function createReport(): Report {
  const findings: Finding[] = [];
  const probes: Probe[] = [];
  const errors: unknown[] = [];
  return {
    add: (check, verdict, detail) => void findings.push({ check, verdict, detail }),
    fail: (check, error) => {
      findings.push({ check, verdict: 'fail', detail: checkInWords(error) });
      errors.push(error);
    },
    probe: (probe, answer, verdict, detail) => {
      findings.push({ check: probe, verdict, detail });
      probes.push({ probe, answer });
    },
    findings,
    probes,
    errors,
  };
}

export function checkInWords(error: unknown): string {
  if (error instanceof MusterdError && error.hint !== undefined)
    return `${error.message.replace(/\.$/, '')}. ${error.hint}`;
  return String(describeError(error)['message']);
}

/** Stores the results of the probes, which contain the service's answers, in the mirror. */
export const keepProbes = (db: Database, team: string, { probes }: Pick<Report, 'probes'>): Promise<void> =>
  writeProbes(db, team, probes);
