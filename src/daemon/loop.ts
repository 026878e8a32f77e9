/**
 * The loop of `musterd daemon`: looks what is due, in the database and by its clock, and offers those teams
 * to the queue. Ticks of the schedule, edits of the mirror, hints from outside and runs that end only wake
 * it: one that is missed, doubled or late changes nothing but the moment.
 */
import { clearTimeout, setTimeout } from 'node:timers';
import type { TeamQueue, Work } from './queue.ts';
import { createTimetable, type ScheduledTeam, type Timetable } from './timetable.ts';
import { editsWaitMs, type LoopStore, plannedOf, type Run, workOn } from './work.ts';

export interface LoopTeam extends ScheduledTeam {
  readonly edits: { readonly debounceMs: number; readonly everyMs: number };
}

export interface LoopOptions {
  readonly teams: readonly LoopTeam[];
  readonly store: LoopStore;
  readonly createQueue: (work: Work) => Promise<TeamQueue>;
  readonly run: Run;
  /** Whether everything is due at the start, whatever was done before. */
  readonly firstRunNow: boolean;
  /** How often the mirror is looked at for edits that nobody told of. */
  readonly pollMs: number;
  readonly monotonicMs: () => number;
  /** Something that the loop depends on does not answer; it tries again. */
  readonly onTrouble: (error: unknown, what: string) => void;
}

export interface Loop {
  /** Users of this team were edited in the mirror; of any team when left out. */
  edited(team?: string): void;
  /** Somebody says that the service may have changed: the team's users are due soon. */
  hint(team: string): Promise<void>;
  /** Takes other teams and schedules; what is under way goes on. */
  reload(teams: readonly LoopTeam[]): Promise<void>;
  /** Takes no more work and resolves when what is under way is over. */
  close(): Promise<void>;
}

/** The loop looks at least this often, whatever the timers say. */
const longestSleepMs = 15_000;
/** How soon it looks again after trouble, for edits of a team that is being worked on, and at a busy team. */
const soonMs = 1_000;
const busyMs = 2_000;
/** When a team was offered that is in the queue already, it is in good hands for this long. */
const offeredMs = 5_000;

/** @throws what the store or the queue throws while it begins */
export async function createLoop(options: LoopOptions): Promise<Loop> {
  const { store, run, pollMs, monotonicMs, onTrouble } = options;
  let wake: () => void = () => {};
  const state = {
    teams: new Map(options.teams.map((team) => [team.name, team])),
    timetable: await createTimetable(options.teams, () => wake()),
    /** When to look at a team's edits, and before when not to offer a team. */
    editsAtMs: new Map<string, number>(),
    notBeforeMs: new Map<string, number>(),
    nextPollMs: 0,
    closing: false,
  };
  const work: Work = async (name) => {
    const team = state.teams.get(name);
    if (team === undefined || state.closing) return;
    const { everyMs } = team.edits;
    try {
      const end = await workOn({ store, timetable: state.timetable, run, monotonicMs }, { name, everyMs });
      state.notBeforeMs.set(name, end === 'busy' ? monotonicMs() + busyMs : 0);
    } catch (error) {
      state.notBeforeMs.set(name, monotonicMs() + busyMs);
      onTrouble(error, `work for team "${name}"`);
    }
    wake();
  };
  const begin = async () => {
    await store.makeKnown(plannedOf([...state.teams.keys()], state.timetable), options.firstRunNow);
    return await options.createQueue(work);
  };
  const queue = await begin().catch(async (error: unknown) => {
    await state.timetable.close();
    throw error;
  });

  /** Offers what is due. @returns ms until something else may be */
  const offerDue = async (): Promise<number> => {
    const now = monotonicMs();
    const names = [...state.teams.keys()];
    let waitMs = (await store.readNextDueMs(names)) ?? longestSleepMs;
    for (const team of (await store.readDue(names)).keys()) {
      const notBefore = state.notBeforeMs.get(team) ?? 0;
      if (notBefore <= now) {
        await queue.offer(team);
        state.notBeforeMs.set(team, now + offeredMs);
        waitMs = Math.min(waitMs, offeredMs);
      } else waitMs = Math.min(waitMs, notBefore - now);
    }
    return waitMs;
  };

  /** Offers the teams with edits whose time has come. @returns ms until the next one's */
  const offerEdited = async (): Promise<number> => {
    const now = monotonicMs();
    if (state.nextPollMs <= now) {
      for (const name of state.teams.keys()) if (!state.editsAtMs.has(name)) state.editsAtMs.set(name, now);
      state.nextPollMs = now + pollMs;
    }
    const ready = [...state.editsAtMs].flatMap(([name, atMs]) => (atMs <= now ? [name] : []));
    const fresh = ready.length === 0 ? [] : await store.readFreshEdits(ready);
    for (const name of ready) state.editsAtMs.delete(name);
    for (const edits of fresh) {
      const team = state.teams.get(edits.team);
      if (team === undefined) continue;
      const waitMs = editsWaitMs(edits, team.edits.everyMs);
      if (waitMs === 0) await queue.offer(edits.team);
      // Looked at again: another run may be under way that began before these edits.
      state.editsAtMs.set(edits.team, monotonicMs() + (waitMs === 0 ? soonMs : waitMs));
    }
    return Math.min(state.nextPollMs, ...state.editsAtMs.values()) - monotonicMs();
  };

  const look = async (): Promise<number> => {
    try {
      return Math.min(await offerDue(), await offerEdited());
    } catch (error) {
      onTrouble(error, 'what is due');
      return soonMs;
    }
  };
  const loop = (async () => {
    while (!state.closing) {
      let woken = false;
      const sleep = Promise.withResolvers<void>();
      wake = () => {
        woken = true;
        sleep.resolve();
      };
      const waitMs = await look();
      if (woken || state.closing) continue;
      const timer = setTimeout(sleep.resolve, Math.min(Math.max(waitMs, 20), longestSleepMs));
      await sleep.promise;
      clearTimeout(timer);
    }
  })();
  return createHandle({ state, store, queue, loop, wake: () => wake(), monotonicMs });
}

interface Parts {
  readonly state: {
    teams: Map<string, LoopTeam>;
    timetable: Timetable;
    readonly editsAtMs: Map<string, number>;
    nextPollMs: number;
    closing: boolean;
  };
  readonly store: LoopStore;
  readonly queue: TeamQueue;
  readonly loop: Promise<void>;
  readonly wake: () => void;
  readonly monotonicMs: () => number;
}

function createHandle({ state, store, queue, loop, wake, monotonicMs }: Parts): Loop {
  return {
    edited: (name) => {
      const team = name === undefined ? undefined : state.teams.get(name);
      if (name === undefined) state.nextPollMs = 0;
      // The first edit sets the time: a stream of edits does not put it off for ever.
      else if (team !== undefined && !state.editsAtMs.has(name))
        state.editsAtMs.set(name, monotonicMs() + team.edits.debounceMs);
      wake();
    },
    hint: async (name) => {
      await store.hasten(name);
      wake();
    },
    reload: async (teams) => {
      const before = state.timetable;
      const timetable = await createTimetable(teams, wake);
      state.timetable = timetable;
      state.teams = new Map(teams.map((team) => [team.name, team]));
      await before.close();
      await store.makeKnown(plannedOf([...state.teams.keys()], timetable), false);
      wake();
    },
    close: async () => {
      state.closing = true;
      wake();
      await loop;
      await queue.close();
      await state.timetable.close();
    },
  };
}
