/**
 * Decides which notices people get, and when. Each event is reported once, not at each run. `eventsOf` finds the events of
 * a team, and `nextNotice` compares them with the earlier notices.
 */
import type { SendBlock } from './place.ts';
import type { RunGroup } from './run-group.ts';

/** The events: states of a team that last until a person, or a later run, ends them. */
export const teamEvents = [
  'failing',
  'stale',
  'credentials-refused',
  'batch-waits',
  'fields-held',
  'elsewhere',
] as const;
export type TeamEvent = (typeof teamEvents)[number];

/** A scheduled group with its freshness and the outcome of its last run. */
export interface GroupStanding {
  readonly group: RunGroup;
  readonly fresh: boolean;
  /** The end of the group's last complete run; if there was no complete run, the time when the group was first recorded. */
  readonly sinceMs: number;
  readonly outcome: string | null;
}

/** The state of one team. A property is `null` if nothing of the kind is the case. Times are by the database's clock. */
export interface TeamStanding {
  readonly groups: readonly GroupStanding[];
  /** The end of the first of the latest runs in a row whose credentials were refused. */
  readonly refusedSinceMs: number | null;
  /** The time since which users or missing rows wait for an approval. */
  readonly waitingSinceMs: number | null;
  /** The time since which single held fields wait for a person. */
  readonly heldSinceMs: number | null;
  /** The reason why nothing is sent, and the time since which nothing is sent. */
  readonly sendBlock: { readonly why: SendBlock; readonly sinceMs: number } | null;
}

/**
 * The state of an event: the time in ms since which it is active; `over`; or `covered`, if another event hides whether
 * this event is active or over. A covered event causes no notice.
 */
export type EventState = number | 'covered' | 'over';

const minute = 60_000;
const day = 24 * 60 * minute;

const hasFailed = ({ outcome }: GroupStanding) => outcome === 'failed' || outcome === 'partial';

/** The earliest time; `null` if the list is empty. */
export const earliestOf = (moments: readonly { readonly sinceMs: number }[]): number | null =>
  moments.length === 0 ? null : Math.min(...moments.map(({ sinceMs }) => sinceMs));

/**
 * The states of all events. A group is stale if it had no complete run for longer than its schedule tolerates
 * (`judgeFreshness`). At most one of the events of this table is active at a time (`·`: does not matter):
 *
 * | credentials | a stale group whose last run failed or was partial | another stale group | credentials-refused | failing | stale   |
 * |-------------|----------------------------------------------------|---------------------|---------------------|---------|---------|
 * | refused     | ·                                                  | ·                   | active              | covered | covered |
 * | accepted    | yes                                                | ·                   | over                | active  | covered |
 * | accepted    | no                                                 | yes                 | over                | covered | active  |
 * | accepted    | no                                                 | no                  | over                | over    | over    |
 *
 * The events `batch-waits` and `fields-held` are active while something waits for a person, but only in a mirror that
 * sends, because only there a person can decide:
 *
 * | the mirror is                                | elsewhere | batch-waits, fields-held            |
 * |----------------------------------------------|-----------|-------------------------------------|
 * | at its recorded home                         | over      | active if anything waits, else over |
 * | a copy, and a person recorded it as a copy   | over      | covered                             |
 * | at another place than the recorded one       | active    | covered                             |
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

/** The latest notice about one event of a team. It may be sent already, or still wait to be sent. */
export interface Notice {
  /** `false` if the event is over. */
  readonly stands: boolean;
  /** The id stays the same if the notice is sent again. */
  readonly id: string;
  readonly reminder: boolean;
  /** The time at which the event began. */
  readonly sinceMs: number;
  /** The time at which the notice was made. */
  readonly madeAtMs: number;
  /** The time at which the receiver accepted the notice, or it was given up; `null` while it must be sent. */
  readonly doneAtMs: number | null;
  /** The earliest time to send the notice, because the process that recorded it may still wait for an answer. */
  readonly nextTryMs: number;
}

export interface NoticeStep {
  /** The notice that replaces the recorded one. */
  readonly notice: Notice;
  /** True if the process that records the notice must send it. */
  readonly send: boolean;
}

const reminderMs = day;
/** Processes try to send the notice that an event is over for this many ms. */
const patienceMs = day;
/** Ms, longer than a call can take. If a notice is not accepted by then, its sending failed, and it is sent again. */
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

/** Decides about the next notice of one event; `null` if nothing must be recorded or sent. */
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
