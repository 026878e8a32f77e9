import { compareConfigurations } from '../config-compare.ts';
import type { Configuration } from '../config-sources.ts';
import { createOutlook, type Outlook } from '../outlook.ts';
import { prepareSchema } from '../places.ts';
import { checkTeams, serve } from '../serve.ts';
import { type Context, type ExitCode, exitCode } from './context.ts';
import { type SetupOfTeams, withMirrorOf } from './setup.ts';

/**
 * Reconciles now and at each time of the schedule, until somebody asks it to stop. A run that fails is
 * logged, and the next one tries again; only what no repetition will mend ends the daemon, and only at the
 * first run of its only team, where a person is still looking. SIGHUP reads the settings anew.
 */
export async function daemonCommand(context: Context): Promise<ExitCode> {
  let onQuery: (ms: number) => void = () => {};
  const work = async (setup: SetupOfTeams) => {
    const { configuration, log, mirror } = setup;
    const { teams } = configuration;
    checkTeams(teams);
    const applied = await prepareSchema(mirror.db, teams[0]);
    const { env, signal, version } = context;
    const outlook = await createOutlook({ mirror, configs: teams, log, env, version });
    ({ onQuery } = outlook);
    try {
      const { watch, port } = outlook;
      const serving = await serve({ mirror, configs: teams, log, signal, watch });
      const onHangUp = followHangUps(setup, outlook, (next) => serving.reload(next));
      process.on('SIGHUP', onHangUp);
      signal.addEventListener('abort', () => void outlook.notify.stopping(), { once: true });
      await outlook.ready(serving.hint);
      log.info({ teams: teams.map(({ team }) => team), migrations: applied, port }, 'daemon started');
      await serving.ended.finally(() => process.off('SIGHUP', onHangUp));
    } finally {
      await outlook.close();
    }
    log.info('daemon stopped');
    return exitCode.ok;
  };
  return withMirrorOf(context, work, { onQuery: (ms) => onQuery(ms) });
}

/** What is done at SIGHUP, one after the other: settings that are no good change nothing. */
function followHangUps(
  { configuration, reread, log }: SetupOfTeams,
  { reload: reloadOutlook, notify }: Outlook,
  reload: (configs: Configuration['teams']) => Promise<void>,
): () => void {
  let now = configuration;
  const follow = async () => {
    await notify.reloading();
    try {
      const next = reread();
      const { needsRestart, ...change } = compareConfigurations(now, next);
      checkTeams(next.teams);
      await reloadOutlook(next.teams);
      await reload(next.teams);
      now = next;
      log.info(change, 'settings read anew');
      if (needsRestart.length > 0)
        log.warn({ settings: needsRestart }, 'these settings count from the next start on');
    } catch (error) {
      log.error({ err: error }, 'settings not taken: the old ones stay');
    }
    await notify.ready();
  };
  let last = Promise.resolve();
  return () => {
    last = last.then(follow);
  };
}
