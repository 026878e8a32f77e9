import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import type { Database } from '../../src/mirror/db/database.ts';

interface Column {
  readonly relation: string;
  readonly name: string;
  readonly type: string;
  readonly is_nullable: boolean;
  readonly has_default: boolean;
  /** Postgres writes it, and nobody else may. */
  readonly is_generated: boolean;
  /** The values that a check constraint allows, as Postgres writes the constraint. */
  readonly allowed: string | null;
}

/** What the type parsers of `src/mirror/db/database-pool.ts` make of a value. */
const parsed: Readonly<Record<string, string>> = {
  bigint: 'bigint',
  'bigint[]': 'readonly bigint[]',
  boolean: 'boolean',
  'character varying': 'string',
  date: 'string',
  'double precision': 'number',
  integer: 'number',
  // An object of pg's own, which nothing of musterd reads.
  interval: 'unknown',
  jsonb: 'unknown',
  bytea: 'Buffer',
  name: 'string',
  pg_snapshot: 'string',
  text: 'string',
  'text[]': 'readonly string[]',
  'timestamp with time zone': 'Date',
  uuid: 'string',
  xid8: 'string',
};

const src = fileURLToPath(new URL('../../src/', import.meta.url));

/** The tables and views that the code names in quotes, as Kysely and `Row` take them. */
function namedRelations(): ReadonlySet<string> {
  const files = globSync('**/*.ts', { cwd: src }).filter((file) => file !== 'mirror/db/schema.ts');
  const names = files.flatMap((file) =>
    Array.from(
      readFileSync(`${src}${file}`, 'utf8').matchAll(/'((?:mirror|sync|report)\.\w+)'/g),
      ([, name = '']) => name,
    ),
  );
  return new Set(names);
}

/** The tables and views that the code names as TypeScript, made from the catalogs. */
export async function schemaTypes(db: Database): Promise<string> {
  const { rows } = await sql<Column>`
    select n.nspname || '.' || c.relname as relation, a.attname as name, format_type(a.atttypid, null) as type,
           not a.attnotnull as is_nullable, a.atthasdef or a.attidentity <> '' as has_default,
           a.attidentity = 'a' or a.attgenerated <> '' as is_generated,
           (select max(substring(pg_get_constraintdef(k.oid) from '^CHECK \\(\\(\\w+ = ANY \\(ARRAY\\[(.*)\\]\\)\\)\\)$'))
              from pg_constraint k where k.conrelid = c.oid and k.contype = 'c' and k.conkey = array[a.attnum]) as allowed
      from pg_class c
      join pg_namespace n on n.oid = c.relnamespace
      join pg_attribute a on a.attrelid = c.oid
     where n.nspname in ('mirror', 'sync', 'report') and c.relkind in ('r', 'p', 'v', 'm')
       and a.attnum > 0 and not a.attisdropped
     order by array_position('{mirror,sync,report}', n.nspname::text), c.relname collate "C", a.attnum`.execute(
    db.kysely,
  );
  const named = namedRelations();
  const relations = Map.groupBy(
    rows.filter(({ relation }) => named.has(relation)),
    ({ relation }) => relation,
  );
  const members = [...relations].map(([relation, columns]) =>
    [`  '${relation}': {`, ...columns.map((column) => `    ${column.name}: ${typeOf(column)};`), '  };'].join(
      '\n',
    ),
  );
  return `/** This file is generated from the catalogs: see "Adding a migration" in CONTRIBUTING.md. */
import type { ColumnType, Generated, GeneratedAlways } from 'kysely';

/** Each table and view that the code names, with its columns. JSON is written as text: pg would turn a list into an array of Postgres. */
export interface Schema {
${members.join('\n')}
}
`;
}

function typeOf(column: Column): string {
  const read = readAs(column);
  const value = column.is_nullable && read !== 'unknown' ? `${read} | null` : read;
  if (column.is_generated) return `GeneratedAlways<${value}>`;
  if (column.type !== 'jsonb') return column.has_default ? `Generated<${value}>` : value;
  const written = column.is_nullable ? 'string | null' : 'string';
  return `ColumnType<unknown, ${column.has_default ? `${written} | undefined` : written}, ${written}>`;
}

function readAs({ relation, name, type, allowed }: Column): string {
  if (allowed !== null) return allowed.replaceAll('::text', '').replaceAll(', ', ' | ');
  const known = parsed[type];
  if (known === undefined)
    throw new Error(`${relation}.${name} is of the type ${type}: say in ${import.meta.url} how it is read`);
  return known;
}
