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

/** Missing rows that are not called gone before a person agrees. */
export interface WithheldAbsence {
  /** What "musterd approve" is given: it stands for these rows of this resource. */
  readonly hash: string;
  readonly reason: string;
  readonly ids: readonly Id[];
}

/** What earlier runs and people have to say about the absences of a pass. */
export interface AbsenceGrounds {
  /** What the settings asked for when absences were last judged; `null`: never. */
  readonly scope: string | null;
  /** Rows of which a person agreed that they are gone if nothing speaks against it. */
  readonly approved: ReadonlySet<Id>;
}

export interface AbsenceDecision {
  /** Seen as missing in this complete pass. */
  readonly missing: readonly Id[];
  /** Proven gone. */
  readonly gone: readonly Id[];
  /** Put in place of what was withheld before. */
  readonly withheld: WithheldAbsence | null;
  /** What the settings ask for, to be noted if nothing is withheld. */
  readonly scope: string;
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
