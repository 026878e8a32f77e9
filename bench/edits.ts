/** How long an edit takes from the end of its statement to the service, and to the answer in SQL: rows 10 to 13, 26, 27. */
import { setTimeout as delay } from 'node:timers/promises';
import { editsEveryMs } from '../src/daemon/run-due.ts';
import { createTeamMemories } from '../src/daemon/team-memory.ts';
import { createDatabase } from '../src/mirror/db/database.ts';
import { runSqlText } from '../src/mirror/db/sql-text.ts';
import { eventually } from '../test/support/eventually.ts';
import { type Bench, type Group, inWords } from './bench.ts';
import { configOf, runHere } from './in-process.ts';
import { startMeasured } from './measure-process.ts';
import type { BenchDatabase } from './postgres.ts';
import { measure, type RowResult } from './results.ts';
import { type Service, startService } from './service.ts';
import { percentile } from './stats.ts';

const monotonicMs = () => Number(process.hrtime.bigint() / 1000n) / 1000;

interface Team {
  readonly users: number;
  readonly service: Service;
  readonly database: BenchDatabase;
}

async function withTeam<T>({ server }: Bench, users: number, work: (team: Team) => Promise<T>): Promise<T> {
  const service = await startService({ emulator: { users, tags: 10, fields: 5, ratePerMinute: 0 } });
  const database = await server.newDatabase();
  try {
    return await work({ users, service, database });
  } finally {
    await database.close();
    await service.close();
  }
}

interface Editor {
  /** Edits users one after the other, by SQL. @returns ms from the end of each statement to what is waited for */
  edit(): Promise<number>;
  close(): Promise<void>;
}

/** What follows the end of an edit. */
type Until = 'its request' | 'confirmed';

/** Edits in one session, as psql does. */
async function createEditor({ service, database }: Team, until: Until): Promise<Editor> {
  const rows = await database.sql(
    'select id from mirror.users where email is not null and resolved order by id limit 200',
  );
  const session = createDatabase({
    url: database.url,
    applicationName: 'musterd bench editor',
    maxConnections: 1,
  });
  let edits = 0;
  /** @returns when it was there */
  const wait: Readonly<Record<Until, (email: string) => Promise<number>>> = {
    'its request': async (email) => {
      const sent = await eventually('the edit is sent', async () =>
        (await service.arrivals()).find(
          ({ path, body }) => path === '/v1/users/update' && body.includes(email),
        ),
      );
      return sent.atMs;
    },
    confirmed: async (email) => {
      const settled = await runSqlText(session, 'select state from sync.settled()');
      if (!settled.rows.flat().includes('confirmed')) throw new Error(`${email} is ${String(settled.rows)}`);
      return monotonicMs();
    },
  };
  return {
    edit: async () => {
      const [id] = rows[edits % rows.length] ?? [];
      const email = `edit${edits}.${String(id)}@example.com`;
      edits += 1;
      await service.clear();
      await runSqlText(session, `update mirror.users set email = '${email}' where id = ${String(id)}`);
      const endedMs = monotonicMs();
      return (await wait[until](email)) - endedMs;
    },
    close: () => session.close(),
  };
}

/** Until the daemon may push at once, as it may after a quiet time. */
async function awaitQuiet({ database }: Team): Promise<void> {
  await eventually('a push may leave at once', async () => {
    const [[isQuiet] = []] = await database.sql(
      `select coalesce(max(started_at), '-infinity') < clock_timestamp() - interval '${editsEveryMs * 1.1} ms'
         and not exists (select from sync.leases where expires_at > clock_timestamp())
       from sync.due where run_group = 'edits'`,
    );
    return isQuiet === true;
  });
}

/** @param pauseMs between the beginnings of two edits; none: each after a quiet time */
async function measureEdits(
  bench: Bench,
  users: number,
  edits: number,
  { until = 'its request', pauseMs }: { readonly until?: Until; readonly pauseMs?: number } = {},
) {
  return await withTeam(bench, users, async (team) => {
    const config = configOf(team.service.environment);
    await runHere(team.database.db, config);
    const env = {
      ...team.service.environment,
      DATABASE_URL: team.database.url,
      MUSTERD__schedule__users: '0 0 1 1 *',
      MUSTERD__schedule__listings: '0 0 1 1 *',
      MUSTERD__schedule__counts: '0 0 1 1 *',
    };
    const daemon = startMeasured(bench.musterd, ['daemon'], env);
    const editor = await createEditor(team, until);
    try {
      await eventually('the daemon has made its first run', async () => {
        const [[isDone] = []] = await team.database.sql(
          `select count(*) filter (where outcome = 'complete') > 1 from sync.runs`,
        );
        return isDone === true;
      });
      const took: number[] = [];
      for (let turn = 0; turn < edits; turn += 1) {
        if (pauseMs === undefined) await awaitQuiet(team);
        const pause = delay(pauseMs ?? 0);
        took.push(await editor.edit());
        await pause;
      }
      bench.say(
        `${edits} edits of ${users} users until ${until}: median ${Math.round(percentile(took, 0.5))} ms`,
      );
      return took;
    } finally {
      daemon.process.kill('SIGTERM');
      await daemon.ended;
      await editor.close();
    }
  });
}

function latencies(
  row: number,
  users: number,
  took: readonly number[],
  goals: readonly [number, number?],
): RowResult {
  const [median, p99] = goals;
  const sorted = took.toSorted((a, b) => a - b);
  const points = sorted.map((x, index) => ({ x, y: (100 * (index + 1)) / sorted.length }));
  return {
    row,
    size: inWords(users, 'users'),
    measures: [
      measure({ what: 'median', unit: 'ms', product: took, goal: median }),
      ...(p99 === undefined
        ? []
        : [measure({ what: '99th percentile', unit: 'ms', product: [percentile(took, 0.99)], goal: p99 })]),
    ],
    ...(row > 12
      ? {}
      : {
          series: [{ plot: 'latency', name: row === 12 ? '1.5 s apart' : inWords(users, 'users'), points }],
        }),
  };
}

/** What one edit asks of Postgres and of the service. */
export async function countEdit(bench: Bench): Promise<RowResult> {
  return await withTeam(bench, 500, async (team) => {
    const { database, service } = team;
    const config = configOf(service.environment);
    const teamMemory = createTeamMemories(() => performance.now())(config);
    const run = (db = database.db) => runHere(db, config, ['edits'], { teamMemory });
    await runHere(database.db, config, undefined, { teamMemory });
    const edit = (email: string) =>
      database.sql(
        `update mirror.users set email = '${email}' where id = (select min(id) from mirror.users where email is not null and resolved)`,
      );
    // The first update of all finds out what it does to names.
    await edit('first@example.com');
    await run();
    await edit('second@example.com');
    await service.clear();
    const { statements } = await database.count(run);
    const requests = (await service.arrivals()).length;
    return {
      row: 13,
      size: inWords(500, 'users'),
      measures: [
        measure({ what: 'statements', unit: '', product: [statements], goal: 60 }),
        measure({ what: 'requests', unit: '', product: [requests], goal: 3 }),
      ],
    };
  });
}

export const edits: Group = {
  rows: [10, 11, 12, 13, 26, 27],
  measure: async (bench) => {
    const [many, few] = bench.quick ? [8, 3] : [100, 30];
    const results: RowResult[] = [];
    if (bench.isWanted(10))
      results.push(latencies(10, 500, await measureEdits(bench, 500, many), [150, 600]));
    if (bench.isWanted(11))
      results.push(latencies(11, bench.size, await measureEdits(bench, bench.size, few), [300]));
    if (bench.isWanted(12))
      results.push(latencies(12, 500, await measureEdits(bench, 500, few, { pauseMs: 1500 }), [700]));
    if (bench.isWanted(13)) results.push(await countEdit(bench));
    for (const [row, users, goal] of [
      [26, 500, 250],
      [27, bench.size, 500],
    ] as const)
      if (bench.isWanted(row))
        results.push(
          latencies(row, users, await measureEdits(bench, users, few, { until: 'confirmed' }), [goal]),
        );
    return results;
  },
};
