/** Collects warnings and counts during a run. */
import { LockedError, ServiceError } from '../errors.ts';
import type { MirroredResource } from '../model/absence.ts';
import type { Id } from '../model/id.ts';
import { firstOf } from '../model/in-words.ts';
import type { RejectedRow } from '../model/rejected-row.ts';

type CountKind =
  | 'users_read'
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
  | 'contact_counts'
  /** A count of a listed resource. It begins with the resource's name. */
  | `${string}_${'read' | 'added' | 'changed' | 'gone'}`;

/** Events during a run, for progress on a terminal and for the log. */
export type RunEvent =
  | { readonly kind: 'step'; readonly step: string }
  | { readonly kind: 'progress'; readonly step: string; readonly done: number; readonly total: number | null }
  | { readonly kind: 'refused'; readonly refusal: GuardRefusal }
  | { readonly kind: 'partial'; readonly reason: string }
  | { readonly kind: 'warning'; readonly text: string }
  | {
      readonly kind: 'push';
      readonly users: readonly Id[];
      readonly requestId: string | null;
      readonly windowMs: number;
    };

/** The pushes that the guard refused in this run. */
interface GuardRefusal {
  readonly reasons: readonly string[];
  /** Number of users that wait for an approval. */
  readonly users: number;
  /** True if the guard ended the run. Only the first run with refused pushes ends; later runs leave these pushes out. */
  readonly stopped: boolean;
  /** True if the guard refused no push, and the pushes only wait for a review. */
  readonly isReview: boolean;
  /** True if people are notified: at the first refusal, at another mass change, or again after a day. */
  readonly isNews: boolean;
}

export interface RunNotes {
  refuse(refusal: GuardRefusal): void;
  readonly refusal: GuardRefusal | null;
  /** Makes the run partial, because something is missing or unknown. */
  partial(reason: string): void;
  /** A warning that leaves the run complete. */
  warn(text: string): void;
  count(kind: CountKind, by?: number): void;
  /** Records the window of one batch: the ms from the last read of its users to the answer. */
  pushWindow(windowMs: number): void;
  /** The longest window in ms in which a push could overwrite an edit on the service; `null` without a push. */
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

/**
 * Runs an optional part of the run. If the service fails, or another session locks its rows, the run is partial and
 * continues. Refused credentials end the run.
 * @returns the result of the work; `undefined` if it failed
 */
export async function attempt<R>(
  notes: RunNotes,
  part: string,
  work: () => Promise<R>,
): Promise<R | undefined> {
  try {
    return await work();
  } catch (error) {
    const isPassing =
      error instanceof LockedError || (error instanceof ServiceError && error.code !== 'credentials');
    if (!isPassing) throw error;
    notes.partial(`${part}: ${error.message}`);
    return undefined;
  }
}

/** Warns of users whom the service shows with an older version than before. */
export function warnOfStale(notes: RunNotes, users: number): void {
  if (users === 0) return;
  notes.count('stale', users);
  notes.warn(
    `the service shows ${users} users with older versions than before: they are left as they are for now`,
  );
}

/** Warns of ids that came twice with different values. */
export function warnOfTwice(notes: RunNotes, resource: MirroredResource, ids: readonly Id[]): void {
  if (ids.length === 0) return;
  notes.warn(
    `${resource}: ${ids.length} ids came twice with different values, and the last row of each counts: ${firstOf(ids, 5)}`,
  );
}

/** The record of an id that came twice. It is stored among the records of rows that could not be used. */
export const givenTwice = (resource: MirroredResource, id: Id): RejectedRow => ({
  resource,
  id,
  reason: 'its id came twice: the last row counts',
  excerpt: '',
});

/** Notes users who wait for the next run, because an open transaction of another session is changing them. */
export function noteDeferred(notes: RunNotes, users: number): void {
  notes.count('deferred', users);
  if (users > 0) notes.partial(`${users} users were being edited and wait for the next run`);
}
