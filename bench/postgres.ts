/** The Postgres of a bench: the embedded one with its own settings, in a folder that goes away. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEmbedded } from '../src/embedded/embedded.ts';
import { findPostmaster } from '../src/embedded/postgres-server.ts';
import { createDatabase, type Database } from '../src/mirror/db/database.ts';
import { addressOf } from '../src/mirror/db/address.ts';
import { readConnectionUrl } from '../src/mirror/db/database-url.ts';
import { migrate } from '../src/mirror/migrations.ts';
import { runSqlText } from '../src/mirror/db/sql-text.ts';
import { countStatements } from '../test/support/sent-statements.ts';

/** What was sent to Postgres, as `test/system/statements.test.ts` counts it. */
export interface Statements {
  /** Round trips, but for those that take places in the pace: how many blocks of those depends on how long things take. */
  readonly statements: number;
  readonly transactions: number;
  readonly leaseWrites: number;
}

export interface BenchDatabase {
  readonly name: string;
  readonly url: string;
  readonly db: Database;
  /** Rows as arrays. */
  readonly sql: (text: string) => Promise<readonly (readonly unknown[])[]>;
  /** Counts what this work sends by the database that it is handed. */
  readonly count: (work: (db: Database) => Promise<unknown>) => Promise<Statements>;
  close(): Promise<void>;
}

export interface BenchServer {
  readonly url: string;
  /** With the schema in place, or as another one is to which nobody is connected. */
  newDatabase(template?: string): Promise<BenchDatabase>;
  /** CPU time of all processes of the server so far. */
  readonly cpuMs: () => number;
  close(): Promise<void>;
}

const settings = [
  // As on a server for such a mirror; no checkpoint and no autovacuum falls into a measurement.
  "shared_buffers = '512MB'",
  "work_mem = '64MB'",
  "max_wal_size = '8GB'",
  "checkpoint_timeout = '1h'",
  'autovacuum = off',
];

const tickMs = 1000 / Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

/** Of a process, as its own and as that of its children that have ended. */
function ticksOf(pid: number): { readonly own: number; readonly ended: number; readonly parent: number } {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const at = (index: number) => fields[index] ?? 0;
  return { parent: at(1), own: at(11) + at(12), ended: at(13) + at(14) };
}

export function cpuMsOf(pid: number): number {
  return ticksOf(pid).own * tickMs;
}

/** Of processes that this one has started and that have ended. */
export function cpuMsOfEndedChildren(): number {
  return ticksOf(process.pid).ended * tickMs;
}

/** Of the server and its processes: one that has ended counts with its parent, one that lives by itself. */
function cpuMsOfServer(postmaster: number): number {
  for (;;) {
    const { own, ended } = ticksOf(postmaster);
    const living = childrenOf(postmaster).reduce((sum, child) => sum + child.own, 0);
    // Else one has ended meanwhile, and is in neither number or in both.
    if (ticksOf(postmaster).ended === ended) return (own + ended + living) * tickMs;
  }
}

function childrenOf(parent: number) {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        return [ticksOf(Number(name))];
      } catch {
        // It has ended meanwhile.
        return [];
      }
    })
    .filter((child) => child.parent === parent);
}

async function asAdmin<T>(
  url: string,
  work: (sql: (text: string) => Promise<unknown>) => Promise<T>,
): Promise<T> {
  const db = createDatabase({ url, applicationName: 'musterd bench', maxConnections: 1 });
  try {
    return await work(async (text) => await runSqlText(db, text));
  } finally {
    await db.close();
  }
}

function withDatabase(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = `/${name}`;
  return changed.href;
}

async function countSent(url: string, work: (db: Database) => Promise<unknown>): Promise<Statements> {
  const sent = await countStatements(url);
  // The counting one answers under a port of its own.
  const address = addressOf(readConnectionUrl(url).parts);
  const db = createDatabase({ url: sent.url, address, applicationName: 'musterd bench' });
  try {
    await work(db);
    const texts = sent.take();
    const of = (pattern: RegExp) => texts.filter((text) => pattern.test(text)).length;
    const blocks = of(/take_places/);
    return {
      statements: texts.length - 3 * blocks,
      transactions: of(/^begin/) - blocks,
      leaseWrites:
        of(/(?:insert into|update|delete from) "?sync"?\."?leases/) - of(/with mine as materialized/),
    };
  } finally {
    await db.close();
    await sent.close();
  }
}

async function createBenchDatabase(
  admin: Database,
  serverUrl: string,
  name: string,
  template: string,
): Promise<BenchDatabase> {
  await runSqlText(admin, `create database ${name} template ${template}`);
  const url = withDatabase(serverUrl, name);
  const db = createDatabase({ url, applicationName: 'musterd bench' });
  return {
    name,
    url,
    db,
    sql: async (text) => (await runSqlText(db, text)).rows,
    count: (work) => countSent(url, work),
    close: async () => {
      await db.close();
      await runSqlText(admin, `drop database ${name} with (force)`);
    },
  };
}

export async function startPostgres(): Promise<BenchServer> {
  const folder = mkdtempSync(join(tmpdir(), 'musterd-bench-postgres-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    const first = await openEmbedded({ dataDir: folder });
    await asAdmin(first.url, async (sql) => {
      for (const setting of settings) await sql(`alter system set ${setting}`);
    });
    await first.close();
  } catch (error) {
    remove();
    throw error;
  }
  const embedded = await openEmbedded({ dataDir: folder });
  const { url } = embedded;
  await asAdmin(url, async (sql) => {
    await sql('create database musterd_bench');
  });
  const template = createDatabase({
    url: withDatabase(url, 'musterd_bench'),
    applicationName: 'musterd bench',
  });
  try {
    await migrate(template);
  } finally {
    await template.close();
  }
  const postmaster = findPostmaster(join(folder, 'cluster', 'data'))?.pid ?? 0;
  const admin = createDatabase({ url, applicationName: 'musterd bench admin', maxConnections: 1 });
  let databases = 0;
  return {
    url,
    newDatabase: (template = 'musterd_bench') => {
      databases += 1;
      return createBenchDatabase(admin, url, `bench_${databases}`, template);
    },
    cpuMs: () => cpuMsOfServer(postmaster),
    close: async () => {
      await admin.close();
      await embedded.close();
      remove();
    },
  };
}
