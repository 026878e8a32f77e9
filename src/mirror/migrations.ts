import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CompiledQuery, sql } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import { MusterdError } from '../errors.ts';
import type { Database, Queryable, Transaction } from './database.ts';
import { sqlState } from './database-errors.ts';
import { grantMissingRights, rolesWithoutRights } from './roles-for-people.ts';

export interface MigrateOptions {
  /** The folder of the numbered `.sql` files; musterd's own by default. */
  readonly folder?: string;
}

interface MigrationFile {
  /** Such as `0001_mirror`. */
  readonly name: string;
  readonly text: string;
  readonly checksum: string;
}

/** Beside src in a checkout, beside dist in the package. */
const FOLDER = fileURLToPath(new URL('../../migrations', import.meta.url));
/** A large index may take long; waiting for a lock should not. */
const LIMITS = { statementTimeoutMs: 0, lockTimeoutMs: 60_000 };

/**
 * Migrates the schema to this version in one transaction: all missing files, or nothing. One of
 * several processes applies them and the others wait. Roles for people that were created later get their
 * rights. Throws `MusterdError('mirror')`, with file and line, if a statement fails;
 * if the database has migrations that this version does not know;
 * or if a file was changed after it was applied.
 */
export async function migrate(db: Database, options: MigrateOptions = {}): Promise<{ applied: string[] }> {
  const files = readMigrations(options.folder ?? FOLDER);
  const migrateAll = () =>
    db.transaction(async (tx) => {
      if (await isThere(tx)) await sql`lock table sync.migrations in share row exclusive mode`.execute(tx);
      return { applied: await migrateWithin(tx, files) };
    }, LIMITS);
  try {
    // A lock is taken on what needs a right, and only where there is something to do: anybody may take an advisory lock.
    const isDone = missingOf(files, await readApplied(db.kysely)).length === 0;
    if (isDone && (await rolesWithoutRights(db.kysely)).length === 0) return { applied: [] };
    return await unlessOvertaken(migrateAll);
  } catch (error) {
    return explain(error);
  }
}

/**
 * Of several that make the schema at once, one makes it. The others wait for it, are told that it is there already, and
 * find that when they look once more.
 */
export const unlessOvertaken = <T>(make: () => Promise<T>, tries = 3): Promise<T> =>
  make().catch((error: unknown) => {
    if (tries === 1 || !['23505', '42P06', '42P07'].includes(sqlState(error) ?? '')) throw error;
    return unlessOvertaken(make, tries - 1);
  });

/** As `migrate`, in a running transaction that nobody else disturbs. */
export async function migrateWithin(tx: Transaction, files = readMigrations(FOLDER)): Promise<string[]> {
  compare(files, await readApplied(tx));
  const applied = await apply(tx, files);
  for (const { name, checksum } of files.filter((file) => applied.includes(file.name))) {
    await tx.updateTable('sync.migrations').set({ checksum }).where('name', '=', name).execute();
  }
  await grantMissingRights(tx);
  return applied;
}

/** Applies these migrations to an empty database. @throws MusterdError for an unknown one */
export async function makeSchemaOf(
  tx: Transaction,
  applied: ReadonlyMap<string, string | null>,
): Promise<void> {
  const files = readMigrations(FOLDER);
  compare(files, applied);
  await apply(
    tx,
    files.filter(({ name }) => applied.has(name)),
  );
}

/** SQL that creates the same schema without musterd, including the applied migrations and their checksums. */
export function schemaText(applied: ReadonlyMap<string, string | null>): {
  readonly names: readonly string[];
  readonly schema: string;
} {
  const files = readMigrations(FOLDER);
  compare(files, applied);
  const made = files.filter(({ name }) => applied.has(name));
  const texts = [`create schema sync;${MIGRATOR_TABLES}`, TABLES, ...made.map(({ text }) => text)];
  return {
    names: made.map(({ name, checksum }) => `${name} ${checksum}`),
    // One may end in a comment, or without a semicolon.
    schema: texts.map((text) => `${text.trim()}\n;`).join('\n'),
  };
}

/** The names of the migrations that `migrate` would apply. Writes nothing; throws as `migrate` does. */
export async function pendingMigrations(db: Database, options: MigrateOptions = {}): Promise<string[]> {
  const files = readMigrations(options.folder ?? FOLDER);
  return missingOf(files, await readApplied(db.kysely).catch(explain));
}

function missingOf(files: readonly MigrationFile[], applied: ReadonlyMap<string, string | null>): string[] {
  compare(files, applied);
  return files.map(({ name }) => name).filter((name) => !applied.has(name));
}

function explain(error: unknown): never {
  if (error instanceof MusterdError || sqlState(error) === undefined) throw error;
  const words = error instanceof Error ? error.message : '';
  throw new MusterdError('mirror', `The schema cannot be looked after: ${words}`, {
    hint:
      sqlState(error) === '42501'
        ? 'The role in DATABASE_URL has to own the schemas mirror, sync and report, or be allowed to create them: grant create on database … to …'
        : 'Nothing was changed.',
    cause: error,
  });
}

function readMigrations(folder: string): readonly MigrationFile[] {
  let names: readonly string[];
  try {
    names = readdirSync(folder).filter((name) => name.endsWith('.sql'));
  } catch (error) {
    throw new MusterdError('mirror', `The migrations are missing: ${folder}.`, { cause: error });
  }
  return names.toSorted().map((name) => {
    if (!/^\d{4}_[a-z0-9_]+\.sql$/.test(name)) {
      throw new MusterdError(
        'mirror',
        `${name} is no name for a migration; it has to be like 0001_name.sql.`,
      );
    }
    // A checkout on Windows may have other line ends, which do not count as a change.
    const text = readFileSync(join(folder, name), 'utf8').replaceAll('\r\n', '\n');
    const checksum = createHash('sha256').update(text).digest('hex');
    return { name: name.slice(0, -'.sql'.length), text, checksum };
  });
}

async function isThere(db: Queryable): Promise<boolean> {
  const { rows } = await sql<{ there: boolean }>`
    select to_regclass('sync.migrations') is not null as there`.execute(db);
  return rows[0]?.there === true;
}

/** Names and checksums of applied migrations; empty if none was ever applied. */
async function readApplied(db: Queryable): Promise<ReadonlyMap<string, string | null>> {
  if (!(await isThere(db))) return new Map();
  const rows = await db.selectFrom('sync.migrations').select(['name', 'checksum']).orderBy('name').execute();
  return new Map(rows.map(({ name, checksum }) => [name, checksum]));
}

function compare(files: readonly MigrationFile[], applied: ReadonlyMap<string, string | null>): void {
  const known = new Map(files.map((file) => [file.name, file]));
  const foreign = [...applied.keys()].filter((name) => !known.has(name));
  if (foreign.length > 0) {
    throw new MusterdError('mirror', `The schema is newer than this musterd: it has ${foreign.join(', ')}.`, {
      hint: 'Update musterd. There is no way back for a schema, except a backup.',
    });
  }
  const changed = files.find(({ name, checksum }) => (applied.get(name) ?? checksum) !== checksum);
  if (changed !== undefined) {
    throw new MusterdError('mirror', `The migration ${changed.name} was changed after it was applied.`, {
      hint: 'Put the file back as it was, and make the change in a new migration.',
    });
  }
}

async function apply(tx: Transaction, files: readonly MigrationFile[]): Promise<string[]> {
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
  if (error === undefined) return results.map(({ migrationName }) => migrationName);
  const words = error instanceof Error ? error.message : '';
  // A temporary error of Postgres is passed on, so that the transaction is repeated.
  throw words.startsWith('corrupted migrations')
    ? new MusterdError('mirror', `The list of applied migrations does not fit: ${words}`, { cause: error })
    : error;
}

/** The tables as the Migrator creates them. */
const MIGRATOR_TABLES = `
create table sync.migrations (name varchar(255) not null primary key, timestamp varchar(255) not null);
create table sync.migration_lock (id varchar(255) not null primary key, is_locked integer default 0 not null);
`;

/** Comments and checksums for them. */
const TABLES = `
alter table sync.migrations add column checksum text;
comment on table sync.migrations is 'The migrations that were applied, in their order. Written by musterd migrate.';
comment on column sync.migrations.name is 'The file, without .sql.';
comment on column sync.migrations.timestamp is 'When it was applied.';
comment on column sync.migrations.checksum is 'SHA-256 of the file, to see that it was not changed afterwards.';
comment on table sync.migration_lock is 'Belongs to the migrator, which wants it; what is locked is sync.migrations.';
comment on column sync.migration_lock.id is 'The one row''s name.';
comment on column sync.migration_lock.is_locked is 'Not used with Postgres.';
`;

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
