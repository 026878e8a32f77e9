/** Reports the daemon's state to the outside: status server, metrics, systemd, dead-man switch, notices to people. */
import { systemClock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { createMetrics } from './metrics.ts';
import { createPage } from '../page/serve/create-page.ts';
import { pageRoutes } from '../page/serve/page-routes.ts';
import { listenError } from '../page/serve/serve-page.ts';
import { createPing } from './ping.ts';
import { createReadiness } from './readiness.ts';
import { longestGapMs } from './schedule.ts';
import { createStandings } from './group-status.ts';
import { createTeller, targetsOf } from './tell.ts';
import { createSystemd } from './systemd.ts';
import type { Log } from '../log.ts';
import { type Database, ping } from '../mirror/db/database.ts';
import { readStandings } from '../mirror/team/due.ts';
import { readPlacing } from '../mirror/team/known-place.ts';
import { pendingMigrations } from '../mirror/migrations.ts';
import { readHeldByReason, readTokensLeft } from '../mirror/runs/metrics-read.ts';
import { type Intervals, isAtWork, judgeFreshness } from '../model/freshness.ts';
import { type GroupStatus, scheduledGroups } from '../model/run-group.ts';
import type { Mirror } from '../runs/open.ts';
import type { RunWatch } from './serve.ts';
import { listedOperations, nameOperation, operations } from '../service/operation.ts';
import { createStatusServer } from '../http/server.ts';

export interface MonitoringOptions {
  readonly mirror: Mirror;
  readonly configs: readonly Config[];
  readonly log: Log;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly version: string;
}

const urlsOf = (configs: readonly Config[]) =>
  new Map(configs.flatMap(({ team, ping }) => (ping.url === undefined ? [] : [[team, ping.url]])));
const intervalsOf = (configs: readonly Config[]): Intervals =>
  new Map(
    configs.map(({ team, schedule }) => [
      team,
      Object.fromEntries(scheduledGroups.map((group) => [group, longestGapMs(schedule[group])])),
    ]),
  );

/** @throws MusterdError `configuration` for an invalid ping.url or notify.url */
function settingsOf(configs: readonly Config[], log: Log) {
  return {
    teams: configs.map(({ team }) => team),
    intervals: intervalsOf(configs),
    paces: new Map(configs.map((config) => [config.team, config.rate])),
    ping: createPing({ urls: urlsOf(configs), log }),
    targets: targetsOf(configs),
    configs,
  };
}

const { team, users, updateUsers, contactCount } = operations;
const operationsOfRuns = [team, users, updateUsers, ...listedOperations, contactCount];

/** The queries of a scrape. They are about the teams that are served at the time of the scrape. */
const readsOf = (db: Database, now: () => ReturnType<typeof settingsOf>) => ({
  readHeld: () => readHeldByReason(db.kysely, now().teams),
  readRate: () => readTokensLeft(db.kysely, now().paces),
  readPlace: async () => (await readPlacing(db)).verdict,
});

export type Monitoring = Awaited<ReturnType<typeof createMonitoring>>;

export async function createMonitoring({ mirror, configs, log, env, version }: MonitoringOptions) {
  const { db } = mirror;
  const startedMs = systemClock.monotonicMs();
  let now = settingsOf(configs, log);
  const upForMs = () => systemClock.monotonicMs() - startedMs;
  const judge = (all: readonly GroupStatus[]) => judgeFreshness(all, now.intervals, upForMs());
  const standings = createStandings(() => readStandings(db.kysely, now.teams), systemClock);
  const freshness = async () => judge((await standings.read()).standings);
  const metrics = createMetrics({
    standings,
    judge,
    ...readsOf(db, () => now),
    operations: operationsOfRuns.map(nameOperation),
    version,
  });
  await metrics.keepTeams(now.teams);
  const readiness = createReadiness({
    ask: () => ping(db),
    countPending: async () => (await pendingMigrations(db)).length,
  });
  const systemd = createSystemd({ env, log, isFresh: async () => isAtWork(await freshness(), upForMs()) });
  const teller = createTeller({ db, targets: () => now.targets, judge, log, metrics });
  const closeOthers = async () => {
    await teller.close();
    await now.ping.close();
    await systemd.close();
  };
  const status = configs[0]?.status;
  const server =
    status === undefined || status.port === 0
      ? undefined
      : await createStatusServer({
          ...status,
          ready: () => readiness.check(),
          freshness,
          metrics: () => metrics.render(),
          page: pageRoutes(createPage({ db, configs: () => now.configs, version, decide: { mirror, log } })),
          log,
        }).catch(async (error: unknown) => {
          await closeOthers();
          const hint =
            'Set status.port to a free port, and status.host to an address of this machine. Port 0: no status server.';
          throw listenError(error, `${status.host} port ${status.port}`, 'configuration', hint);
        });
  const watch: RunWatch = {
    onServiceEvent: (team, event) => {
      metrics.onServiceEvent(team, event);
      readiness.onServiceEvent(team, event);
    },
    onEvent: (team, event) => metrics.onRunEvent(team, event),
    onRun: ({ team }, report) => {
      metrics.onRun(team, report);
      void now.ping.onRun(team, report);
      teller.wake();
    },
    onFailure: ({ team }, groups) => {
      metrics.onRun(team, { groups, outcome: 'failed' });
      teller.wake();
    },
  };
  return {
    watch,
    port: server?.port ?? null,
    onQuery: (ms: number) => metrics.onQuery(ms),
    /**
     * Prepares for other settings. @returns a function that applies these settings
     * @throws MusterdError `configuration`, in which case nothing has changed
     */
    prepare: (next: readonly Config[]) => {
      const prepared = settingsOf(next, log);
      return async () => {
        const before = now;
        now = prepared;
        readiness.keepTeams(now.teams);
        await metrics.keepTeams(now.teams);
        await before.ping.close();
      };
    },
    systemd,
    /** Posts pending notices. Called when the daemon is about to end with an error. */
    tellLast: () => teller.finish(),
    close: async () => {
      await server?.close();
      await closeOthers();
    },
  };
}
