/** The queue that several daemons on one database share: pg-boss, whose only home this is. */
import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { type JobInsert, PgBoss } from 'pg-boss';
import { MusterdError } from '../errors.ts';
import type { TeamQueue, TeamWork } from './queue.ts';

/** The schema of pg-boss's tables. */
const schema = 'musterd_queue';
const queue = 'teams';

/**
 * How soon a worker that died is noticed: it shows a sign of life every 5 s, and is given up after 10.
 * What is given up is seen at the next look at the queue, every 2 s. Whoever offers a team looks at once.
 */
const heartbeatSeconds = 10;
const lookEverySeconds = 2;
/** No run takes longer; who is alive shows signs of life all the time. */
const longestRunSeconds = 23 * 3600;

export interface SharedQueueOptions {
  /** As pg takes it. */
  readonly connection: { readonly connectionString: string; readonly ssl: object | boolean };
  /** Whether the tables may be made and brought up to date. */
  readonly migrate: boolean;
  /** Teams worked on at once by this process. */
  readonly concurrency: number;
  readonly work: TeamWork;
  /** Told of what went wrong behind the scenes; the queue goes on by itself. */
  readonly onError: (error: Error) => void;
}

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

/** Offers of one turn of the event loop go in one statement. @returns whether a job was taken */
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
 * One job per team, unique while it waits or is worked on (`exclusive`), whatever of the team is due: its
 * groups never run side by side anyway, and a worker looks up what is due when it begins.
 */
export async function createSharedQueue(options: SharedQueueOptions): Promise<TeamQueue> {
  const { connection, migrate, concurrency, work, onError } = options;
  const boss = new PgBoss({
    ...connection,
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
  } catch (error) {
    await boss.stop({ graceful: false, close: true }).catch(() => {});
    const words = error instanceof Error ? error.message : String(error);
    throw new MusterdError('mirror', `The shared queue cannot be used: ${words}`, {
      hint: migrate
        ? `The role in DATABASE_URL has to own the schema ${schema}, or be allowed to create it: grant create on database … to …`
        : `Start one daemon with database.migrate and a role that may create the schema ${schema}, once after each update.`,
      cause: error,
    });
  }
  const workers: string[] = [];
  const begin = async (at: number) => {
    workers[at] = await boss.work<{ readonly team: string }>(
      queue,
      { pollingIntervalSeconds: lookEverySeconds },
      async (jobs) => {
        for (const { data } of jobs) await work(data.team);
        // By itself it would take no more than one job between two looks.
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
