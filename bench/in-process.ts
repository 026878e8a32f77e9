/** What is measured of a run within this process, where a start-up would drown it. */
import { configSchema, type Config } from '../src/config/config.ts';
import { createLog } from '../src/log.ts';
import type { Database } from '../src/mirror/db/database.ts';
import { type RunGroup, scheduledGroups } from '../src/model/run-group.ts';
import { runReconcile } from '../src/runs/sync/reconcile-team.ts';
import type { RunReport } from '../src/runs/sync/run-record.ts';
import type { Watch } from '../src/runs/sync/with-run.ts';
import type { Environment } from './measure-process.ts';

const silent = createLog({ level: 'silent' });

export function configOf(environment: Environment, perMinute = 1_000_000): Config {
  return configSchema.parse({
    service: {
      baseUrl: environment['MUSTERD_BASE_URL'],
      secretId: environment['MUSTERD_SECRET_ID'],
      secretKey: environment['MUSTERD_SECRET_KEY'],
    },
    rate: { perMinute },
  });
}

export async function runHere(
  db: Database,
  config: Config,
  groups: readonly RunGroup[] = scheduledGroups,
  watch: Pick<Watch, 'teamMemory' | 'connections'> = {},
): Promise<RunReport> {
  return await runReconcile(db, config, 'daemon', { ...watch, log: silent, groups });
}
