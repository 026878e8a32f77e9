import type { Id } from './id.ts';

/** The resources that are listed page by page. */
export type ListedResource = 'tags' | 'contact_fields';

/** The resources whose rows can be proven gone. */
export type MirroredResource = ListedResource | 'users';

/** Rows that complete listings no longer show. */
export interface AbsentRow {
  readonly id: Id;
  /** Ms since the first complete pass that missed it; `undefined`: this is the first. */
  readonly missingForMs: number | undefined;
}

export interface AbsenceDecision {
  /** Seen as missing in this complete pass. */
  readonly missing: readonly Id[];
  /** Proven gone. */
  readonly gone: readonly Id[];
}

/** What publishing a listing did, or in a plan would do. */
export interface RefreshResult {
  readonly added: number;
  readonly changed: number;
  /** Rows that were present and that this listing does not show. */
  readonly absent: readonly AbsentRow[];
  /** Rows that are present in the mirror now. */
  readonly population: number;
}
