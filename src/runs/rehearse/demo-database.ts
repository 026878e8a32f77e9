/** The mirror of the demo: a separate database, on a server that exists only while the demo runs. */
import { createDatabase, type Database } from '../../mirror/db/database.ts';
import { runSqlText } from '../../mirror/db/sql-text.ts';

const applicationName = 'musterd demo';

/** Creates the database. An ordinary role owns it, as the README advises, because the demo prints its password. */
export async function openDemoDatabase(superuserUrl: string): Promise<{ db: Database; url: string }> {
  const server = createDatabase({ url: superuserUrl, applicationName, maxConnections: 1 });
  try {
    await runSqlText(server, `create role demo login createrole password 'demo'`);
    await runSqlText(server, 'create database demo owner demo');
  } finally {
    await server.close();
  }
  const url = new URL(superuserUrl);
  [url.username, url.password, url.pathname] = ['demo', 'demo', '/demo'];
  return { db: createDatabase({ url: url.href, applicationName }), url: url.href };
}

/** Runs one SQL statement of the demo. */
export const runDemoSql = (db: Database, text: string) => runSqlText(db, text);
