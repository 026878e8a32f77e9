import { sql } from 'kysely';
import type { Database } from '../../src/mirror/db/database.ts';
import { DEFINITION, readCatalogs, SCHEMAS } from './read-catalogs.ts';

/** The schema as text for people and for diffs, so that a change to it is seen in review whatever SQL made it. */
export async function dumpSchema(db: Database): Promise<string> {
  const sections = (await readCatalogs(db.kysely)).map(({ lines }) => lines.join('\n'));
  return `${sections.join('\n\n')}\n`;
}

/** What every version of Postgres writes alike. */
export function withoutDefinitions(dump: string): string {
  return dump
    .split('\n')
    .filter((line) => !line.startsWith(DEFINITION))
    .join('\n');
}

/** Schemas, tables, views, columns, functions and types without a COMMENT. */
export async function uncommented(db: Database): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select 'schema ' || nspname as name from pg_namespace
     where nspname = any(${SCHEMAS}) and obj_description(oid, 'pg_namespace') is null
    union all
    select c.oid::regclass::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = any(${SCHEMAS}) and c.relkind in ('r', 'p', 'v', 'm')
       and obj_description(c.oid, 'pg_class') is null
    union all
    select c.oid::regclass::text || '.' || a.attname
      from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
     where n.nspname = any(${SCHEMAS}) and c.relkind in ('r', 'p', 'v', 'm') and a.attnum > 0 and not a.attisdropped
       and col_description(c.oid, a.attnum) is null
    union all
    select 'function ' || p.oid::regprocedure::text from pg_proc p join pg_namespace n on n.oid = p.pronamespace
     where n.nspname = any(${SCHEMAS}) and obj_description(p.oid, 'pg_proc') is null
    order by 1`.execute(db.kysely);
  return rows.map(({ name }) => name);
}
