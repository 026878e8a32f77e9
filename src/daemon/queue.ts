/**
 * Which team is worked on next. One process alone keeps the order in its memory; several processes share
 * theirs through the database (`shared-queue.ts`). Either way a team stands in it once, waiting or being
 * worked on, and whoever asked first is served first: a busy team cannot keep the others waiting.
 */

/** Does whatever is to be done for a team now. Must not reject. */
export type TeamWork = (team: string) => Promise<void>;

export interface TeamQueue {
  /** Asks for the team to be worked on. `false`: it waits or is worked on already. */
  offer(team: string): Promise<boolean>;
  /** Takes no more work; resolves when what is under way here is over. */
  close(): Promise<void>;
}

/** @param concurrency how many teams are worked on at once */
export function createProcessQueue(concurrency: number, work: TeamWork): TeamQueue {
  const waiting: string[] = [];
  const active = new Map<string, Promise<void>>();
  let closing = false;

  const begin = () => {
    while (!closing && active.size < concurrency) {
      const team = waiting.shift();
      if (team === undefined) return;
      const done = work(team).finally(() => {
        active.delete(team);
        begin();
      });
      active.set(team, done);
    }
  };
  return {
    offer: (team) => {
      if (closing || waiting.includes(team) || active.has(team)) return Promise.resolve(false);
      waiting.push(team);
      begin();
      return Promise.resolve(true);
    },
    close: async () => {
      closing = true;
      await Promise.all(active.values());
    },
  };
}
