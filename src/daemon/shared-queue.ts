/** The queue that several daemons on one database share. This is the only file that uses pg-boss. */
import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { type JobInsert, PgBoss } from 'pg-boss';
import { MusterdError } from '../errors.ts';
import { sqlState } from '../mirror/db/database-errors.ts';
import { unlessOvertaken } from '../mirror/migrations.ts';
import type { TeamQueue, TeamWork } from './queue.ts';

/** The schema of pg-boss's tables. */
const schema = 'musterd_queue';
const queue = 'teams';

/**
 * How soon a dead worker is noticed: a worker sends a heartbeat every 5 s, and its job is released after 10 s without
 * one. Idle workers look for released jobs every 2 s. A process that offers a team looks immediately.
 */
const heartbeatSeconds = 10;
const lookEverySeconds = 2;
/** The limit is longer than any run. Dead workers are noticed much earlier, by missing heartbeats. */
const longestRunSeconds = 23 * 3600;

export interface SharedQueueOptions {
  /** Connection settings in pg's format. */
  readonly connection: { readonly connectionString: string; readonly ssl: object | boolean };
  /** True if the tables can be created and migrated. */
  readonly migrate: boolean;
  /** Number of teams that this process works on in parallel. */
  readonly concurrency: number;
  readonly work: TeamWork;
  /** Called with background errors; the queue recovers by itself. */
  readonly onError: (error: Error) => void;
}

/**
 * The locks of pg-boss are advisory, so any login could take them and stop all daemons. pg-boss works without them on
 * databases that have no advisory locks, and this option is the only way to choose that.
 */
const withoutNamedLocks = { __test__noAdvisoryLocks: true };

async function makeQueue(boss: PgBoss): Promise<void> {
  await boss.createQueue(queue, {
    policy: 'exclusive',
    retryLimit: 3,
    retryDelay: 1,
    retryBackoff: true,
    expireInSeconds: longestRunSeconds,
    heartbeatSeconds,
    deleteAfterSeconds: 3600,
  });
}

/** Collects all offers of one turn of the event loop into one statement. Each offer returns true if it was accepted. */
function createOffers(boss: PgBoss, onOffered: () => void) {
  let next: { readonly jobs: JobInsert[]; readonly taken: Promise<ReadonlySet<string>> } | undefined;
  const gather = () => {
    const jobs: JobInsert[] = [];
    const insert = async () => {
      await setImmediate();
      next = undefined;
      const taken = new Set(await boss.insert(queue, jobs, { returnId: true }));
      onOffered();
      return taken;
    };
    return { jobs, taken: insert() };
  };
  return async (team: string): Promise<boolean> => {
    const id = randomUUID();
    next ??= gather();
    next.jobs.push({ id, data: { team }, singletonKey: team });
    return (await next.taken).has(id);
  };
}

/**
 * Each team has at most one job, waiting or being worked on (`exclusive`), whichever groups are due. The groups of a
 * team never run in parallel, and a worker reads which groups are due when it begins.
 */
export async function createSharedQueue(options: SharedQueueOptions): Promise<TeamQueue> {
  const { connection, migrate, concurrency, work, onError } = options;
  const open = async () => {
    const boss = new PgBoss({
      ...connection,
      ...withoutNamedLocks,
      application_name: 'musterd queue',
      max: 3,
      schema,
      migrate,
      createSchema: migrate,
      schedule: false,
      superviseIntervalSeconds: lookEverySeconds,
      monitorIntervalSeconds: lookEverySeconds,
      queueCacheIntervalSeconds: lookEverySeconds,
    });
    boss.on('error', onError);
    try {
      await boss.start();
      await makeQueue(boss);
      return boss;
    } catch (error) {
      await boss.stop({ graceful: false, close: true }).catch(() => {});
      throw error;
    }
  };
  const boss = await unlessOvertaken(open).catch((error: unknown) => {
    const words = error instanceof Error ? error.message : String(error);
    const code = sqlState(error) === '42501' ? 'denied' : 'mirror';
    throw new MusterdError(code, `The shared queue cannot be used: ${words}`, {
      hint: migrate
        ? `The role in DATABASE_URL has to own the schema ${schema}, or be allowed to create it: grant create on database … to …`
        : `Start one daemon with database.migrate and a role that may create the schema ${schema}, once after each update.`,
      cause: error,
    });
  });
  const workers: string[] = [];
  const begin = async (at: number) => {
    workers[at] = await boss.work<{ readonly team: string }>(
      queue,
      { pollingIntervalSeconds: lookEverySeconds },
      async (jobs) => {
        for (const { data } of jobs) await work(data.team);
        // Makes the worker take the next job now. Otherwise it would take one job per polling interval.
        boss.notifyWorker(workers[at] ?? '');
      },
    );
  };
  await Promise.all(Array.from({ length: concurrency }, (_, at) => begin(at)));
  const wake = () => {
    for (const worker of workers) boss.notifyWorker(worker);
  };
  return {
    offer: createOffers(boss, wake),
    close: () => boss.stop({ graceful: true, close: true, timeout: 60_000 }),
  };
}
