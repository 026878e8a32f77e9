import { isFinal, runReconcile } from '../app.ts';
import { runLoop } from '../daemon/loop.ts';
import { validateSchedule } from '../daemon/schedule.ts';
import { MusterdError } from '../errors.ts';
import { prepareSchema } from '../places.ts';
import { type Context, type ExitCode, exitCode } from './context.ts';
import { withMirror } from './setup.ts';

/**
 * Reconciles now and at each time of the schedule, until somebody asks it to stop. A run that fails is
 * logged, and the next one tries again; only what no repetition will mend ends the daemon, and only at its
 * first run, where a person is still looking.
 */
export async function daemonCommand(context: Context): Promise<ExitCode> {
  return withMirror(context, async ({ config, log, mirror }) => {
    const { users: expression, timezone } = config.schedule;
    const complaint = validateSchedule(expression, timezone);
    if (complaint !== undefined) throw new MusterdError('configuration', `schedule.users: ${complaint}`);
    const applied = await prepareSchema(mirror.db, config);
    log.info({ schedule: expression, timezone, migrations: applied }, 'daemon started');
    let first = true;
    let fatal: unknown;
    const ended = new AbortController();
    const run = async () => {
      try {
        await runReconcile(mirror.db, config, 'daemon', { log, signal: context.signal });
      } catch (error) {
        if (first && isFinal(error)) {
          fatal = error;
          ended.abort();
        } else if (!(error instanceof MusterdError)) {
          // What nobody foresaw ends a run, not the daemon: the next run may well go through.
          log.error({ err: error }, 'run failed unexpectedly');
        }
      }
      first = false;
    };
    const signal = AbortSignal.any([context.signal, ended.signal]);
    await runLoop({ expression, timezone, run, signal, onWait: (next) => log.debug({ next }, 'waiting') });
    if (fatal !== undefined) throw fatal;
    log.info('daemon stopped');
    return exitCode.ok;
  });
}
