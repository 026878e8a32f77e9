/** The temporary service and mirror of the demo, which exist only while the demo runs. */
import { type Config, configSchema } from '../../config/config.ts';
import { createEmulator, type Emulator } from '../../emulator/create-emulator.ts';
import { openEmbedded } from '../../embedded/embedded.ts';
import { createLog, type Log } from '../../log.ts';
import { openDemoDatabase } from '../../runs/rehearse/demo-database.ts';
import type { Mirror } from '../../runs/open.ts';
import type { Context } from '../context.ts';
import { runEverySeconds } from './demo-data.ts';
import { printLine } from '../output.ts';

export interface DemoStage {
  readonly context: Context;
  readonly emulator: Emulator;
  readonly db: Mirror['db'];
  /** The URL of the mirror, with the password. */
  readonly url: string;
  readonly config: Config;
  readonly log: Log;
}

/** Opens a temporary service and mirror, passes them to `work`, and removes them at the end. */
export async function onDemoStage<R>(context: Context, work: (stage: DemoStage) => Promise<R>): Promise<R> {
  // If closing one part fails, all other parts are still closed.
  await using closers = new AsyncDisposableStack();
  const emulator = await createEmulator({ http: true, seed: 1 });
  closers.defer(() => emulator.close());
  const embedded = await openEmbedded({
    ephemeral: true,
    onProgress: (step) => printLine(context.err, `${step} …`),
  });
  closers.defer(() => embedded.close());
  const { db, url } = await openDemoDatabase(embedded.url);
  closers.defer(() => db.close());
  const {
    MUSTERD_BASE_URL: baseUrl,
    MUSTERD_SECRET_ID: secretId,
    MUSTERD_SECRET_KEY: secretKey,
  } = emulator.environment;
  const config = configSchema.parse({
    service: { baseUrl, secretId, secretKey },
    schedule: { users: `*/${runEverySeconds} * * * * *` },
    status: { details: true },
  });
  return await work({ context, emulator, db, url, config, log: logInWords(context) });
}

interface LogLine {
  readonly team?: string;
  readonly msg: string;
  readonly err?: { readonly message: string };
}

/** Prints each warning once, as text for a person. Skips warnings of a run, because the report of the run has them. */
function logInWords({ err }: Pick<Context, 'err'>): Log {
  const shownWarnings = new Set<string>();
  const write = (text: string) => {
    const { team, msg, err: error } = JSON.parse(text) as LogLine;
    const words = error === undefined ? msg : `${msg} (${error.message})`;
    if (team !== undefined || shownWarnings.has(words)) return;
    shownWarnings.add(words);
    printLine(err, words);
  };
  return createLog({ level: 'warn', stream: { write } });
}
