import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { createDatabase, type Database } from '../../src/mirror/db/database.ts';
import { patient } from './limits.ts';
import { embeddedServer, type TestServer } from './servers.ts';

export interface TestDatabase {
  /** Of the database alone; a superuser's. */
  readonly url: string;
  readonly db: Database;
  /** Closes `db` and drops the database, whoever else is still connected to it. */
  close(): Promise<void>;
}

export interface TestDatabaseOptions {
  readonly server?: TestServer;
  /** Without a schema, for tests of migrating itself. */
  readonly empty?: boolean;
}

/** A database of its own for a test file (beforeAll / afterAll) or a test, with the schema in place. */
export async function createTestDatabase(options: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const server = options.server ?? embeddedServer();
  const name = `musterd_test_${randomBytes(6).toString('hex')}`;
  await asAdmin(server, async (admin) => {
    const template = sql.id(options.empty === true ? 'template0' : server.template);
    // Twice as fast as the way through WAL for a small database; 15 has it too, but makes a checkpoint.
    const strategy = server.major >= 16 ? sql` strategy file_copy` : sql``;
    await sql`create database ${sql.id(name)} template ${template}${strategy}`.execute(admin.asTyped);
  });
  const target = new URL(server.url);
  target.pathname = `/${name}`;
  const db = createDatabase({ url: target.href, applicationName: 'musterd test', ...patient });
  return {
    url: target.href,
    db,
    close: async () => {
      await db.close();
      await asAdmin(server, async (admin) => {
        await sql`drop database if exists ${sql.id(name)} with (force)`.execute(admin.asTyped);
      });
    },
  };
}

async function asAdmin(server: TestServer, work: (admin: Database) => Promise<void>): Promise<void> {
  const admin = createDatabase({
    url: server.url,
    applicationName: 'musterd test',
    maxConnections: 1,
    ...patient,
  });
  try {
    await work(admin);
  } finally {
    await admin.close();
  }
}
