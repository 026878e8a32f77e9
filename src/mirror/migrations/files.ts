/** The files of the migrations, with their names and texts. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { MusterdError } from '../../errors.ts';
import { forEachField } from './for-each-field.ts';

export interface MigrationFile {
  /** For example `0001_baseline`, or `repeatable/01_sessions`. */
  readonly name: string;
  readonly text: string;
  readonly checksum: string;
}

/** Numbered files create tables, and are applied once. Repeatable files create all other objects, after each change. */
export interface MigrationFiles {
  readonly numbered: readonly MigrationFile[];
  readonly repeatable: readonly MigrationFile[];
}

const REPEATABLE = 'repeatable';

export function readMigrations(folder: string): MigrationFiles {
  const numbered = readFolder(folder, '');
  return { numbered, repeatable: existsSync(join(folder, REPEATABLE)) ? readFolder(folder, REPEATABLE) : [] };
}

function readFolder(folder: string, subfolder: string): readonly MigrationFile[] {
  let names: readonly string[];
  try {
    names = readdirSync(join(folder, subfolder)).filter((name) => name.endsWith('.sql'));
  } catch (error) {
    throw new MusterdError('mirror', `The migrations are missing: ${folder}.`, { cause: error });
  }
  return names.toSorted().map((name) => {
    if (!/^\d{2,4}_[a-z0-9_]+\.sql$/.test(name)) {
      throw new MusterdError('mirror', `The migration ${name} must be named like 0001_name.sql.`);
    }
    // A checkout on Windows may have other line ends, which do not count as a change.
    const file = readFileSync(join(folder, subfolder, name), 'utf8').replaceAll('\r\n', '\n');
    const text = subfolder === REPEATABLE ? forEachField(file) : file;
    const checksum = createHash('sha256').update(text).digest('hex');
    return { name: posix.join(subfolder, name.slice(0, -'.sql'.length)), text, checksum };
  });
}
