/** Records in the mirror, for the page, every minute that this daemon runs, and at its end that it has stopped. */
import type { Log } from '../log.ts';
import type { Database } from '../mirror/db/database.ts';
import { noteDaemon } from '../mirror/team/known-daemons.ts';
import { type DaemonEnd, sayEveryMs } from '../model/daemons.ts';
import { createBell } from './bell.ts';
import { withTimeout } from './with-timeout.ts';

export interface PresenceOptions {
  readonly db: Database;
  /** Called each time, because settings can change. */
  readonly teams: () => readonly string[];
  /** True if a service manager started the daemon. */
  readonly bySystemd: boolean;
  readonly log: Pick<Log, 'warn'>;
  readonly everyMs?: number;
}

export interface Presence {
  close(how: DaemonEnd): Promise<void>;
}

/** How long the daemon waits for the database when it ends, in ms. */
const partingMs = 3_000;

export async function createPresence(options: PresenceOptions): Promise<Presence> {
  const { db, teams, bySystemd, log, everyMs = sayEveryMs } = options;
  const bell = createBell();
  let reportedTeams: readonly string[] = [];
  let isOver = false;
  const say = async (end: DaemonEnd | null) => {
    const now = teams();
    const left = reportedTeams.filter((team) => !now.includes(team));
    try {
      if (left.length > 0) await noteDaemon(db, { teams: left, bySystemd, end: 'asked' });
      await noteDaemon(db, { teams: now, bySystemd, end });
      reportedTeams = now;
    } catch (error) {
      log.warn({ err: error }, 'heartbeat of this daemon not recorded in the mirror: trying again');
    }
  };
  const goRound = async () => {
    for (;;) {
      await bell.sleep(everyMs);
      if (isOver) return;
      await say(null);
    }
  };
  await say(null);
  const round = goRound();
  return {
    close: async (how) => {
      isOver = true;
      bell.ring();
      await withTimeout(
        partingMs,
        round.then(() => say(how)),
      ).catch((error: unknown) => log.warn({ err: error }, 'end of this daemon not recorded in the mirror'));
    },
  };
}
