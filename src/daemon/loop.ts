/**
 * The loop of `musterd daemon`. It reads from the database which teams are due, by the database's clock, and offers them
 * to the queue. Ticks of the schedule, edits of the mirror and ends of runs only wake the loop. If such an event is lost,
 * repeated or late, only the time of the next look changes.
 */
import { createBell } from './bell.ts';
import { createDueTeams, longestSleepMs } from './due-teams.ts';
import { createEditedTeams } from './edited-teams.ts';
import type { TeamQueue, TeamWork } from './queue.ts';
import { type LoopStore, plannedOf, type Run, type WorkEnd, workOn } from './run-due.ts';
import { createTimetable, type ScheduledTeam } from './timetable.ts';

export interface LoopOptions {
  readonly teams: readonly ScheduledTeam[];
  readonly store: LoopStore;
  readonly createQueue: (work: TeamWork) => Promise<TeamQueue>;
  readonly run: Run;
  /** True if every group is due at the start, no matter when it last ran. */
  readonly firstRunNow: boolean;
  readonly monotonicMs: () => number;
  /** Called when a step of the loop fails, for example because the store does not answer. The loop tries again. */
  readonly onTrouble: (error: unknown, step: string) => void;
}

export interface Loop {
  /** Notes that users of this team were edited in the mirror. Without a name, it can be any team. */
  edited(team?: string): void;
  /**
   * Prepares for other teams and schedules. @returns a function that switches to them; current work continues
   * @throws what the store throws, in which case nothing has changed
   */
  prepare(teams: readonly ScheduledTeam[]): Promise<() => void>;
  /** Accepts no more work, and resolves when the current work is done. */
  close(): Promise<void>;
}

/** Delay after an error, in ms. */
const soonMs = 1_000;

async function createTimetableKnown(
  teams: readonly ScheduledTeam[],
  store: LoopStore,
  { now, onTick }: { readonly now: boolean; readonly onTick: () => void },
) {
  const timetable = await createTimetable(teams, onTick);
  try {
    await store.registerGroups(plannedOf(teams, timetable), now);
  } catch (error) {
    await timetable.close();
    throw error;
  }
  return timetable;
}

const byName = (teams: readonly ScheduledTeam[]) => new Map(teams.map((team) => [team.name, team]));

/** @throws what the store or the queue throws at the start */
export async function createLoop(options: LoopOptions): Promise<Loop> {
  const { store, run, monotonicMs, onTrouble } = options;
  const bell = createBell();
  let teams = byName(options.teams);
  const offer = (team: string) => queue.offer(team);
  const due = createDueTeams({ names: () => [...teams.keys()], store, offer, monotonicMs });
  const edited = createEditedTeams({ teams: () => teams, store, offer, monotonicMs });
  const wake = () => {
    due.wake();
    bell.ring();
  };
  const timetableOptions = { now: options.firstRunNow, onTick: wake };
  let timetable = await createTimetableKnown(options.teams, store, timetableOptions);
  let closing = false;

  const work: TeamWork = async (name) => {
    if (!teams.has(name) || closing) return;
    let end: WorkEnd = 'busy';
    edited.begun(name);
    try {
      end = await workOn({ store, timetable, run, monotonicMs }, name);
    } catch (error) {
      onTrouble(error, `work for team "${name}"`);
    }
    due.done(name, end);
    edited.done(name, end === 'complete' || end === 'edits');
    bell.ring();
  };
  const queue = await options.createQueue(work).catch(async (error: unknown) => {
    await timetable.close();
    throw error;
  });

  const look = async (): Promise<number> => {
    try {
      const dueMs = await due.look();
      return Math.min(dueMs, await edited.look());
    } catch (error) {
      onTrouble(error, 'what is due');
      return soonMs;
    }
  };
  const goRound = async () => {
    while (!closing) await bell.sleep(Math.min(Math.max(await look(), 20), longestSleepMs));
  };
  const round = goRound();

  return {
    edited: (name) => {
      if (name === undefined) edited.noteAny();
      else edited.note(name);
      bell.ring();
    },
    prepare: async (next) => {
      const prepared = await createTimetableKnown(next, store, { now: false, onTick: wake });
      return () => {
        void timetable.close();
        timetable = prepared;
        teams = byName(next);
        edited.noteAny();
        wake();
      };
    },
    close: async () => {
      closing = true;
      bell.ring();
      await round;
      await queue.close();
      await timetable.close();
    },
  };
}
