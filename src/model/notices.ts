/**
 * What people are told of, and when: once, and not at each run. `eventsOf` says what there is to tell of a team,
 * `nextNotice` compares that with what was told before.
 */
import type { Still } from './place.ts';
import type { RunGroup } from './run-group.ts';

/** What can stand with a team until somebody or something ends it. */
export const teamEvents = [
  'failing',
  'stale',
  'credentials-refused',
  'batch-waits',
  'fields-held',
  'elsewhere',
] as const;
export type TeamEvent = (typeof teamEvents)[number];

/** A scheduled group, judged, with what its last run came to. */
export interface GroupStanding {
  readonly group: RunGroup;
  readonly fresh: boolean;
  /** The end of its last complete run; where there was none, since when it is known. */
  readonly sinceMs: number;
  readonly outcome: string | null;
}

/** How many of something there are, and since when. */
export interface Backlog {
  readonly count: number;
  readonly sinceMs: number;
}

/** How one team stands; `null`: there is nothing of that. Moments are of the database's clock. */
export interface TeamStanding {
  readonly groups: readonly GroupStanding[];
  /** When the first of the runs ended that the service refused the credentials of, one after another. */
  readonly refusedSinceMs: number | null;
  /** Users and missing rows that wait for an approval. */
  readonly waiting: Backlog | null;
  /** Held fields that wait for a person, each by itself. */
  readonly held: Backlog | null;
  /** Why nothing is sent, and since when. */
  readonly still: { readonly why: Still; readonly sinceMs: number } | null;
}

/** It stands, it is over, or (`covered`) something else says why, and nobody can tell whether this is over. */
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
 * Each group is fresh, or has had no complete run for longer than its schedule tolerates (`judgeFreshness`). Of the
 * first three events one at most is told at a time:
 *
 * | credentials | a stale group whose last run failed or was partial | another stale group | credentials-refused | failing | stale   |
 * |-------------|----------------------------------------------------|---------------------|---------------------|---------|---------|
 * | refused     | ·                                                  | ·                   | stands              | covered | covered |
 * | taken       | yes                                                | ·                   | over                | stands  | covered |
 * | taken       | no                                                 | yes                 | over                | covered | stands  |
 * | taken       | no                                                 | no                  | over                | over    | over    |
 *
 * A batch that waits and fields that are held stand for as long as there are any, where somebody can decide about them:
 *
 * | the mirror is    | elsewhere | batch-waits, fields-held |
 * |------------------|-----------|--------------------------|
 * | at home          | over      | as there are any         |
 * | a copy, as meant | over      | covered                  |
 * | somewhere else   | stands    | covered                  |
 */
export function eventsOf(standing: TeamStanding): Readonly<Record<TeamEvent, EventState>> {
  const { groups, refusedSinceMs, waiting, held, still } = standing;
  const stale = groups.filter(({ fresh }) => !fresh);
  const failing = stale.filter(hasFailed);
  const others = {
    'batch-waits': still === null ? (waiting ?? 'over') : 'covered',
    'fields-held': still === null ? (held ?? 'over') : 'covered',
    elsewhere: still?.why === 'elsewhere' ? { count: 1, sinceMs: still.sinceMs } : 'over',
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

/** What a team's people were told of one event last, or are to be told. */
export interface Notice {
  /** `false`: it is over. */
  readonly stands: boolean;
  /** Stays the same however often it is sent. */
  readonly id: string;
  readonly reminder: boolean;
  /** Since when the event stands, or stood. */
  readonly sinceMs: number;
  /** How many, as last told. */
  readonly count: number;
  /** When there was reason for it. */
  readonly madeAtMs: number;
  /** When it was accepted, or given up; `null`: it has to be sent still. */
  readonly doneAtMs: number | null;
  /** Not to be sent before: somebody is sending it, or it failed a while ago. */
  readonly nextTryMs: number;
  readonly tries: number;
}

export interface NoticeStep {
  /** What is to be written down in place of what was. */
  readonly notice: Notice;
  /** Whether whoever has written it down sends it. */
  readonly send: boolean;
}

const reminderMs = day;
/** The end of something is told for so long. */
const patienceMs = day;
/** Longer than a call may take: whoever sends it has ended, if nothing is known of it by then. */
const claimMs = 30 * second;
const firstBackOffMs = 5 * second;
const longestBackOffMs = 15 * minute;

interface Made {
  readonly nowMs: number;
  readonly createId: () => string;
}

function makeNotice(
  { nowMs, createId }: Made,
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

function goOn({ sinceMs, count }: Backlog, last: Notice, made: Made): Notice {
  const isDue = last.doneAtMs !== null && made.nowMs - last.doneAtMs >= reminderMs;
  return isDue ? makeNotice(made, { stands: true, sinceMs, count, reminder: true }) : last;
}

function end(last: Notice, made: Made): Notice {
  const { nowMs } = made;
  if (last.stands) {
    const { sinceMs, count } = last;
    if (last.doneAtMs === null && last.tries === 0) return { ...last, stands: false, doneAtMs: nowMs };
    return makeNotice(made, { stands: false, sinceMs, count });
  }
  const isVain = last.doneAtMs === null && nowMs - last.madeAtMs >= patienceMs;
  return isVain ? { ...last, doneAtMs: nowMs } : last;
}

/**
 * What is to be done about one event.
 *
 * | it      | last notice                          | what happens                                                |
 * |---------|--------------------------------------|-------------------------------------------------------------|
 * | covered | ·                                    | nothing                                                     |
 * | stands  | none, or that it is over             | a notice is made and sent                                   |
 * | stands  | that it stands, not accepted yet     | it is sent when its time has come                           |
 * | stands  | that it stands, a day ago            | a reminder is made and sent                                 |
 * | over    | none, or that it is over             | nothing                                                     |
 * | over    | that it stands, never tried          | it is dropped: nobody knows of it                           |
 * | over    | that it stands                       | a notice is made and sent: it has recovered                 |
 * | over    | that it is over, not accepted yet    | it is sent when its time has come; given up after a day     |
 */
export function nextNotice(state: EventState, last: Notice | undefined, made: Made): NoticeStep | null {
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

/** @param chance from 0 to 1: many that failed together do not come back together */
export function failed(notice: Notice, nowMs: number, chance: number): Notice {
  const backOffMs = Math.min(longestBackOffMs, firstBackOffMs * 2 ** (notice.tries - 1));
  return { ...notice, nextTryMs: nowMs + backOffMs * (0.5 + chance / 2) };
}
