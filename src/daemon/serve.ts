/** Assembles `musterd daemon`: the loop, its store and queue, and the listener for edits. */
import type { RunReport } from '../runs/sync/run-record.ts';
import { isFinal, runReconcile } from '../runs/sync/reconcile-team.ts';
import { systemClock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { createLoop } from './loop.ts';
import { createPruner } from './pruner.ts';
import { createProcessQueue, type TeamQueue, type TeamWork } from './queue.ts';
import { endOfInterrupted, type LoopStore, type RunEnd } from './run-due.ts';
import type { ScheduledTeam } from './timetable.ts';
import { createTeamMemories } from './team-memory.ts';
import { MusterdError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Database } from '../mirror/db/database.ts';
import { connectionOptions, readConnectionUrl } from '../mirror/db/database-url.ts';
import {
  registerGroups,
  setNextTime,
  readDue,
  readNextDueMs,
  readStandings,
  readTeamNames,
} from '../mirror/team/due.ts';
import { noteEdits, readFreshEdits } from '../mirror/users/fresh-edits.ts';
import { createListener } from '../mirror/team/listen.ts';
import type { RunGroup } from '../model/run-group.ts';
import type { Mirror } from '../runs/open.ts';
import { requireService } from '../runs/open-service.ts';
import type { RunEvent } from '../reconcile/run-notes.ts';
import { type Connections, createConnections } from '../service/connections.ts';
import type { ServiceEvent } from '../service/event.ts';

/** Events of runs, for metrics and progress. */
export interface RunWatch {
  readonly onServiceEvent?: (team: string, event: ServiceEvent) => void;
  readonly onEvent?: (team: string, event: RunEvent) => void;
  readonly onRun?: (config: Config, report: RunReport) => void;
  /** Called when a run ended without a report. */
  readonly onFailure?: (config: Config, groups: readonly RunGroup[], error: unknown) => void;
}

export interface ServeOptions {
  readonly mirror: Pick<Mirror, 'db' | 'url'>;
  /** One or more configurations. The settings of the process are the same in all of them. */
  readonly configs: readonly Config[];
  readonly log: Log;
  /** Aborted when the process is asked to stop. Current runs get the same signal. */
  readonly signal: AbortSignal;
  readonly watch?: RunWatch;
  /** Connections to the service that the caller has opened. The daemon closes them at its end. */
  readonly connections?: Connections;
}

export interface RunningDaemon {
  /** The names of the teams that the daemon serves now. */
  readonly teams: () => readonly string[];
  /**
   * Prepares for other teams and settings of teams. @returns a function that switches to them; current work continues
   * @throws MusterdError `configuration`, or the database's error, in which case nothing has changed
   */
  prepare(configs: readonly Config[]): Promise<() => void>;
  /** Resolves after the stop signal, when all work is done. @throws errors that no retry can fix */
  readonly ended: Promise<void>;
}

/** Checks everything that can be checked before a run. @throws MusterdError `configuration` */
export async function checkTeams(configs: readonly Config[], log: Log): Promise<void> {
  for (const config of configs) {
    const { team } = config;
    try {
      await requireService(config, log);
    } catch (error) {
      if (!(error instanceof MusterdError) || configs.length === 1) throw error;
      const hint = error.hint === undefined ? {} : { hint: error.hint };
      throw new MusterdError(error.code, `team "${team}": ${error.message}`, { ...hint, cause: error });
    }
  }
}

const scheduledTeamOf = ({ team, schedule }: Config): ScheduledTeam => ({ name: team, schedule });

function createStore(db: Database): LoopStore {
  return {
    registerGroups: (all, now) => registerGroups(db, all, now),
    readDue: (teams) => readDue(db.kysely, teams),
    readNextDueMs: (teams) => readNextDueMs(db.kysely, teams),
    readFailures: async (team) =>
      new Map((await readStandings(db.kysely, [team])).map(({ group, failures }) => [group, failures])),
    readWork: (team) =>
      db.transaction(async (tx) => ({
        due: (await readDue(tx, [team])).get(team) ?? [],
        edits: (await readFreshEdits(tx, [team]))[0],
      })),
    setNextTime: (team, next) => setNextTime(db, team, next),
    readFreshEdits: (teams) => readFreshEdits(db.kysely, teams),
    noteEdits: (team, mark, wasMarked) => noteEdits(db, team, mark, wasMarked),
  };
}

/** Least ms between two logged errors of the queue. Without the database, the queue reports several errors a second. */
const troubleEveryMs = 30_000;

async function createQueue(
  { mirror, log }: ServeOptions,
  { daemon, database }: Config,
  work: TeamWork,
): Promise<TeamQueue> {
  const { concurrency } = daemon;
  if (daemon.queue === 'process') return createProcessQueue(concurrency, work);
  // Loaded only if it is needed, because this module is large.
  const { createSharedQueue } = await import('./shared-queue.ts');
  const connection = connectionOptions(readConnectionUrl(mirror.url));
  let toldMs = Number.NEGATIVE_INFINITY;
  const onError = (error: Error) => {
    const now = systemClock.monotonicMs();
    if (now - toldMs < troubleEveryMs) return;
    toldMs = now;
    log.warn({ err: error }, 'the shared queue reports an error');
  };
  return createSharedQueue({ connection, migrate: database.migrate, concurrency, work, onError });
}

/** Makes the function that carries out the runs of the loop. A failed run is logged, and the next run tries again. */
function createRun(
  options: ServeOptions,
  connections: Connections,
  configOf: (team: string) => Config | undefined,
  end: (error: unknown) => void,
) {
  const { mirror, log, signal, watch = {} } = options;
  let first = options.configs.length === 1;
  const memoryOf = createTeamMemories(() => systemClock.monotonicMs());
  return async (team: string, groups: readonly RunGroup[]): Promise<RunEnd> => {
    const config = configOf(team);
    if (config === undefined) return 'failed';
    let begun = false;
    try {
      const report = await runReconcile(mirror.db, config, 'daemon', {
        log,
        signal,
        groups,
        teamMemory: memoryOf(config),
        connections,
        onBegun: () => {
          begun = true;
        },
        onEvent: (event) => watch.onEvent?.(team, event),
        onServiceEvent: (event) => watch.onServiceEvent?.(team, event),
      });
      watch.onRun?.(config, report);
      first = false;
      const { outcome, counts } = report;
      const isWhole = outcome === 'complete' || outcome === 'refused';
      return isWhole && counts.postponed !== undefined ? 'postponed' : outcome;
    } catch (error) {
      const interrupted = endOfInterrupted(error, begun);
      if (interrupted !== undefined) return interrupted;
      watch.onFailure?.(config, groups, error);
      // The error ends the daemon only in the first run, while a person watches, and only if it serves one team.
      if (first && isFinal(error)) end(error);
      // An unexpected error ends the run but not the daemon, because the next run may succeed.
      else if (!(error instanceof MusterdError)) log.error({ err: error }, 'run failed unexpectedly');
    }
    first = false;
    return 'failed';
  };
}

/** Least ms between lookups of unknown team keys, because any login of the database can send a notification. */
const lookUpEveryMs = 5_000;

/** Reports the team of a notified key as edited. If no team has the key yet, the poll finds the edit later. */
function followEdits(db: Database, edited: (team: string) => void): (editKey: string) => void {
  let names: ReadonlyMap<string, string> = new Map();
  let lookedUpMs = Number.NEGATIVE_INFINITY;
  return (editKey) => {
    const name = names.get(editKey);
    const now = systemClock.monotonicMs();
    if (name !== undefined) edited(name);
    else if (now - lookedUpMs >= lookUpEveryMs) {
      lookedUpMs = now;
      readTeamNames(db.kysely).then(
        (read) => {
          names = read;
          const found = read.get(editKey);
          if (found !== undefined) edited(found);
        },
        // The database does not answer. Once it answers again, the poll finds the edits.
        () => undefined,
      );
    }
  };
}

/** Starts to serve teams that were checked before. @throws MusterdError `configuration`, or the database's error */
export async function serve(options: ServeOptions): Promise<RunningDaemon> {
  const { mirror, log, signal } = options;
  const [anyTeam] = options.configs;
  if (anyTeam === undefined) throw new MusterdError('configuration', 'There is no team to serve');
  let configs = new Map(options.configs.map((config) => [config.team, config]));
  const fatal = Promise.withResolvers<never>();
  const { connections = createConnections(anyTeam.daemon.concurrency) } = options;
  const loop = await createLoop({
    teams: options.configs.map(scheduledTeamOf),
    store: createStore(mirror.db),
    createQueue: (work) => createQueue(options, anyTeam, work),
    run: createRun(options, connections, (team) => configs.get(team), fatal.reject),
    firstRunNow: anyTeam.daemon.queue === 'process',
    monotonicMs: () => systemClock.monotonicMs(),
    onTrouble: (error, step) => log.warn({ err: error }, `${step}: trying again`),
  });
  const listener = createListener({
    url: mirror.url,
    onEdit: followEdits(mirror.db, (team) => loop.edited(team)),
    onListening: () => loop.edited(),
    onLost: (error) => log.warn({ err: error }, 'no notifications of edits until the connection is back'),
  });
  const pruner = createPruner({ db: mirror.db, configs: () => [...configs.values()], log });
  const stopRequest = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  const untilEnd = async () => {
    try {
      await Promise.race([stopRequest, fatal.promise]);
    } finally {
      await Promise.all([listener.close(), pruner.close(), loop.close()]);
      await connections.close();
    }
  };
  const over = untilEnd();
  // If `ended` rejects before the caller awaits it, the rejection must not count as unhandled.
  over.catch(() => {});
  return {
    teams: () => [...configs.keys()],
    ended: over,
    prepare: async (next) => {
      const take = await loop.prepare(next.map(scheduledTeamOf));
      return () => {
        configs = new Map(next.map((config) => [config.team, config]));
        take();
      };
    },
  };
}
