import { compareConfigurations } from '../../config/compare-configurations.ts';
import type { Configuration } from '../../config/load.ts';
import { createMonitoring, type Monitoring } from '../../daemon/monitoring.ts';
import { createPresence, type Presence } from '../../daemon/presence.ts';
import type { DaemonEnd } from '../../model/daemons.ts';
import { prepareSchema } from '../../runs/open.ts';
import { checkTeams, type RunningDaemon, serve } from '../../daemon/serve.ts';
import { type Context, type ExitCode, exitCode } from '../context.ts';
import { type SetupOfTeams, withMirrorOf } from '../setup.ts';

/**
 * Reconciles now and at each time of the schedule, until the process is asked to stop. A failed run is logged, and the
 * next run tries again. The daemon ends by itself only if the first run of its only team fails with an error that no
 * retry can fix: shortly after the start, a person still sees that. SIGHUP makes it read the settings again.
 */
export async function daemonCommand(context: Context): Promise<ExitCode> {
  const hangUps = listenForHangUps();
  let onQuery: (ms: number) => void = () => {};
  try {
    const work = (setup: SetupOfTeams) =>
      runDaemon(context, setup, hangUps, (measure) => {
        onQuery = measure;
      });
    return await withMirrorOf(context, work, {
      onQuery: (ms) => onQuery(ms),
      before: ({ configuration, log }) => checkTeams(configuration.teams, log),
    });
  } finally {
    hangUps.close();
  }
}

async function runDaemon(
  context: Context,
  setup: SetupOfTeams,
  hangUps: HangUps,
  measureQueries: (measure: (ms: number) => void) => void,
): Promise<ExitCode> {
  const { configuration, log, mirror } = setup;
  const { teams } = configuration;
  const applied = await prepareSchema(mirror.db, teams[0]);
  const { env, signal, version } = context;
  const outlook = await createMonitoring({ mirror, configs: teams, log, env, version });
  measureQueries(outlook.onQuery);
  let presence: Presence | undefined;
  let end: DaemonEnd = 'asked';
  try {
    const { watch, port } = outlook;
    const serving = await serve({ mirror, configs: teams, log, signal, watch });
    signal.addEventListener('abort', () => void outlook.systemd.stopping(), { once: true });
    const bySystemd = env['INVOCATION_ID'] !== undefined;
    presence = await createPresence({ db: mirror.db, teams: serving.teams, bySystemd, log });
    await outlook.systemd.ready();
    log.info({ teams: teams.map(({ team }) => team), migrations: applied, port }, 'daemon started');
    hangUps.follow(createReload(setup, outlook, serving));
    await serving.ended;
  } catch (error) {
    end = 'failed';
    await outlook.tellLast();
    throw error;
  } finally {
    await presence?.close(end);
    await outlook.close();
  }
  log.info('daemon stopped');
  return exitCode.ok;
}

interface HangUps {
  /** Calls `reload` for each SIGHUP, one call after the other. A SIGHUP that came earlier is handled immediately. */
  follow(reload: () => Promise<void>): void;
  close(): void;
}

/** Listens from the start of the daemon to its end, because without a listener SIGHUP would end the process. */
function listenForHangUps(): HangUps {
  const listening = Promise.withResolvers<() => Promise<void>>();
  let last: Promise<unknown> = listening.promise;
  let waiting = false;
  const onHangUp = () => {
    // A reload is waiting to begin. It will read the newest settings, so this signal needs no further reload.
    if (waiting) return;
    waiting = true;
    last = last.then(async () => {
      waiting = false;
      await (await listening.promise)();
    });
  };
  process.on('SIGHUP', onHangUp);
  return { follow: listening.resolve, close: () => process.off('SIGHUP', onHangUp) };
}

/** Reads the settings again and applies them. If they contain a mistake or cannot be applied, nothing changes. */
function createReload(
  { configuration, reread, log }: SetupOfTeams,
  outlook: Monitoring,
  serving: RunningDaemon,
): () => Promise<void> {
  let now: Configuration = configuration;
  return async () => {
    await outlook.systemd.reloading();
    try {
      const next = reread();
      const { needsRestart, ...change } = compareConfigurations(now, next);
      await checkTeams(next.teams, log);
      const takeOutlook = outlook.prepare(next.teams);
      const takeTeams = await serving.prepare(next.teams);
      takeTeams();
      await takeOutlook();
      now = next;
      log.info(change, 'settings read again');
      if (needsRestart.length > 0)
        log.warn({ settings: needsRestart }, 'these settings take effect at the next start');
    } catch (error) {
      log.error({ err: error }, 'the new settings were not applied: the old ones stay in effect');
    }
    await outlook.systemd.ready();
  };
}
