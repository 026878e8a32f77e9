/**
 * Decides which team is worked on next. A single process keeps the queue in memory; several processes share the queue in
 * the database (`shared-queue.ts`). Either way, a team is in the queue only once, waiting or being worked on. Teams are
 * served first come, first served, so a busy team cannot block the other teams.
 */

/** Does all current work of a team. Must not reject. */
export type TeamWork = (team: string) => Promise<void>;

export interface TeamQueue {
  /** Queues the team. @returns `false` if the team already waits or is worked on */
  offer(team: string): Promise<boolean>;
  /** Takes no more work; resolves when the current work of this process is done. */
  close(): Promise<void>;
}

/** @param concurrency how many teams are worked on in parallel */
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
