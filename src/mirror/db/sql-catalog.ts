/** The report views and the tables of the mirror, with their comments. */
import { sql } from 'kysely';
import type { Database } from './database.ts';

export interface Relation {
  readonly schema: string;
  readonly name: string;
  readonly comment: string;
}

export interface RelationColumn {
  readonly name: string;
  readonly type: string;
  readonly comment: string;
}

/** Reads tables and views: first of the schema `report`, then of the schema `mirror`. */
export async function readRelations({ kysely }: Database): Promise<readonly Relation[]> {
  const { rows } = await sql<Relation>`
    select n.nspname as schema, c.relname as name, coalesce(obj_description(c.oid, 'pg_class'), '') as comment
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname in ('report', 'mirror') and c.relkind in ('r', 'v', 'm', 'p')
     order by n.nspname = 'mirror', c.relname`.execute(kysely);
  return rows;
}

/** @param name with or without its schema; without one, `report` is searched before `mirror` */
export async function describeRelation(
  { kysely }: Database,
  name: string,
): Promise<{ readonly relation: Relation; readonly columns: readonly RelationColumn[] } | null> {
  const [last = '', schema] = name.toLowerCase().replaceAll('"', '').split('.').toReversed();
  const { rows: found } = await sql<Relation & { oid: number }>`
    select c.oid::int8 as oid, n.nspname as schema, c.relname as name,
           coalesce(obj_description(c.oid, 'pg_class'), '') as comment
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relname = ${last} and c.relkind in ('r', 'v', 'm', 'p')
       and (n.nspname = ${schema ?? ''} or ${schema === undefined} and n.nspname in ('report', 'mirror', 'sync'))
     order by array_position(array['report', 'mirror', 'sync'], n.nspname::text) limit 1`.execute(kysely);
  const [relation] = found;
  if (relation === undefined) return null;
  const { rows: columns } = await sql<RelationColumn>`
    select attname as name, format_type(atttypid, atttypmod) as type,
           coalesce(col_description(attrelid, attnum), '') as comment
      from pg_attribute where attrelid = ${relation.oid} and attnum > 0 and not attisdropped
     order by attnum`.execute(kysely);
  return { relation, columns };
}
