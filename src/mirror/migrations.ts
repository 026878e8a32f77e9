import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import { MusterdError } from '../errors.ts';
import type { Database, Transaction } from './db/database.ts';
import { sqlState } from './db/database-errors.ts';
import { isThere, missingOf, readApplied } from './migrations/applied.ts';
import { applyNumbered, applyRepeatable, runFiles } from './migrations/apply.ts';
import { type MigrationFiles, readMigrations } from './migrations/files.ts';
import { droppingMigration, type KeepRequests, requireNoOpenRequests } from './migrations/open-requests.ts';
import { rolesWithoutRights } from './db/roles-for-people.ts';

export interface MigrateOptions {
  /** The folder of the `.sql` files; musterd's own by default. */
  readonly folder?: string;
  /** Saves the open requests that a migration drops. Required if requests are open. */
  readonly keepRequests?: KeepRequests | undefined;
}

/** The folder `migrations`, which is next to src in a checkout, and next to dist in the package. */
const FOLDER = fileURLToPath(new URL('../../migrations', import.meta.url));
let own: MigrationFiles | undefined;
/** Reads the files once per process, because each run needs them. Updated files take effect in the next process. */
const ownMigrations = (): MigrationFiles => (own ??= readMigrations(FOLDER));
/** Returns a function that is true for names in these files. Objects with other names were created by other people. */
export function createIsOurs(): (name: string) => boolean {
  const { numbered, repeatable } = ownMigrations();
  const told = /--.*|\bis '(?:[^']|'')*'/g;
  const words = new Set(
    [...numbered, ...repeatable].flatMap(({ text }) => text.replaceAll(told, '').match(/\w+/g) ?? []),
  );
  return (name) => words.has(name);
}
const migrationsIn = (folder: string | undefined) =>
  folder === undefined ? ownMigrations() : readMigrations(folder);
/** A statement may take any time, as it may build a large index. Waiting for a lock may not. */
const LIMITS = { statementTimeoutMs: 0, lockTimeoutMs: 60_000 };

/**
 * Migrates the schema to this version in one transaction: either all missing and changed files are applied, or none. If
 * several processes migrate, one of them applies the files, and all other processes wait. Roles that were created
 * for people since then get their rights. Throws `MusterdError('mirror')`, with file and line, if a statement fails;
 * if the database has migrations that this version does not know;
 * or if a numbered file was changed after it was applied.
 */
export async function migrate(db: Database, options: MigrateOptions = {}): Promise<{ applied: string[] }> {
  const files = migrationsIn(options.folder);
  const migrateAll = () =>
    db.transaction(async (tx) => {
      if (await isThere(tx)) await sql`lock table sync.migrations in share row exclusive mode`.execute(tx);
      return { applied: await migrateWithin(tx, files, options.keepRequests) };
    }, LIMITS);
  try {
    // The lock is on a table, because any role can take an advisory lock. It is taken only if there is work to do.
    const isDone = missingOf(files, await readApplied(db.kysely)).length === 0;
    if (isDone && (await rolesWithoutRights(db.kysely)).length === 0) return { applied: [] };
    return await unlessOvertaken(migrateAll);
  } catch (error) {
    return explain(error);
  }
}

/**
 * Tries again if another process was faster. If several processes create the schema at once, one of them succeeds. Each
 * other process waits for it, gets an error that an object exists, and finds the schema when it tries again.
 */
export const unlessOvertaken = <T>(make: () => Promise<T>, tries = 3): Promise<T> =>
  make().catch((error: unknown) => {
    if (tries === 1 || !['23505', '42710', '42P06', '42P07'].includes(sqlState(error) ?? '')) throw error;
    return unlessOvertaken(make, tries - 1);
  });

async function migrateWithin(
  tx: Transaction,
  files: MigrationFiles,
  keepRequests: KeepRequests | undefined,
): Promise<string[]> {
  const applied = await readApplied(tx);
  const missing = missingOf(files, applied);
  if (missing.includes(droppingMigration)) await requireNoOpenRequests(tx, keepRequests);
  await applyNumbered(tx, files.numbered);
  if (missing.length > 0) await applyRepeatable(tx, files.repeatable);
  // Roles for people that were created after the last migration get their rights. Only the schema's owner may grant them.
  else if ((await rolesWithoutRights(tx)).length > 0)
    await runFiles(
      tx,
      files.repeatable.filter(({ name }) => name.endsWith('_rights')),
    );
  return missing;
}

/** The names of the migrations that `migrate` would apply. Writes nothing; throws as `migrate` does. */
export async function pendingMigrations(db: Database, options: MigrateOptions = {}): Promise<string[]> {
  return missingOf(migrationsIn(options.folder), await readApplied(db.kysely).catch(explain));
}

function explain(error: unknown): never {
  if (error instanceof MusterdError || sqlState(error) === undefined) throw error;
  const message = `The schema cannot be migrated: ${(error as Error).message}`;
  if (sqlState(error) !== '42501')
    throw new MusterdError('mirror', message, { hint: 'Nothing was changed.', cause: error });
  const hint =
    'The role in DATABASE_URL has to own the schemas mirror, sync and report, or be allowed to create them: grant create on database … to …';
  throw new MusterdError('denied', message, { hint, cause: error });
}
