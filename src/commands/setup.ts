/** Opens settings, log and mirror for a command, and closes the mirror afterwards, even after an error. */
import type { Config } from '../config/config.ts';
import {
  type Configuration,
  loadConfiguration,
  onlyTeam,
  selectTeam,
  requestedTeam,
} from '../config/load.ts';
import { mistakesIn } from '../daemon/config-checks.ts';
import type { Log } from '../log.ts';
import { showTimesIn } from '../model/zone-time.ts';
import { type Mirror, type MirrorOptions, type Setup, openMirror, secretsOf } from '../runs/open.ts';
import type { Context } from './context.ts';
import { printLine } from './output.ts';

interface LoadedSettings {
  /** All teams, or only the team that the command line names. */
  readonly configuration: Configuration;
  readonly log: Log;
  /** Reads the settings again, and makes the log hide new secrets. @throws MusterdError `configuration` */
  readonly reread: () => Configuration;
}

export interface SetupOfTeams extends LoadedSettings {
  readonly mirror: Mirror;
}

/** @throws MusterdError `configuration`; `usage` if the named team does not exist */
function readConfiguration(context: Context): LoadedSettings {
  const read = () =>
    selectTeam(
      loadConfiguration(context.configFile, context.env, mistakesIn),
      requestedTeam(context.env, context.team),
    );
  const configuration = read();
  const fallback = context.err.isTTY === true ? 'warn' : 'info';
  const [{ log: settings, display }] = configuration.teams;
  if (display.timezone !== 'UTC') showTimesIn(display.timezone);
  const secrets = configuration.teams.flatMap(secretsOf);
  const log = context.createLog(settings.level, fallback, secrets);
  const warn = ({ warnings }: Configuration) => {
    for (const warning of warnings) log.warn(warning);
  };
  warn(configuration);
  const reread = () => {
    const next = read();
    const known = new Set(secrets.map((secret) => secret.reveal()));
    secrets.push(...next.teams.flatMap(secretsOf).filter((secret) => !known.has(secret.reveal())));
    warn(next);
    return next;
  };
  return { configuration, log, reread };
}

/** @throws MusterdError `usage` if there are several teams and none is named */
export function readSettings(context: Context): { readonly config: Config; readonly log: Log } {
  const { configuration, log } = readConfiguration(context);
  return { config: onlyTeam(configuration), log };
}

/** A check that is made before the mirror is opened or created. */
type SettingsCheck = (read: LoadedSettings) => Promise<void>;

/** The check for commands that cannot work without the service. */
export const needsService: SettingsCheck = async ({ configuration: { teams }, log }) => {
  const { requireService } = await import('../runs/open-service.ts');
  const errors = await Promise.all(
    teams.map((config) =>
      requireService(config, log).then(
        () => undefined,
        (error: unknown) => error,
      ),
    ),
  );
  // If at least one team can work, the command starts, and the other teams report their own errors later.
  if (errors.every((error) => error !== undefined)) throw errors[0];
};

/** Like `needsService`, but only for an embedded mirror. With other mirrors, the mirror alone can answer some logins. */
export const needsServiceAlone: SettingsCheck = async (read) => {
  if (read.configuration.teams.some(({ database }) => database.url === undefined)) await needsService(read);
};

async function withOpenMirror<R>(
  context: Context,
  { config, log }: Pick<Setup, 'config' | 'log'>,
  work: (mirror: Mirror) => Promise<R>,
  options: MirrorOptions = {},
): Promise<R> {
  const onProgress = (step: string) => {
    if (context.err.isTTY === true) printLine(context.err, `${step} …`);
  };
  const onWarning = (words: string) => log.warn(words);
  const { signal } = context;
  const mirror = await openMirror(config, onProgress, { signal, onWarning, ...options });
  try {
    return await work(mirror);
  } finally {
    await mirror.close();
  }
}

/** Opens the mirror for work on one team. */
export async function withMirror<R>(
  context: Context,
  work: (setup: Setup) => Promise<R>,
  before?: SettingsCheck,
): Promise<R> {
  const read = readConfiguration(context);
  const config = onlyTeam(read.configuration);
  const { log } = read;
  await before?.(read);
  return withOpenMirror(context, { config, log }, async (mirror) => work({ config, log, mirror }));
}

/** Opens the mirror for work on all teams, or on the named team. All teams share one database. */
export async function withMirrorOf<R>(
  context: Context,
  work: (setup: SetupOfTeams) => Promise<R>,
  { before, ...options }: MirrorOptions & { readonly before?: SettingsCheck } = {},
): Promise<R> {
  const read = readConfiguration(context);
  const [any] = read.configuration.teams;
  await before?.(read);
  const first = { config: any, log: read.log };
  return withOpenMirror(context, first, async (mirror) => work({ ...read, mirror }), options);
}
