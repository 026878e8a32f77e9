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

/** What is known of a missing row, or was said of it. It ends when the row is shown again. */
export type AbsenceVerdict =
  /** A person agreed that it is gone if nothing speaks against it. */
  | 'approved'
  /** A person left it out of an approval: it waits on. */
  | 'left'
  /** The service says that it is there, though the listing does not show it. */
  | 'found';

export interface DecidedAbsence {
  readonly verdict: AbsenceVerdict;
  /** What the settings have to ask for, so that it counts; `null`: anything. */
  readonly scope: string | null;
}

/** What earlier runs and people have to say about the absences of a pass. */
export interface AbsenceGrounds {
  /** What the settings asked for when absences were last judged; `null`: never. */
  readonly scope: string | null;
  /** The rows that were decided longest ago come first. */
  readonly decided: ReadonlyMap<Id, DecidedAbsence>;
}

export interface AbsenceDecision {
  /** Seen as missing in this complete pass. */
  readonly missing: readonly Id[];
  /** Proven gone. */
  readonly gone: readonly Id[];
  /** The service said in this pass that they are there, whatever the listing shows. */
  readonly found: readonly Id[];
  /** It said so before, and says so no longer: from now on they are missing like any others. */
  readonly lost: readonly Id[];
  /** Put in place of what was withheld before. */
  readonly withheld: WithheldAbsence | null;
  /** What the settings ask for. */
  readonly scope: string;
  /** Whether nothing is in doubt, so that these settings are the usual ones from now on. */
  readonly scopeIsUsual: boolean;
}

/** What publishing a listing did, or in a plan would do. */
export interface RefreshResult {
  readonly added: number;
  readonly changed: number;
  /** Rows that were present and that this listing does not show. */
  readonly absent: readonly AbsentRow[];
  /** How many rows were present in the mirror before. */
  readonly population: number;
}

/** How far the users of the mirror are those whom the team lists. */
export interface Overlap {
  /** How many of the listed users the mirror has, gone or not. */
  readonly known: number;
  /** Users who are not gone, nor approved to be. */
  readonly population: number;
  /** The users of this population who are not listed. */
  readonly unlisted: readonly Id[];
  /** The team's name in the mirror. */
  readonly name: string | null;
}
