/** Teams whose users were edited in the mirror, and when to offer each of them to the queue. */
import { editsEveryMs, editsWaitMs, type LoopStore } from './run-due.ts';

export interface EditedTeams {
  /** Notes that users of this team were edited. */
  note(team: string): void;
  /** Makes the next `look` check all teams for edits, because notifications may have been lost. */
  noteAny(): void;
  /** Notes that this process works on the team. Until `done` is called, it neither checks nor offers the team. */
  begun(team: string): void;
  /** Notes that a run of this team is over. @param isSeenTo true if the run handled all edits made before it began */
  done(team: string, isSeenTo: boolean): void;
  /** Queues the teams whose time has come. @returns ms until the next team's time; rejects if the store rejects */
  look(): Promise<number>;
}

export interface EditedTeamsOptions {
  readonly teams: () => ReadonlyMap<string, unknown>;
  readonly store: Pick<LoopStore, 'readFreshEdits'>;
  /** @returns false if the queue refuses the team, because a current run of it may have begun before the edit */
  readonly offer: (team: string) => Promise<boolean>;
  readonly monotonicMs: () => number;
}

/** How long to wait for more edits after the first one. */
const debounceMs = 50;

/** Delay until an offered team is checked again, because a run that began before the edits may still be under way. */
const againMs = 1_000;

/** A team that was not offered for this long is offered without a query, because its next push is certainly allowed. */
const quietMs = 2 * editsEveryMs;

/** How often to query for edits without a notification, and the largest share of the time that these queries can take. */
const pollMs = 30_000;
const pollShare = 1 / 60;

export function createEditedTeams({ teams, store, offer, monotonicMs }: EditedTeamsOptions): EditedTeams {
  const atMs = new Map<string, number>();
  /** Teams with a notified edit. No query is needed to find out whether they have edits. */
  const heard = new Set<string>();
  const offeredMs = new Map<string, number>();
  const underWay = new Set<string>();
  let nextPollMs = 0;
  let pollTookMs = 0;

  /** Removes and returns the teams whose time has come. A team that is edited during the query is added once more. */
  const takeReady = (now: number) => {
    const ready = [...atMs].flatMap(([name, at]) => (at <= now && !underWay.has(name) ? [name] : []));
    for (const name of ready) atMs.delete(name);
    const isQuiet = (name: string) =>
      heard.delete(name) && (offeredMs.get(name) ?? Number.NEGATIVE_INFINITY) + quietMs <= now;
    const { quiet = [], others = [] } = Object.groupBy(ready, (name) => (isQuiet(name) ? 'quiet' : 'others'));
    return { quiet, others };
  };
  const offerNow = async (name: string) => {
    const now = monotonicMs();
    offeredMs.set(name, now);
    // The team is checked again after this delay, or sooner if another edit is notified.
    atMs.set(name, now + againMs);
    if (await offer(name)) return;
    heard.add(name);
    // The queue refused the team because of a current run, which may have ended in the meantime.
    if (!atMs.has(name)) atMs.set(name, monotonicMs());
  };
  const readFresh = async (ready: readonly string[]) => {
    try {
      return ready.length === 0 ? [] : await store.readFreshEdits(ready);
    } catch (error) {
      for (const name of ready) atMs.set(name, monotonicMs() + againMs);
      throw error;
    }
  };
  return {
    note: (name) => {
      if (!teams().has(name)) return;
      heard.add(name);
      // The first edit sets the time, so that a stream of edits does not postpone it for ever.
      atMs.set(name, Math.min(atMs.get(name) ?? Number.POSITIVE_INFINITY, monotonicMs() + debounceMs));
    },
    begun: (name) => {
      underWay.add(name);
    },
    done: (name, isSeenTo) => {
      underWay.delete(name);
      if (heard.has(name)) atMs.set(name, monotonicMs());
      else if (isSeenTo) atMs.delete(name);
    },
    noteAny: () => {
      nextPollMs = 0;
    },
    look: async () => {
      const now = monotonicMs();
      const isPoll = nextPollMs <= now;
      if (isPoll) {
        for (const name of teams().keys()) if (!atMs.has(name)) atMs.set(name, now);
        nextPollMs = now + Math.max(pollMs, pollTookMs / pollShare);
      }
      const { quiet, others } = takeReady(now);
      for (const name of quiet) await offerNow(name);
      const queriedMs = monotonicMs();
      const fresh = await readFresh(others);
      if (isPoll) pollTookMs = monotonicMs() - queriedMs;
      for (const edits of fresh) {
        if (!teams().has(edits.team) || !edits.isFresh) continue;
        const waitMs = editsWaitMs(edits);
        if (waitMs === 0) await offerNow(edits.team);
        else {
          // A time that was set during the query is kept, because the query may not have seen the edit that set it.
          if (!atMs.has(edits.team)) atMs.set(edits.team, monotonicMs() + waitMs);
          // A run that ends before this notification has not handled its edits.
          heard.add(edits.team);
        }
      }
      const times = [...atMs].flatMap(([name, at]) => (underWay.has(name) ? [] : [at]));
      return Math.min(nextPollMs, ...times) - monotonicMs();
    },
  };
}
