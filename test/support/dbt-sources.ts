/** The tables and views of `mirror` and `report` as sources of dbt, made from the catalogs and their comments. */
import { sql } from 'kysely';
import { stringify } from 'yaml';
import type { Database } from '../../src/mirror/db/database.ts';

interface Column {
  readonly schema: string;
  readonly relation: string;
  readonly about: string;
  readonly name: string;
  readonly type: string;
  readonly comment: string;
  readonly is_nullable: boolean;
  /** Of a table: the columns of its primary key. */
  readonly primary_key: readonly string[] | null;
}

export interface Relation {
  readonly schema: string;
  readonly name: string;
  readonly about: string;
  readonly columns: readonly Column[];
  /** What tells its rows apart: the primary key, or what the comment of a view has in brackets. */
  readonly key: readonly string[];
}

/** A view has no constraints: a column of which it is said when it is empty is not asked to be there. */
const mayBeEmpty = ({ comment, is_nullable: isNullable, schema }: Column) =>
  schema === 'mirror' ? isNullable : /\bempty\b|\bNULL\b/i.test(comment);

/** Where a column is found, as its comment ends with it. */
export const joinOf = ({ comment }: Pick<Column, 'comment'>) => {
  const [, schema, relation, field] = /\. In (mirror|report)\.(\w+)\.(\w+)\.$/.exec(comment) ?? [];
  return schema === undefined || relation === undefined || field === undefined
    ? undefined
    : { schema, relation, field };
};

function keyOf(
  { about, name, primary_key: primaryKey }: Column & { name: string },
  known: readonly string[],
) {
  if (primaryKey !== null) return primaryKey;
  const [, listed = ''] = /: a row per [^:.]*?\((\w+(?:, \w+)*)\)/.exec(about) ?? [];
  const key = listed.split(', ').filter((part) => part !== '');
  if (key.some((part) => !known.includes(part))) throw new Error(`${name}: no such column in (${listed})`);
  return key;
}

export async function readRelations(db: Database): Promise<readonly Relation[]> {
  const { rows } = await sql<Column>`
    select n.nspname::text as schema, c.relname::text as relation, obj_description(c.oid, 'pg_class') as about, a.attname::text as name,
           format_type(a.atttypid, null) as type, col_description(c.oid, a.attnum) as comment, not a.attnotnull as is_nullable,
           (select array_agg(k.attname::text order by array_position(p.conkey, k.attnum)) from pg_constraint p
            join pg_attribute k on k.attrelid = c.oid and k.attnum = any (p.conkey)
            where p.conrelid = c.oid and p.contype = 'p') as primary_key
      from pg_class c
      join pg_namespace n on n.oid = c.relnamespace
      join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     where n.nspname in ('mirror', 'report') and c.relkind in ('r', 'v')
     order by n.nspname desc, c.relname collate "C", a.attnum`.execute(db.kysely);
  const relations = Map.groupBy(rows, ({ schema, relation }) => `${schema}.${relation}`);
  return [...relations.values()].flatMap((columns) => {
    const [first] = columns;
    if (first === undefined) return [];
    const names = columns.map(({ name }) => name);
    return [
      {
        schema: first.schema,
        name: first.relation,
        about: first.about,
        columns,
        key: keyOf({ ...first, name: first.relation }, names),
      },
    ];
  });
}

function testsOf(column: Column, { key }: Relation): readonly (string | object)[] {
  const join = joinOf(column);
  return [
    ...(key.length === 1 && key[0] === column.name ? ['unique'] : []),
    ...(key.includes(column.name) && !mayBeEmpty(column) ? ['not_null'] : []),
    ...(join === undefined
      ? []
      : [{ relationships: { to: `source('${join.schema}', '${join.relation}')`, field: join.field } }]),
  ];
}

const withTests = (tests: readonly (string | object)[]) => (tests.length === 0 ? {} : { data_tests: tests });

/** A key of several columns is compared as one text; rows with something empty in it are left out, as dbt does. */
const uniqueTest = (key: readonly string[]) =>
  withTests(key.length < 2 ? [] : [{ unique: { column_name: `(${key.join(" || ' ' || ")})` } }]);

export function dbtSources(relations: readonly Relation[]): string {
  const sources = Map.groupBy(relations, ({ schema }) => schema);
  const text = stringify(
    {
      version: 2,
      sources: [...sources].map(([schema, all]) => ({
        name: schema,
        schema,
        tables: all.map((relation) => ({
          name: relation.name,
          description: relation.about,
          ...uniqueTest(relation.key),
          columns: relation.columns.map((column) => ({
            name: column.name,
            description: column.comment,
            data_type: column.type,
            ...withTests(testsOf(column, relation)),
          })),
        })),
      })),
    },
    { lineWidth: 0 },
  );
  return `# Made from the catalogs: UPDATE_DBT=1 npx vitest run test/mirror/dbt-sources.test.ts\n${text}`;
}

/** What each of these tests asks, as dbt would: rows that should not be. */
export function violations({ schema, name, columns, key }: Relation): readonly string[] {
  const place = `${schema}.${name}`;
  const relation = { schema, name, columns, key, about: '' };
  const empty = columns
    .filter((column) => testsOf(column, relation).includes('not_null'))
    .map(({ name: column }) => `select 1 from ${place} where ${column} is null`);
  const twice =
    key.length === 0
      ? []
      : [
          `select 1 from ${place} where (${key.join(" || ' ' || ")}) is not null group by ${key.join(', ')} having count(*) > 1`,
        ];
  const lost = columns.flatMap((column) => {
    const join = joinOf(column);
    return join === undefined
      ? []
      : [
          `select 1 from ${place} v where v.${column.name} is not null and not exists (select from ${join.schema}.${join.relation} j where j.${join.field} = v.${column.name})`,
        ];
  });
  return [...empty, ...twice, ...lost];
}
