import type { Id } from './id.ts';

/** The name of a resource whose rows can be marked as gone: `users`, or a listed resource such as `tags`. */
export type MirroredResource = string;

/** A row that complete listings no longer show. */
export interface AbsentRow {
  readonly id: Id;
  /** Ms since a complete listing first lacked the row; `undefined` if this listing is the first to lack it. */
  readonly missingForMs: number | undefined;
}

/** Missing rows that are not marked as gone until a person agrees. */
export interface WithheldAbsence {
  /** The hash for "musterd approve", which identifies these rows of this resource. */
  readonly hash: string;
  readonly reason: string;
  readonly ids: readonly Id[];
}

/** The finding of a person or a run about a missing row. The verdict ends when a listing shows the row again. */
export type AbsenceVerdict =
  /** A person agreed that the row may be marked as gone, unless the service still shows it. */
  | 'approved'
  /** A person approved other rows of the batch but not this row, so it still waits for a decision. */
  | 'left'
  /** The service returned the row by its id, although the listing does not show it. */
  | 'found';

/** The verdicts of people and earlier runs, by the id of the missing row. The oldest verdicts come first. */
export type AbsenceVerdicts = ReadonlyMap<Id, AbsenceVerdict>;

export interface AbsenceDecision {
  /** Rows that this complete listing did not contain. */
  readonly missing: readonly Id[];
  /** Rows to mark as gone, because their absence is proven. */
  readonly gone: readonly Id[];
  /** Rows that the service returned by id in this run, although the listing does not show them. */
  readonly found: readonly Id[];
  /** Rows that the service returned by id in an earlier run, but not in this run. They count as missing from now on. */
  readonly lost: readonly Id[];
  /** The missing rows that wait for a person from now on. This record replaces the earlier one. */
  readonly withheld: WithheldAbsence | null;
}

/** The result of publishing a listing; in a plan, the expected result. */
export interface RefreshResult {
  readonly added: number;
  readonly changed: number;
  /** Rows that were present in the mirror and that this listing does not show. */
  readonly absent: readonly AbsentRow[];
  /** The number of rows that were present in the mirror before. */
  readonly population: number;
}
