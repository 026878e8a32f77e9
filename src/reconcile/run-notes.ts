/** What a run has to say about itself, gathered while it goes. */
import type { MirroredResource } from '../model/absence.ts';
import type { Id } from '../model/id.ts';

export type CountKind =
  | 'users_read'
  | 'users_at_rest'
  | 'users_unresolved'
  | 'stale'
  | 'adopted'
  | 'returned'
  | 'pulled'
  | 'settled'
  | 'pushed'
  | 'ineffective'
  | 'unknown'
  | 'held'
  | 'missing'
  | 'gone'
  | 'deferred'
  | 'postponed'
  | 'tags_read'
  | 'tags_at_rest'
  | 'tags_added'
  | 'tags_changed'
  | 'tags_gone'
  | 'contact_fields_read'
  | 'contact_fields_at_rest'
  | 'contact_fields_added'
  | 'contact_fields_changed'
  | 'contact_fields_gone'
  | 'contact_counts';

/** How much of an answer was read: nothing of one that is as before, no more than the users who are not at rest, or all. */
export type HowRead = 'nothing' | 'some' | 'all';

/** What happens while a run goes, for progress on a terminal and for the log. */
export type RunEvent =
  | { readonly kind: 'step'; readonly step: string }
  | { readonly kind: 'progress'; readonly step: string; readonly done: number; readonly total: number | null }
  | { readonly kind: 'refused'; readonly refusal: GuardRefusal }
  | { readonly kind: 'partial'; readonly reason: string }
  | { readonly kind: 'warning'; readonly text: string }
  | { readonly kind: 'read'; readonly resource: MirroredResource; readonly how: HowRead }
  | {
      readonly kind: 'push';
      readonly users: readonly Id[];
      readonly requestId: string | null;
      readonly windowMs: number;
    };

/** What was refused in this run. */
export interface GuardRefusal {
  /** What "musterd approve" is given; `null`: nothing of it is to be approved. */
  readonly hash: string | null;
  /** All batches that wait, the newest last. */
  readonly batches: readonly string[];
  readonly reasons: readonly string[];
  /** Pushes that the guard stopped, or users who are to have left before anything else is done. */
  readonly what: 'pushes' | 'departures';
  /** Users who wait for an approval. */
  readonly users: number;
  /** The first run whose pushes are refused pulls and sends nothing; later ones go on without them. */
  readonly stopped: boolean;
  /** No guard refused it: a person wants to see it first. */
  readonly isReview?: boolean;
  /** Whether people are to be told: for the first time, of another mass change, or again after a while. */
  readonly isNews: boolean;
}

export interface RunNotes {
  refuse(refusal: GuardRefusal): void;
  readonly refusal: GuardRefusal | null;
  /** Something is missing or unknown: the run is not complete. */
  partial(reason: string): void;
  /** Something that a person may want to know and that costs nothing. */
  warn(text: string): void;
  count(kind: CountKind, by?: number): void;
  /** Takes note of one batch's window: from reading it again to its answer. */
  pushWindow(windowMs: number): void;
  /** The longest of them: for so long an edit elsewhere could be overwritten. `null`: nothing was pushed. */
  readonly longestPushMs: number | null;
  event(event: RunEvent): void;
  requestId(requestId: string | null): void;
  readonly reasons: readonly string[];
  readonly warnings: readonly string[];
  readonly counts: Readonly<Partial<Record<CountKind, number>>>;
  readonly requestIds: readonly string[];
}

export function createRunNotes(onEvent: (event: RunEvent) => void = () => {}): RunNotes {
  const reasons = new Set<string>();
  const warnings = new Set<string>();
  const requestIds: string[] = [];
  const counts: Partial<Record<CountKind, number>> = {};
  let refusal: GuardRefusal | null = null;
  let longestPushMs: number | null = null;
  return {
    refuse: (refused) => {
      refusal = refused;
      onEvent({ kind: 'refused', refusal: refused });
    },
    get refusal() {
      return refusal;
    },
    partial: (reason) => {
      if (reasons.has(reason)) return;
      reasons.add(reason);
      onEvent({ kind: 'partial', reason });
    },
    warn: (text) => {
      if (warnings.has(text)) return;
      warnings.add(text);
      onEvent({ kind: 'warning', text });
    },
    count: (kind, by = 1) => {
      if (by !== 0) counts[kind] = (counts[kind] ?? 0) + by;
    },
    pushWindow: (windowMs) => {
      longestPushMs = Math.max(longestPushMs ?? 0, windowMs);
    },
    get longestPushMs() {
      return longestPushMs;
    },
    event: onEvent,
    requestId: (requestId) => {
      if (requestId !== null) requestIds.push(requestId);
    },
    get reasons() {
      return [...reasons];
    },
    get warnings() {
      return [...warnings];
    },
    counts,
    requestIds,
  };
}

/** What a decision has to say about itself; whoever asked for it tells the run. */
export interface RunNote {
  readonly kind: 'partial' | 'warn';
  readonly text: string;
}

export function tell(notes: Pick<RunNotes, RunNote['kind']>, said: readonly RunNote[]): void {
  for (const { kind, text } of said) notes[kind](text);
}

/** Users whom the service shows older than before, in one read. */
export function warnOfStale(notes: RunNotes, users: number): void {
  if (users === 0) return;
  notes.count('stale', users);
  notes.warn(`${users} users are shown older than they were before, and are left as they are for now`);
}
