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

/** A number of things, and since when there are any. */
export interface Backlog {
  readonly count: number;
  readonly sinceMs: number;
}

/** The state of one team, with `null` where there is nothing of that kind. Moments are by the database's clock. */
export interface TeamStanding {
  readonly groups: readonly GroupStanding[];
  /** The end of the first of the latest runs that all had their credentials refused. */
  readonly refusedSinceMs: number | null;
  /** Users and missing rows that wait for an approval. */
  readonly waiting: Backlog | null;
  /** Single held fields that wait for a person. */
  readonly held: Backlog | null;
  /** The reason why nothing is sent, and since when. */
  readonly sendBlock: { readonly why: SendBlock; readonly sinceMs: number } | null;
}

/** An event stands, is over, or is `covered`: another event explains it, and nobody can tell whether it is over. */
export type EventState = Backlog | 'covered' | 'over';

const second = 1_000;
const minute = 60 * second;
const day = 24 * 60 * minute;

const hasFailed = ({ outcome }: GroupStanding) => outcome === 'failed' || outcome === 'partial';

const groupState = (groups: readonly GroupStanding[]): EventState => ({
  count: groups.length,
  sinceMs: Math.min(...groups.map(({ sinceMs }) => sinceMs)),
});

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
  const { groups, refusedSinceMs, waiting, held, sendBlock } = standing;
  const stale = groups.filter(({ fresh }) => !fresh);
  const failing = stale.filter(hasFailed);
  const others = {
    'batch-waits': sendBlock === null ? (waiting ?? 'over') : 'covered',
    'fields-held': sendBlock === null ? (held ?? 'over') : 'covered',
    elsewhere: sendBlock?.why === 'elsewhere' ? { count: 1, sinceMs: sendBlock.sinceMs } : 'over',
  } as const;
  if (refusedSinceMs !== null) {
    const refused = { count: 1, sinceMs: refusedSinceMs };
    return { ...others, 'credentials-refused': refused, failing: 'covered', stale: 'covered' };
  }
  const taken = { ...others, 'credentials-refused': 'over' } as const;
  if (stale.length === 0) return { ...taken, failing: 'over', stale: 'over' };
  return failing.length > 0
    ? { ...taken, failing: groupState(failing), stale: 'covered' }
    : { ...taken, failing: 'covered', stale: groupState(stale) };
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
  /** The number in the last notice. */
  readonly count: number;
  /** The time at which there was a reason for it. */
  readonly madeAtMs: number;
  /** The time at which it was accepted or given up; `null` as long as it has to be sent. */
  readonly doneAtMs: number | null;
  /** It must not be sent earlier, because somebody is sending it, or it failed a while ago. */
  readonly nextTryMs: number;
  readonly tries: number;
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
/** Longer than a call may take. If there is no result by then, its sender has ended. */
const claimMs = 30 * second;
const firstBackOffMs = 5 * second;
const longestBackOffMs = 15 * minute;

interface NoticeMaker {
  readonly nowMs: number;
  readonly createId: () => string;
}

function makeNotice(
  { nowMs, createId }: NoticeMaker,
  given: Pick<Notice, 'stands' | 'sinceMs' | 'count'> & Partial<Notice>,
): Notice {
  return {
    id: createId(),
    reminder: false,
    madeAtMs: nowMs,
    doneAtMs: null,
    nextTryMs: nowMs,
    tries: 0,
    ...given,
  };
}

function goOn({ sinceMs, count }: Backlog, last: Notice, made: NoticeMaker): Notice {
  const isDue = last.doneAtMs !== null && made.nowMs - last.doneAtMs >= reminderMs;
  return isDue ? makeNotice(made, { stands: true, sinceMs, count, reminder: true }) : last;
}

function end(last: Notice, made: NoticeMaker): Notice {
  const { nowMs } = made;
  if (last.stands) {
    const { sinceMs, count } = last;
    if (last.tries === 0) return { ...last, stands: false, doneAtMs: nowMs };
    return makeNotice(made, { stands: false, sinceMs, count });
  }
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
      : makeNotice(made, { stands: true, ...state });
  if (wanted.doneAtMs === null && wanted.nextTryMs <= made.nowMs) {
    const claimed = { ...wanted, tries: wanted.tries + 1, nextTryMs: made.nowMs + claimMs };
    return { notice: isOver ? claimed : { ...claimed, count: state.count }, send: true };
  }
  return wanted === last ? null : { notice: wanted, send: false };
}

export const accepted = (notice: Notice, nowMs: number): Notice => ({ ...notice, doneAtMs: nowMs });

/** @param chance from 0 to 1, so that many that failed together do not try again together */
export function failed(notice: Notice, nowMs: number, chance: number): Notice {
  const backOffMs = Math.min(longestBackOffMs, firstBackOffMs * 2 ** (notice.tries - 1));
  return { ...notice, nextTryMs: nowMs + backOffMs * (0.5 + chance / 2) };
}
