/** Those who run: somebody's cron job that makes one run after the other, or the daemon with its loop, its queue and its ear. */
import type { Config } from '../../src/config/config.ts';
import type { RunGroup } from '../../src/model/run-group.ts';
import type { Connections } from '../../src/service/connections.ts';
import { databaseUrl } from './ground.ts';
import { Violation } from './invariants.ts';
import type { Process, World } from './world.ts';

export interface Replicas {
  readonly runs: number;
  /** One run of this team, by this process. @returns how it ended */
  run(process: Process, config: Config, groups: readonly RunGroup[]): Promise<string>;
  /** A daemon for these teams. @returns what asks it to stop, and resolves when it has */
  serve(process: Process, configs: readonly Config[]): Promise<{ stop(): Promise<void> }>;
}

export async function createReplicas(
  world: World,
  connections: Connections,
  fail: (error: unknown) => void,
): Promise<Replicas> {
  const { createDatabase } = await import('../../src/mirror/db/database.ts');
  const { runReconcile } = await import('../../src/runs/sync/reconcile-team.ts');
  const { serve } = await import('../../src/daemon/serve.ts');
  const { createLog } = await import('../../src/log.ts');
  const { MusterdError } = await import('../../src/errors.ts');
  const { getTasks } = await import('node-cron');
  // The processes of an earlier world did not end in an orderly way, and ids are drawn: the same seed draws the same.
  for (const task of getTasks().values()) await task.destroy();
  const log = createLog({ level: 'silent' });
  let runs = 0;

  function ended(process: Process, what: string, error: unknown): string {
    const isExpected = error instanceof MusterdError;
    world.trace(
      `${process.name} ran ${what}: ${isExpected ? error.code : ''} ${(error as Error).message.slice(0, 300)}`,
    );
    if (!isExpected)
      fail(
        error instanceof Violation
          ? error
          : new Violation('a run ends in words', `${(error as Error).stack}`),
      );
    return isExpected ? error.code : 'unexpected';
  }
  type Report = Awaited<ReturnType<typeof runReconcile>>;
  const said = (process: Process, what: string, { outcome, counts, reasons }: Report) =>
    world.trace(
      `${process.name} ran ${what}: ${outcome} ${JSON.stringify(counts)} ${reasons.join('; ').slice(0, 200)}`,
    );

  return {
    get runs() {
      return runs;
    },
    run: async (process, config, groups) => {
      const db = createDatabase({ url: databaseUrl(process.host) });
      const what = `${groups.join('+')} of ${config.team}`;
      runs += 1;
      try {
        const report = await runReconcile(db, config, 'reconcile', { log, groups, connections });
        said(process, what, report);
        return report.outcome;
      } catch (error) {
        return ended(process, what, error);
      } finally {
        await db.close();
      }
    },
    serve: async (process, configs) => {
      const url = databaseUrl(process.host);
      const db = createDatabase({ url });
      const asked = new AbortController();
      const serving = await serve({
        mirror: { db, url },
        configs,
        log,
        signal: asked.signal,
        connections,
        watch: {
          onRun: (config, report) => {
            runs += 1;
            said(process, `for ${config.team}`, report);
          },
          onFailure: (config, groups, error) => {
            runs += 1;
            ended(process, `${groups.join('+')} of ${config.team}`, error);
          },
        },
      });
      return {
        stop: async () => {
          asked.abort();
          await serving.ended;
          await db.close();
        },
      };
    },
  };
}
