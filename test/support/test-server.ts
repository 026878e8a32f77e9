import { randomBytes } from 'node:crypto';
import { type RawBuilder, sql } from 'kysely';
import { createDatabase } from '../../src/mirror/db/database.ts';
import { openEmbedded } from '../../src/embedded/embedded.ts';
import { migrate } from '../../src/mirror/migrations.ts';
import type { TestServer } from './servers.ts';

export type Close = () => Promise<void>;

/** @param closers what is called at the end, the last one first */
export async function startTestServer(bindir: string | undefined, closers: Close[]): Promise<TestServer> {
  const embedded = await openEmbedded({ ephemeral: true, bindir });
  closers.push(async () => await embedded.close());
  // It would look at databases of a second's life, and change what plans are made of while a test looks.
  await execute(embedded.url, sql`alter system set autovacuum = off`);
  // No plan of such a database is carried out often enough to be worth compiling.
  await execute(embedded.url, sql`alter system set jit = off`);
  if (bindir === undefined) {
    // A database for a test takes a fifth of the time where the system copies its files.
    await execute(embedded.url, sql`alter system set file_copy_method = clone`);
    // Thousands of rounds to prove a password take half of the time of a connection, and a command opens several.
    await execute(embedded.url, sql`alter system set scram_iterations = 1`);
  }
  await execute(embedded.url, sql`select pg_reload_conf()`);
  if (bindir === undefined)
    await execute(embedded.url, sql`alter role musterd password ${sql.lit(new URL(embedded.url).password)}`);
  return await prepareServer(embedded.url, bindir === undefined ? 'embedded' : 'installed', closers);
}

/** Makes a migrated template in it. @param closers what is called at the end, the last one first */
export async function prepareServer(url: string, kind: string, closers: Close[]): Promise<TestServer> {
  const template = `musterd_template_${randomBytes(4).toString('hex')}`;
  const admin = createDatabase({ url, applicationName: 'musterd test' });
  try {
    const { rows } = await sql<{ major: number }>`
      select current_setting('server_version_num')::int / 10000 as major`.execute(admin.asTyped);
    await sql`create database ${sql.id(template)}`.execute(admin.asTyped);
    // Dropped before the server is stopped: a server that is not ours stays.
    closers.push(
      async () => await execute(url, sql`drop database if exists ${sql.id(template)} with (force)`),
    );
    const db = createDatabase({ url: withDatabase(url, template), applicationName: 'musterd test' });
    try {
      await migrate(db);
    } finally {
      await db.close();
    }
    const major = rows[0]?.major ?? 0;
    return { name: `Postgres ${major} (${kind})`, major, url, template };
  } finally {
    await admin.close();
  }
}

async function execute(url: string, ...statements: readonly RawBuilder<unknown>[]): Promise<void> {
  const admin = createDatabase({ url, applicationName: 'musterd test' });
  try {
    for (const statement of statements) await statement.execute(admin.asTyped);
  } finally {
    await admin.close();
  }
}

function withDatabase(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = `/${name}`;
  return changed.href;
}
