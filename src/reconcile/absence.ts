/** When a row that a complete listing does not show may be called gone. */

import type { AbsentRow } from '../model/absence.ts';
import type { Id } from '../model/id.ts';

export interface AbsenceSettings {
  /** Ms that must lie between the first complete pass that misses a row and the one that calls it gone. */
  readonly confirmAfterMs: number;
  /** More missing rows than the greater of these two are an accident, not a departure. */
  readonly maxRows: number;
  /** Share of the rows present, 0 to 1. */
  readonly maxShare: number;
}

export interface AbsenceJudgement {
  /** Rows that have been missing for long enough, to be checked one by one where the interface can. */
  readonly due: readonly Id[];
  /** Why nobody may be called gone now. */
  readonly refused: string | null;
}

/**
 * @param absent every present row that the complete pass did not show
 * @param population how many rows were present before the pass
 */
export function judgeAbsences(
  absent: readonly AbsentRow[],
  population: number,
  settings: AbsenceSettings,
): AbsenceJudgement {
  const limit = Math.max(settings.maxRows, Math.floor(population * settings.maxShare));
  const share = `${absent.length} of ${population} rows are missing`;
  if (absent.length >= population && population > 0 && absent.length > 0) {
    return { due: [], refused: `${share}: an empty list proves nothing` };
  }
  if (absent.length * 2 > population) return { due: [], refused: `${share}, more than half` };
  if (absent.length > limit) return { due: [], refused: `${share}, more than the limit of ${limit}` };
  const due = absent.filter(
    ({ missingForMs }) => missingForMs !== undefined && missingForMs >= settings.confirmAfterMs,
  );
  return { due: due.map(({ id }) => id), refused: null };
}
