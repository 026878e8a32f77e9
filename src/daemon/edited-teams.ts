/** Teams whose users were edited in the mirror, and when each of them is to be offered to the queue. */
import { editsWaitMs, type LoopStore, type LoopTeam } from './run-due.ts';

export interface EditedTeams {
  /** Users of this team were edited. */
  note(team: string): void;
  /** Users of any team may have been edited unheard: the next look asks for all of them. */
  noteAny(): void;
  /** This process works on the team: it is not asked about, nor offered, until that is done. */
  begun(team: string): void;
  /** A run of this team is over. @param isSeenTo whether it has seen to all edits of before */
  done(team: string, isSeenTo: boolean): void;
  /** Offers the teams whose time has come. @returns ms until the next one's; rejects as the store does */
  look(): Promise<number>;
}

export interface EditedTeamsOptions {
  readonly teams: () => ReadonlyMap<string, LoopTeam>;
  readonly store: Pick<LoopStore, 'readFreshEdits'>;
  /** @returns whether it was taken: not where a run is under way, which may have begun before an edit */
  readonly offer: (team: string) => Promise<boolean>;
  readonly monotonicMs: () => number;
}

/** How soon a team is looked at again that was offered: a run may be under way that began before its edits. */
const againMs = 1_000;

/** Nobody has pushed for so many times the least time between two pushes: there is no need to ask whether one may. */
const quietTimes = 2;

export function createEditedTeams({ teams, store, offer, monotonicMs }: EditedTeamsOptions): EditedTeams {
  const atMs = new Map<string, number>();
  /** Those of them of whom an edit was heard: there is no need to ask whether there are any. */
  const heard = new Set<string>();
  const offeredMs = new Map<string, number>();
  const underWay = new Set<string>();
  let nextPollMs = 0;
  const pollMs = () =>
    Math.min(
      ...teams()
        .values()
        .map(({ edits }) => edits.pollMs),
    );

  /** Those whose time has come, taken out: whoever is edited while the question is answered counts again. */
  const takeReady = (now: number) => {
    const ready = [...atMs].flatMap(([name, at]) => (at <= now && !underWay.has(name) ? [name] : []));
    for (const name of ready) atMs.delete(name);
    const isQuiet = (name: string) => {
      const everyMs = teams().get(name)?.edits.everyMs ?? 0;
      return (
        heard.delete(name) && (offeredMs.get(name) ?? Number.NEGATIVE_INFINITY) + quietTimes * everyMs <= now
      );
    };
    const { quiet = [], others = [] } = Object.groupBy(ready, (name) => (isQuiet(name) ? 'quiet' : 'others'));
    return { quiet, others };
  };
  const offerNow = async (name: string) => {
    const now = monotonicMs();
    offeredMs.set(name, now);
    // An edit that is heard of from now on counts again.
    atMs.set(name, now + againMs);
    if (await offer(name)) return;
    heard.add(name);
    // The run that it was not taken for can be over by now.
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
      const team = teams().get(name);
      if (team === undefined) return;
      heard.add(name);
      // The first edit sets the time: a stream of edits does not put it off for ever.
      atMs.set(
        name,
        Math.min(atMs.get(name) ?? Number.POSITIVE_INFINITY, monotonicMs() + team.edits.debounceMs),
      );
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
      if (nextPollMs <= now) {
        for (const name of teams().keys()) if (!atMs.has(name)) atMs.set(name, now);
        nextPollMs = now + pollMs();
      }
      const { quiet, others } = takeReady(now);
      for (const name of quiet) await offerNow(name);
      for (const edits of await readFresh(others)) {
        const team = teams().get(edits.team);
        if (team === undefined || !edits.isFresh) continue;
        const waitMs = editsWaitMs(edits, team.edits.everyMs);
        if (waitMs === 0) await offerNow(edits.team);
        else {
          atMs.set(edits.team, monotonicMs() + waitMs);
          // A run that ends until then has not seen to them.
          heard.add(edits.team);
        }
      }
      const times = [...atMs].flatMap(([name, at]) => (underWay.has(name) ? [] : [at]));
      return Math.min(nextPollMs, ...times) - monotonicMs();
    },
  };
}
