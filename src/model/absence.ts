import type { Id } from './id.ts';

/** A resource whose rows can be proven gone: `users`, or the name of a listed resource. */
export type MirroredResource = string;

/** Rows that complete listings no longer show. */
export interface AbsentRow {
  readonly id: Id;
  /** Ms since the first complete pass without the row; `undefined` if this pass is the first. */
  readonly missingForMs: number | undefined;
}

/** Missing rows that are not marked as gone until a person agrees. */
export interface WithheldAbsence {
  /** The hash for "musterd approve", which identifies these rows of this resource. */
  readonly hash: string;
  readonly reason: string;
  readonly ids: readonly Id[];
}

/** The verdict on a missing row. It ends when the row is shown again. */
export type AbsenceVerdict =
  /** A person agreed that the row may be marked as gone, unless the service still shows it. */
  | 'approved'
  /** A person left the row out of an approval, so it still waits. */
  | 'left'
  /** The service returned the row by its id, although the listing does not show it. */
  | 'found';

/** The verdicts of earlier runs and people on missing rows. The oldest verdicts come first. */
export type AbsenceVerdicts = ReadonlyMap<Id, AbsenceVerdict>;

export interface AbsenceDecision {
  /** Rows that this complete pass did not contain. */
  readonly missing: readonly Id[];
  /** Rows that are proven gone. */
  readonly gone: readonly Id[];
  /** Rows that the service returned by id in this pass, although the listing does not show them. */
  readonly found: readonly Id[];
  /** Rows that the service returned by id before, but not in this pass. From now on they count as missing. */
  readonly lost: readonly Id[];
  /** The rows withheld now, which replace the rows withheld before. */
  readonly withheld: WithheldAbsence | null;
}

/** The result of publishing a listing; in a plan, the expected result. */
export interface RefreshResult {
  readonly added: number;
  readonly changed: number;
  /** Rows that were present and that this listing does not show. */
  readonly absent: readonly AbsentRow[];
  /** The number of rows that were present in the mirror before. */
  readonly population: number;
}
