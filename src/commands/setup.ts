/** What most commands begin with: settings, log, mirror; closed again whatever happens. */
import type { Config } from '../config.ts';
import { loadConfig } from '../config-sources.ts';
import type { Log } from '../log.ts';
import { type Mirror, openMirror, secretsOf } from '../places.ts';
import type { Context } from './context.ts';
import { printLine } from './output.ts';

export interface Setup {
  readonly config: Config;
  readonly log: Log;
  readonly mirror: Mirror;
}

export function readSettings(context: Context): { readonly config: Config; readonly log: Log } {
  const config = loadConfig(context.configFile, context.env);
  const fallback = context.err.isTTY === true ? 'warn' : 'info';
  return { config, log: context.createLog(config.log.level, fallback, secretsOf(config)) };
}

export async function withMirror<R>(context: Context, work: (setup: Setup) => Promise<R>): Promise<R> {
  const { config, log } = readSettings(context);
  const mirror = await openMirror(config, (step) => {
    if (context.err.isTTY === true) printLine(context.err, `${step} …`);
  });
  try {
    return await work({ config, log, mirror });
  } finally {
    await mirror.close();
  }
}
