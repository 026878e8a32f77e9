/** Runs the files within a transaction and records them as applied. */
import { CompiledQuery, sql } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import { MusterdError } from '../../errors.ts';
import type { Transaction } from '../db/database.ts';
import { isThere } from './applied.ts';
import type { MigrationFile } from './files.ts';

export async function applyNumbered(tx: Transaction, files: readonly MigrationFile[]): Promise<void> {
  await sql`create schema if not exists sync`.execute(tx);
  const migrator = new Migrator({
    db: tx,
    provider: {
      getMigrations: async () => Object.fromEntries(files.map((file) => [file.name, toMigration(file)])),
    },
    migrationTableSchema: 'sync',
    migrationTableName: 'migrations',
    migrationLockTableName: 'migration_lock',
    // Kysely would sort by the machine's locale.
    nameComparator: (left, right) => (left < right ? -1 : Number(left > right)),
  });
  if (!(await isThere(tx))) await tx.executeQuery(CompiledQuery.raw(`${MIGRATOR_TABLES}${TABLES}`));
  const { error, results = [] } = await migrator.migrateToLatest();
  if (error !== undefined) {
    const words = error instanceof Error ? error.message : '';
    // A temporary error of Postgres is passed on, so that the transaction is repeated.
    throw words.startsWith('corrupted migrations')
      ? new MusterdError('mirror', `The list of applied migrations does not match: ${words}`, {
          cause: error,
        })
      : error;
  }
  const applied = new Set(results.map(({ migrationName }) => migrationName));
  for (const { name, checksum } of files.filter((file) => applied.has(file.name)))
    await tx.updateTable('sync.migrations').set({ checksum }).where('name', '=', name).execute();
}

/** Applies all of them in order, because one may use what another makes, and new tables need their policies. */
export async function applyRepeatable(tx: Transaction, files: readonly MigrationFile[]): Promise<void> {
  if (files.length === 0) return;
  await runFiles(tx, files);
  await tx.executeQuery(CompiledQuery.raw(REPEATABLES));
  const texts = JSON.stringify(files.map(({ name, checksum }) => ({ name, checksum })));
  await sql`
    insert into sync.repeatables (name, checksum, applied_nr)
    select f.name, f.checksum, (select coalesce(max(r.applied_nr), 0) + 1 from sync.repeatables r)
    from jsonb_to_recordset(${texts}::jsonb) as f (name text, checksum text)
    on conflict do nothing`.execute(tx);
}

export async function runFiles(tx: Transaction, files: readonly MigrationFile[]): Promise<void> {
  await tx.executeQuery(CompiledQuery.raw(UNCHECKED));
  for (const file of files) await toMigration(file).up(tx);
}

/** The tables as the Migrator creates them. */
export const MIGRATOR_TABLES = `
create table sync.migrations (name varchar(255) not null primary key, timestamp varchar(255) not null);
create table sync.migration_lock (id varchar(255) not null primary key, is_locked integer default 0 not null);
`;

/** Adds comments and checksums to them. */
export const TABLES = `
alter table sync.migrations add column checksum text;
comment on table sync.migrations is 'The migrations that were applied, in their order. Written by musterd migrate.';
comment on column sync.migrations.name is 'The file, without .sql.';
comment on column sync.migrations.timestamp is 'When it was applied.';
comment on column sync.migrations.checksum is 'SHA-256 of the file, to see that it was not changed afterwards.';
comment on table sync.migration_lock is 'Belongs to the migrator, which wants it; what is locked is sync.migrations.';
comment on column sync.migration_lock.id is 'The one row''s name.';
comment on column sync.migration_lock.is_locked is 'Not used with Postgres.';
`;

/** The table of all texts of repeatable files that the database has had. It is not dumped: loading a dump writes its own. */
export const REPEATABLES = `
create table if not exists sync.repeatables (
  name       text not null,
  checksum   text not null,
  applied_nr integer not null,
  constraint repeatables_pkey primary key (name, checksum)
);
comment on table sync.repeatables is 'Every text of a repeatable migration that was applied; the one with the highest number is there now. Written by musterd migrate.';
comment on column sync.repeatables.name is 'The file, without .sql.';
comment on column sync.repeatables.checksum is 'SHA-256 of the file.';
comment on column sync.repeatables.applied_nr is 'Number of the text, in the order in which they were applied.';
`;

/** Bodies of functions may name what a later file makes. */
export const UNCHECKED = 'set local check_function_bodies = off;';

function toMigration(file: MigrationFile): Migration {
  return {
    up: async (db) => {
      try {
        await db.executeQuery(CompiledQuery.raw(file.text));
      } catch (error) {
        throw describeFailure(file, error);
      }
    },
  };
}

/** Deadlocks and lock timeouts are not the file's fault. */
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
      hint: 'Nothing of it was applied.',
      cause: error,
    },
  );
}
