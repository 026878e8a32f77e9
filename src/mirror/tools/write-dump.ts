/** The whole mirror as SQL that psql can load into an empty database: the schema, then all rows in one snapshot. */
import type pg from 'pg';
import { createPostgresClient } from '../db/database-client.ts';
import { to as copyTo } from 'pg-copy-streams';
import { describeConnectError, describeStatementError } from '../db/database-errors.ts';
import { safePath } from '../db/database-pool.ts';
import { connectionOptions, readConnectionUrl } from '../db/database-url.ts';
import {
  type Ask,
  closeTables,
  copyLine,
  firstLine,
  lastLine,
  leftOut,
  openTables,
  readDumpSequences,
  readDumpTables,
  rowsLine,
  sequenceLine,
} from './dump-tables.ts';
import { schemaText } from '../migrations.ts';

export interface DumpOptions {
  readonly url: string;
  readonly version: string;
  /** Called with the number of rows of all tables read so far. */
  readonly onRows: (rows: number) => void;
}

/** Portable value formats; rows hidden by a policy are an error. */
const begin = `begin isolation level repeatable read read only;
  set local search_path = ${safePath}; set local row_security = off; set local statement_timeout = 0;
  set local idle_in_transaction_session_timeout = 0; set local datestyle = 'ISO, YMD';
  set local timezone = 'UTC'; set local intervalstyle = 'postgres'; set local extra_float_digits = 1`;

const head = (version: string, at: Date, migrations: readonly string[]) => [
  firstLine,
  `-- written by musterd ${version} at ${at.toISOString()}`,
  '-- Load it into an empty database: musterd restore <file>, or gunzip --stdout <file> | psql --no-psqlrc <url>',
  ...migrations.map((migration) => `-- migration ${migration}`),
  '\\set ON_ERROR_STOP on',
  'begin;',
  `set local search_path = ${safePath};`,
  "set local client_encoding = 'UTF8';",
  'set local client_min_messages = warning;',
  'set local standard_conforming_strings = on;',
  'set local check_function_bodies = on;',
  'set local statement_timeout = 0;',
];

const text = (lines: readonly string[]) => Buffer.from(`${lines.join('\n')}\n`);

/** @throws MusterdError `mirror` if the schema is not that of this version */
export async function* writeDump({ url, version, onRows }: DumpOptions): AsyncGenerator<Buffer> {
  const connection = readConnectionUrl(url);
  const client = createPostgresClient({
    ...connectionOptions(connection),
    application_name: 'musterd dump',
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
  });
  // The current statement reports the error.
  client.on('error', () => {});
  const orDescribe = (error: unknown) => {
    throw describeStatementError(error, connection.shown);
  };
  const ask: Ask = async <R extends object>(query: string) =>
    (await client.query<R & pg.QueryResultRow>(query).catch(orDescribe)).rows;
  await client.connect().catch((error: unknown) => {
    throw describeConnectError(error, connection.shown);
  });
  try {
    await client.query(begin).catch(orDescribe);
    const applied = await ask<{ name: string; checksum: string | null }>(
      "select name, checksum from sync.migrations where name !~ '^repeatable' order by name",
    );
    const { names, schema } = schemaText(new Map(applied.map(({ name, checksum }) => [name, checksum])));
    const tables = await readDumpTables(ask);
    yield text([...head(version, new Date(), names), schema, rowsLine, ...openTables(tables)]);
    let rows = 0;
    for (const table of tables.filter(({ name }) => !leftOut.has(name))) {
      yield text([copyLine(table)]);
      const stream = client.query(copyTo(`copy ${table.name} (${table.columns}) to stdout`));
      for await (const chunk of stream as AsyncIterable<Buffer>) {
        rows += countLines(chunk);
        onRows(rows);
        yield chunk;
      }
      yield text(['\\.']);
    }
    const sequences = await readDumpSequences(ask);
    yield text([...sequences.map(sequenceLine), ...closeTables(tables), 'commit;', lastLine(rows)]);
  } finally {
    await client.end();
  }
}

/** In this format each row is one line. */
export function countLines(chunk: Buffer): number {
  let count = 0;
  for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) count += 1;
  return count;
}
