/** Reads the files that were applied to a database, and finds missing ones. */
import { sql } from 'kysely';
import { MusterdError } from '../../errors.ts';
import type { Queryable } from '../db/database.ts';
import type { MigrationFiles } from './files.ts';

export interface AppliedFiles {
  /** The checksums of numbered files, by name. */
  readonly numbered: ReadonlyMap<string, string | null>;
  /** The checksums of all texts of repeatable files, by name. The last checksum belongs to the text in the database. */
  readonly repeatable: ReadonlyMap<string, readonly string[]>;
}

export function missingOf(files: MigrationFiles, applied: AppliedFiles): string[] {
  requireKnown(files, applied);
  const { numbered, repeatable } = applied;
  return [
    ...files.numbered.filter(({ name }) => !numbered.has(name)),
    ...files.repeatable.filter(({ name, checksum }) => repeatable.get(name)?.at(-1) !== checksum),
  ].map(({ name }) => name);
}

export async function isThere(db: Queryable): Promise<boolean> {
  const { rows } = await sql<{ there: boolean }>`
    select to_regclass('sync.migrations') is not null as there`.execute(db);
  return rows[0]?.there === true;
}

/** Reads the applied files. The result is empty for a new database. */
export async function readApplied(db: Queryable): Promise<AppliedFiles> {
  const rows = (await isThere(db))
    ? await db.selectFrom('sync.migrations').select(['name', 'checksum']).orderBy('name').execute()
    : [];
  const { numbered = [], repeatable = [] } = Object.groupBy(rows, ({ name }) =>
    /^\d/.test(name) ? 'numbered' : 'repeatable',
  );
  return {
    numbered: new Map(numbered.map(({ name, checksum }) => [name, checksum])),
    repeatable: new Map(repeatable.map(({ name, checksum }) => [name, checksum?.split(' ') ?? []])),
  };
}

const newer = (what: string) =>
  new MusterdError('mirror', `The schema is newer than this musterd: it has ${what}.`, {
    hint: 'Update musterd. To go back to an older schema, restore a backup.',
  });

function requireKnown(files: MigrationFiles, applied: AppliedFiles): void {
  if (applied.numbered.has('0001_mirror')) {
    throw new MusterdError(
      'mirror',
      `The schema was made by a musterd before 0.1.0: its last migration is ${[...applied.numbered.keys()].at(-1)}.`,
      {
        hint: 'Nothing was changed. Dump this database with the musterd that made it, restore the dump into an empty database with musterd 0.1.0, and migrate that.',
      },
    );
  }
  const knownFiles = new Map(files.numbered.map((file) => [file.name, file]));
  const foreign = [...applied.numbered.keys()].filter((name) => !knownFiles.has(name));
  if (foreign.length > 0) throw newer(foreign.join(', '));
  const last = [...applied.numbered.keys()].at(-1) ?? '';
  const late = files.numbered.find(({ name }) => name < last && !applied.numbered.has(name));
  if (late !== undefined)
    throw new MusterdError('mirror', `The migration ${late.name} comes before ${last}, which was applied.`, {
      hint: `Give the migration a number above ${last}.`,
    });
  const changed = files.numbered.find(
    ({ name, checksum }) => (applied.numbered.get(name) ?? checksum) !== checksum,
  );
  if (changed !== undefined) {
    throw new MusterdError('mirror', `The migration ${changed.name} was changed after it was applied.`, {
      hint: 'Restore the file, and make the change in a new migration.',
    });
  }
  // If this text of the file is an earlier one than the database has now, the program is older than the database.
  const overtaken = files.repeatable.find(({ name, checksum }) => {
    const texts = applied.repeatable.get(name);
    return texts !== undefined && texts.at(-1) !== checksum && texts.includes(checksum);
  });
  if (overtaken !== undefined) throw newer(`a newer text of ${overtaken.name}`);
}
