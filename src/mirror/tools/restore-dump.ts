/**
 * Loads a dump into an empty database, in one transaction. No SQL of the file is executed: the schema comes from our own
 * migrations, and only rows of its tables and values of its sequences are read.
 */
import { Readable } from 'node:stream';
import { CompiledQuery, sql } from 'kysely';
import { MusterdError } from '../../errors.ts';
import type { Database, Transaction } from '../db/database.ts';
import { sqlState } from '../db/database-errors.ts';
import { countLines } from './write-dump.ts';
import { createDumpReader, type DumpReader } from './dump-reader.ts';
import {
  type Ask,
  closeTables,
  copyLine,
  firstLine,
  lastLine,
  openTables,
  readDumpSequences,
  readDumpTables,
  rowsLine,
} from './dump-tables.ts';
import { noteRestored } from '../team/known-place.ts';
import { makeSchemaOf, migrateWithin, replaceNumbers, unlessOvertaken } from '../migrations.ts';

export interface RestoreOptions {
  /** Opens the file from its beginning, because the transaction may be repeated. */
  readonly open: () => AsyncIterable<Buffer>;
  /** Called with the number of rows read so far. */
  readonly onRows: (rows: number) => void;
}

export interface Restored {
  readonly rows: number;
  readonly tables: number;
}

/** @throws MusterdError `usage` if the file is not a complete dump, `mirror` if the database is not empty */
export async function restoreDump(db: Database, { open, onRows }: RestoreOptions): Promise<Restored> {
  const terms = { statementTimeoutMs: 0, lockTimeoutMs: 60_000 };
  const restore = async (tx: Transaction) => {
    const chunks = open()[Symbol.asyncIterator]();
    let failure: Error | undefined;
    const next = async () =>
      chunks.next().catch((error: unknown) => {
        failure = unusable(
          `cannot be read to its end (${error instanceof Error ? error.message : String(error)})`,
        );
        throw failure;
      });
    try {
      const reader = createDumpReader({ next }, () => (failure = cut()));
      return await restoreFrom(tx, reader, onRows);
    } catch (error) {
      // A COPY that ends early has its own error.
      throw failure ?? describeRefused(error);
    } finally {
      await chunks.return?.();
    }
  };
  return unlessOvertaken(() => db.transaction(restore, terms));
}

/** The SQLSTATEs of values that are out of range, malformed, or forbidden by a constraint. */
const refused = /^2[23]/;

const describeRefused = (error: unknown): unknown =>
  error instanceof Error && refused.test(sqlState(error) ?? '')
    ? unusable(`has values that its tables do not accept: ${error.message}`, error)
    : error;

const unusable = (what: string, cause?: Error) =>
  new MusterdError('usage', `The file ${what}`, {
    cause,
    hint: 'Nothing was restored. Take a file that "musterd dump" has written, from its first byte to its last.',
  });

async function restoreFrom(
  tx: Transaction,
  reader: DumpReader,
  onRows: (rows: number) => void,
): Promise<Restored> {
  const applied = await readHead(reader);
  await requireEmpty(tx);
  await makeSchemaOf(tx, applied);
  const run = async (text: string) => tx.executeQuery(CompiledQuery.raw(text));
  const ask: Ask = async <R extends object>(text: string) =>
    (await tx.executeQuery<R>(CompiledQuery.raw(text))).rows;
  const tables = await readDumpTables(ask);
  for (const statement of openTables(tables)) await run(statement);
  const restored = await readRows(tx, reader, ask, onRows);
  for (const statement of closeTables(tables)) await run(statement);
  await replaceNumbers(tx);
  await migrateWithin(tx);
  await noteRestored(tx);
  // A migration may have put a table in the place of another.
  for (const { name } of await readDumpTables(ask)) await run(`analyze ${name}`);
  return restored;
}

/** @returns the migrations of the dump with their checksums */
async function readHead(reader: DumpReader): Promise<ReadonlyMap<string, string>> {
  const first = await reader.line();
  if (first !== firstLine) {
    if (first?.startsWith('-- musterd dump ') === true)
      throw new MusterdError('usage', 'The file was written by a newer musterd', { hint: 'Update musterd.' });
    throw unusable('is not a dump of musterd');
  }
  const applied = new Map<string, string>();
  for (;;) {
    const line = await reader.line();
    if (line === null) throw cut();
    const [, name, checksum] = /^-- migration (\d{4}_[a-z0-9_]+) ([0-9a-f]{64})$/.exec(line) ?? [];
    if (name !== undefined && checksum !== undefined) applied.set(name, checksum);
    if (line === rowsLine) return applied;
  }
}

const cut = () => unusable('is cut off: its last line is missing');

async function requireEmpty(tx: Transaction): Promise<void> {
  const { rows } = await sql<{ name: string }>`
    select quote_ident(n.nspname) || '.' || quote_ident(c.relname) as name
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_' and c.relkind in ('r', 'v', 'm', 'p', 'f', 'S')
       and not exists (select from pg_depend d
                        where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
    union all
    select 'the schema ' || nspname from pg_namespace where nspname in ('mirror', 'sync', 'report')
     order by 1`.execute(tx);
  const [any] = rows;
  if (any === undefined) return;
  const more = rows.length === 1 ? '' : ` and ${rows.length - 1} more`;
  throw new MusterdError('mirror', `The database is not empty: it has ${any.name}${more}`, {
    hint: 'A dump is loaded only into an empty database, so that it replaces nothing. Create one and name it in DATABASE_URL; for the embedded Postgres give MUSTERD_DATA_DIR a new folder.',
  });
}

const sequencePattern = /^select pg_catalog\.setval\('([\w."]+)', (\d{1,19}), (true|false)\);$/;

/** Reads everything after the head. Anything that does not belong there means that the file was changed. */
async function readRows(
  tx: Transaction,
  reader: DumpReader,
  ask: Ask,
  onRows: (rows: number) => void,
): Promise<Restored> {
  const tables = await readDumpTables(ask);
  const expected = new Set(tables.map(copyLine));
  const allowedLines = new Set([...openTables(tables), ...closeTables(tables), 'commit;']);
  const sequences = new Set((await readDumpSequences(ask)).map(({ name }) => name));
  let rows = 0;
  let filled = 0;
  const counted = async function* () {
    for await (const chunk of reader.rows()) {
      rows += countLines(chunk);
      onRows(rows);
      yield chunk;
    }
  };
  for (;;) {
    const line = await reader.line();
    if (line === null) throw cut();
    const [, sequence, value, isCalled] = sequencePattern.exec(line) ?? [];
    if (expected.delete(line)) {
      const copy = line.slice(0, -1);
      await tx.executeQuery(CompiledQuery.raw(copy, [Readable.from(counted(), { objectMode: false })]));
      filled += 1;
    } else if (sequence !== undefined && sequences.has(sequence))
      await sql`select setval(${sequence}::regclass, ${value}::bigint, ${isCalled === 'true'})`.execute(tx);
    else if (line === lastLine(rows)) break;
    else if (!allowedLines.has(line)) throw unusable(`has a line that no dump has: ${line.slice(0, 60)}`);
  }
  if ((await reader.line()) !== null) throw unusable('goes on after its last line');
  return { rows, tables: filled };
}
