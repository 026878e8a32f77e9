/** Teams whose users were edited in the mirror, and when each of them is to be offered to the queue. */
import { editsWaitMs, type LoopStore, type LoopTeam } from './run-due.ts';

export interface EditedTeams {
  /** Users of this team were edited. */
  note(team: string): void;
  /** Users of any team may have been edited unheard: the next look asks for all of them. */
  noteAny(): void;
  /** Offers the teams whose time has come. @returns ms until the next one's; rejects as the store does */
  look(): Promise<number>;
}

export interface EditedTeamsOptions {
  readonly teams: () => ReadonlyMap<string, LoopTeam>;
  readonly store: Pick<LoopStore, 'readFreshEdits'>;
  readonly offer: (team: string) => Promise<unknown>;
  readonly monotonicMs: () => number;
}

/** How soon a team is looked at again that was offered: a run may be under way that began before its edits. */
const againMs = 1_000;

export function createEditedTeams({ teams, store, offer, monotonicMs }: EditedTeamsOptions): EditedTeams {
  const atMs = new Map<string, number>();
  let nextPollMs = 0;
  const pollMs = () =>
    Math.min(
      ...teams()
        .values()
        .map(({ edits }) => edits.pollMs),
    );

  /** Those whose time has come, taken out: whoever is edited while the question is answered counts again. */
  const takeReady = (now: number) => {
    const ready = [...atMs].flatMap(([name, at]) => (at <= now ? [name] : []));
    for (const name of ready) atMs.delete(name);
    return ready;
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
      // The first edit sets the time: a stream of edits does not put it off for ever.
      if (team !== undefined && !atMs.has(name)) atMs.set(name, monotonicMs() + team.edits.debounceMs);
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
      for (const edits of await readFresh(takeReady(now))) {
        const team = teams().get(edits.team);
        if (team === undefined || !edits.isFresh) continue;
        const waitMs = editsWaitMs(edits, team.edits.everyMs);
        if (waitMs === 0) await offer(edits.team);
        atMs.set(edits.team, monotonicMs() + (waitMs === 0 ? againMs : waitMs));
      }
      return Math.min(nextPollMs, ...atMs.values()) - monotonicMs();
    },
  };
}
