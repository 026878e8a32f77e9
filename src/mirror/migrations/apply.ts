/** Runs the files within a transaction and records them as applied. */
import { CompiledQuery, sql } from 'kysely';
import { MusterdError } from '../../errors.ts';
import { toJson } from '../../model/json.ts';
import type { Transaction } from '../db/database.ts';
import { isThere, readApplied } from './applied.ts';
import type { MigrationFile } from './files.ts';

export async function applyNumbered(tx: Transaction, files: readonly MigrationFile[]): Promise<void> {
  await sql`create schema if not exists sync`.execute(tx);
  if (!(await isThere(tx))) await tx.executeQuery(CompiledQuery.raw(TABLES));
  const { numbered } = await readApplied(tx);
  const missing = files.filter(({ name }) => !numbered.has(name));
  for (const file of missing) await runFile(tx, file);
  await noteApplied(tx, missing);
}

/** Records files as applied. The checksum of a repeatable file is added to the checksums of its earlier texts. */
async function noteApplied(tx: Transaction, files: readonly MigrationFile[]): Promise<void> {
  const applied = toJson(files.map(({ name, checksum }) => ({ name, checksum })));
  await sql`
    insert into sync.migrations as m (name, timestamp, checksum)
    select f.name, ${new Date().toISOString()}, f.checksum
    from jsonb_to_recordset(${applied}::jsonb) as f (name text, checksum text)
    on conflict (name) do update set timestamp = excluded.timestamp, checksum = concat_ws(' ', m.checksum, excluded.checksum)
    where right(m.checksum, 64) is distinct from excluded.checksum`.execute(tx);
}

/** Applies all repeatable files in order, because they use each other's objects, and new tables need their policies. */
export async function applyRepeatable(tx: Transaction, files: readonly MigrationFile[]): Promise<void> {
  if (files.length === 0) return;
  await runFiles(tx, files);
  await noteApplied(tx, files);
}

export async function runFiles(tx: Transaction, files: readonly MigrationFile[]): Promise<void> {
  await tx.executeQuery(CompiledQuery.raw(UNCHECKED));
  for (const file of files) await runFile(tx, file);
}

/** Creates the table of applied files, as 0.1.0 did, and a second table that is no longer used. */
const TABLES = `
create table sync.migrations (name varchar(255) not null primary key, timestamp varchar(255) not null, checksum text);
create table sync.migration_lock (id varchar(255) not null primary key, is_locked integer default 0 not null);
`;

/** Lets a function be created although its body names objects that only a later file creates. */
const UNCHECKED = 'set local check_function_bodies = off;';

async function runFile(tx: Transaction, file: MigrationFile): Promise<void> {
  try {
    await tx.executeQuery(CompiledQuery.raw(file.text));
  } catch (error) {
    throw describeFailure(file, error);
  }
}

/** SQLSTATEs of deadlocks and timeouts. They are reported without a line, because the file did not cause them. */
const OF_THE_MOMENT = new Set(['40001', '40P01', '55P03', '57014']);

function describeFailure(file: MigrationFile, error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error) || OF_THE_MOMENT.has(String(error.code))) return error;
  if (error instanceof MusterdError) return error;
  const position = 'position' in error ? Number(error.position) : Number.NaN;
  // Postgres counts characters from 1. Errors in a function's body have a position within it, not within the file.
  const line =
    Array.from(file.text)
      .slice(0, position - 1)
      .filter((character) => character === '\n').length + 1;
  const place = Number.isInteger(position) ? `${file.name}.sql:${line}` : `${file.name}.sql`;
  const detail = ['detail', 'hint', 'where'].map((key) => Reflect.get(error, key)).filter(Boolean);
  return new MusterdError(
    'mirror',
    `Migration failed at ${place}: ${[error.message, ...detail].join('; ')}`,
    {
      hint: 'Nothing of this migration was applied.',
      cause: error,
    },
  );
}
