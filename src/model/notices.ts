/**
 * Decides which notices people get, and when: once, and not at each run. `eventsOf` finds the events of a team, and
 * `nextNotice` compares them with the earlier notices.
 */
import type { SendBlock } from './place.ts';
import type { RunGroup } from './run-group.ts';

/** States of a team that last until somebody or something ends them. */
export const teamEvents = [
  'failing',
  'stale',
  'credentials-refused',
  'batch-waits',
  'fields-held',
  'elsewhere',
] as const;
export type TeamEvent = (typeof teamEvents)[number];

/** A scheduled group with its freshness, and the result of its last run. */
export interface GroupStanding {
  readonly group: RunGroup;
  readonly fresh: boolean;
  /** The end of its last complete run, or, if there was none, the time since which it is known. */
  readonly sinceMs: number;
  readonly outcome: string | null;
}

/** The state of one team, with `null` where there is nothing of that kind. Moments are by the database's clock. */
export interface TeamStanding {
  readonly groups: readonly GroupStanding[];
  /** The end of the first of the latest runs that all had their credentials refused. */
  readonly refusedSinceMs: number | null;
  /** Since when users or missing rows wait for an approval. */
  readonly waitingSinceMs: number | null;
  /** Since when single held fields wait for a person. */
  readonly heldSinceMs: number | null;
  /** The reason why nothing is sent, and since when. */
  readonly sendBlock: { readonly why: SendBlock; readonly sinceMs: number } | null;
}

/**
 * An event stands since a moment (ms), is over, or is `covered`: another event explains it, and nobody can tell whether it
 * is over.
 */
export type EventState = number | 'covered' | 'over';

const minute = 60_000;
const day = 24 * 60 * minute;

const hasFailed = ({ outcome }: GroupStanding) => outcome === 'failed' || outcome === 'partial';

/** The first moment, or `null` if there is none. */
export const earliestOf = (moments: readonly { readonly sinceMs: number }[]): number | null =>
  moments.length === 0 ? null : Math.min(...moments.map(({ sinceMs }) => sinceMs));

/**
 * Each group is fresh, or has had no complete run for longer than its schedule tolerates (`judgeFreshness`). At most
 * one of the first three events is reported at a time:
 *
 * | credentials | a stale group whose last run failed or was partial | another stale group | credentials-refused | failing | stale   |
 * |-------------|----------------------------------------------------|---------------------|---------------------|---------|---------|
 * | refused     | ·                                                  | ·                   | stands              | covered | covered |
 * | taken       | yes                                                | ·                   | over                | stands  | covered |
 * | taken       | no                                                 | yes                 | over                | covered | stands  |
 * | taken       | no                                                 | no                  | over                | over    | over    |
 *
 * A waiting batch and held fields stand as long as there are any, and if somebody can decide
 * about them:
 *
 * | the mirror is    | elsewhere | batch-waits, fields-held |
 * |------------------|-----------|--------------------------|
 * | at home          | over      | as there are any         |
 * | a copy, as meant | over      | covered                  |
 * | somewhere else   | stands    | covered                  |
 */
export function eventsOf(standing: TeamStanding): Readonly<Record<TeamEvent, EventState>> {
  const { groups, refusedSinceMs, waitingSinceMs, heldSinceMs, sendBlock } = standing;
  const stale = groups.filter(({ fresh }) => !fresh);
  const [staleSinceMs, failingSinceMs] = [earliestOf(stale), earliestOf(stale.filter(hasFailed))];
  const others = {
    'batch-waits': sendBlock === null ? (waitingSinceMs ?? 'over') : 'covered',
    'fields-held': sendBlock === null ? (heldSinceMs ?? 'over') : 'covered',
    elsewhere: sendBlock?.why === 'elsewhere' ? sendBlock.sinceMs : 'over',
  } as const;
  if (refusedSinceMs !== null)
    return { ...others, 'credentials-refused': refusedSinceMs, failing: 'covered', stale: 'covered' };
  const taken = { ...others, 'credentials-refused': 'over' } as const;
  if (staleSinceMs === null) return { ...taken, failing: 'over', stale: 'over' };
  return failingSinceMs === null
    ? { ...taken, failing: 'covered', stale: staleSinceMs }
    : { ...taken, failing: failingSinceMs, stale: 'covered' };
}

/** The last notice of one event of a team, sent or to be sent. */
export interface Notice {
  /** `false` if the event is over. */
  readonly stands: boolean;
  /** It stays the same however often the notice is sent. */
  readonly id: string;
  readonly reminder: boolean;
  /** The time since which the event stands, or stood. */
  readonly sinceMs: number;
  /** The time at which there was a reason for it. */
  readonly madeAtMs: number;
  /** The time at which it was accepted or given up; `null` as long as it has to be sent. */
  readonly doneAtMs: number | null;
  /** It must not be sent earlier: whoever recorded it has sent it, and waits for the answer. */
  readonly nextTryMs: number;
}

export interface NoticeStep {
  /** The notice that replaces the recorded one. */
  readonly notice: Notice;
  /** Whether the process that has recorded it sends it. */
  readonly send: boolean;
}

const reminderMs = day;
/** For how long to try to report the end of something. */
const patienceMs = day;
/** Longer than a call may take. If it is not accepted by then, it failed or its sender has ended, and it is sent again. */
const claimMs = minute;

interface NoticeMaker {
  readonly nowMs: number;
  readonly createId: () => string;
}

function makeNotice(
  { nowMs, createId }: NoticeMaker,
  given: Pick<Notice, 'stands' | 'reminder' | 'sinceMs'>,
): Notice {
  return { id: createId(), madeAtMs: nowMs, doneAtMs: null, nextTryMs: nowMs, ...given };
}

function goOn(sinceMs: number, last: Notice, made: NoticeMaker): Notice {
  const isDue = last.doneAtMs !== null && made.nowMs - last.doneAtMs >= reminderMs;
  return isDue ? makeNotice(made, { stands: true, reminder: true, sinceMs }) : last;
}

function end(last: Notice, made: NoticeMaker): Notice {
  const { nowMs } = made;
  if (last.stands) return makeNotice(made, { stands: false, reminder: false, sinceMs: last.sinceMs });
  const isVain = last.doneAtMs === null && nowMs - last.madeAtMs >= patienceMs;
  return isVain ? { ...last, doneAtMs: nowMs } : last;
}

/** Decides what to do about one event. */
export function nextNotice(
  state: EventState,
  last: Notice | undefined,
  made: NoticeMaker,
): NoticeStep | null {
  if (state === 'covered') return null;
  const isOver = state === 'over';
  if (last === undefined && isOver) return null;
  const wanted = isOver
    ? end(last as Notice, made)
    : last?.stands === true
      ? goOn(state, last, made)
      : makeNotice(made, { stands: true, reminder: false, sinceMs: state });
  if (wanted.doneAtMs === null && wanted.nextTryMs <= made.nowMs)
    return { notice: { ...wanted, nextTryMs: made.nowMs + claimMs }, send: true };
  return wanted === last ? null : { notice: wanted, send: false };
}
