import type { Id } from './id.ts';

/** A resource whose rows can be proven gone: `users`, or the name of a listed one. */
export type MirroredResource = string;

/** Rows that complete listings no longer show. */
export interface AbsentRow {
  readonly id: Id;
  /** In ms since the first complete pass that missed it; `undefined` if this is the first. */
  readonly missingForMs: number | undefined;
}

/** Missing rows that do not count as gone before a person agrees. */
export interface WithheldAbsence {
  /** The hash for "musterd approve", which identifies these rows of this resource. */
  readonly hash: string;
  readonly reason: string;
  readonly ids: readonly Id[];
}

/** The verdict on a missing row. It ends when the row is shown again. */
export type AbsenceVerdict =
  /** A person agreed that it is gone if nothing speaks against it. */
  | 'approved'
  /** A person left it out of an approval, so that it goes on waiting. */
  | 'left'
  /** The service says that it is there, though the listing does not show it. */
  | 'found';

/** What earlier runs and people said of missing rows. Those that were decided about longest ago come first. */
export type AbsenceVerdicts = ReadonlyMap<Id, AbsenceVerdict>;

export interface AbsenceDecision {
  /** Rows that this complete pass has missed. */
  readonly missing: readonly Id[];
  /** Rows that are proven gone. */
  readonly gone: readonly Id[];
  /** Rows of which the service said in this pass that they are there, whatever the listing shows. */
  readonly found: readonly Id[];
  /** Rows of which it said so before, and no longer does. From now on they are missing like any others. */
  readonly lost: readonly Id[];
  /** The rows that replace those withheld before. */
  readonly withheld: WithheldAbsence | null;
}

/** The result of publishing a listing, or in a plan the expected one. */
export interface RefreshResult {
  readonly added: number;
  readonly changed: number;
  /** Rows that were present and that this listing does not show. */
  readonly absent: readonly AbsentRow[];
  /** The number of rows that were present in the mirror before. */
  readonly population: number;
}
