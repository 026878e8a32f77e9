/** Reads from Postgres's catalogs what musterd's schemas contain. */
import { type RawBuilder, sql } from 'kysely';
import type { Queryable } from '../db/database.ts';

/** The schemas that belong to musterd. */
export const SCHEMAS = ['mirror', 'sync', 'report'];

/** The prefix of the lines of a view's definition, which Postgres 16 and newer write with fewer qualifiers than 15. */
export const DEFINITION = '  | ';

interface Line {
  readonly owner: string;
  readonly line: string;
}

/** What the catalogs say of one schema, table, view, function or type. */
export interface CatalogSection {
  readonly owner: string;
  /** The first line names it. A comment stands in the line of what it is about. */
  readonly lines: readonly string[];
}

/** All that musterd's schemas have, in the order of names; columns in the order of their table. */
export async function readCatalogs(db: Queryable): Promise<readonly CatalogSection[]> {
  const read = async (query: RawBuilder<Line>) => (await query.execute(db)).rows;
  const heads = await read(readHeads());
  const details = [
    await read(readColumns()),
    await read(readDefinitions()),
    await read(readConstraints()),
    await read(readIndexes()),
    await read(readTriggers()),
    await read(readSecurity()),
    await read(readGrants()),
  ].flat();
  const byOwner = Map.groupBy(details, ({ owner }) => owner);
  return heads.map(({ owner, line }) => ({
    owner,
    lines: [line, ...(byOwner.get(owner) ?? []).map((detail) => detail.line)],
  }));
}

/** Whether this line is the same in every mirror. Rights differ, views are made anew, and indexes may be added. */
const isCompared = (line: string) => !/^ {2}(?:grant |\| |CREATE INDEX )/.test(line);
const withoutComments = (line: string) => line.replaceAll(/\n *--[^\n]*/g, '');

/** Lists what is missing, different or too much in what musterd made. Anything else in its schemas does not count. */
export function catalogDifferences(
  there: readonly CatalogSection[],
  made: readonly CatalogSection[],
): readonly string[] {
  const linesOf = (section: CatalogSection | undefined) =>
    new Set((section?.lines ?? []).map(withoutComments));
  const byOwner = new Map(there.map((section) => [section.owner, section]));
  return made.flatMap((section) => {
    const [has, should] = [linesOf(byOwner.get(section.owner)), linesOf(section)];
    const missing = [...should.difference(has)].filter(
      (line) => isCompared(line) || /^ {2}CREATE INDEX/.test(line),
    );
    const surplus = [...has.difference(should)].filter(isCompared);
    const say = (line: string) => line.trim().split('\n')[0]?.slice(0, 120) ?? '';
    return [
      ...missing.map((line) => `${section.owner} lacks "${say(line)}"`),
      ...surplus.map((line) => `${section.owner} has "${say(line)}"`),
    ];
  });
}

function readHeads(): RawBuilder<Line> {
  return sql<Line>`
    select owner, line from (
      select nspname as owner, array_position(${SCHEMAS}::name[], nspname) as place, 0 as kind, nspname as name,
             'schema ' || nspname || coalesce(E'\n  -- ' || obj_description(oid, 'pg_namespace'), '') as line
        from pg_namespace where nspname = any(${SCHEMAS})
      union all
      select c.oid::regclass::text, array_position(${SCHEMAS}::name[], n.nspname), 1, c.relname,
             case c.relkind when 'r' then 'table' when 'p' then 'table' when 'v' then 'view' when 'S' then 'sequence'
                            else 'materialized view' end
             || ' ' || n.nspname || '.' || c.relname
             || coalesce(' partition by ' || pg_get_partkeydef(c.oid), '')
             || coalesce(' with (' || array_to_string(c.reloptions, ', ') || ')', '')
             || coalesce(E'\n  -- ' || obj_description(c.oid, 'pg_class'), '')
        from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where n.nspname = any(${SCHEMAS})
         and (c.relkind in ('r', 'p', 'v', 'm')
              or c.relkind = 'S' and not exists (select from pg_depend d where d.objid = c.oid and d.deptype in ('a', 'i')))
      union all
      select p.oid::regprocedure::text, array_position(${SCHEMAS}::name[], n.nspname), 2, p.oid::regprocedure::text,
             pg_get_functiondef(p.oid) || coalesce(E'\n  -- ' || obj_description(p.oid, 'pg_proc'), '')
        from pg_proc p join pg_namespace n on n.oid = p.pronamespace
       where n.nspname = any(${SCHEMAS}) and p.prokind in ('f', 'p')
      union all
      select t.oid::regtype::text, array_position(${SCHEMAS}::name[], n.nspname), 3, t.typname,
             'type ' || t.oid::regtype::text || ' as '
             || coalesce('enum (' || (select string_agg(quote_literal(e.enumlabel), ', ' order by e.enumsortorder)
                                        from pg_enum e where e.enumtypid = t.oid) || ')',
                         'domain ' || format_type(t.typbasetype, t.typtypmod))
             || coalesce(E'\n  -- ' || obj_description(t.oid, 'pg_type'), '')
        from pg_type t join pg_namespace n on n.oid = t.typnamespace
       where n.nspname = any(${SCHEMAS}) and t.typtype in ('e', 'd')
    ) heads order by place, kind, name collate "C"`;
}

function readColumns(): RawBuilder<Line> {
  return sql<Line>`
    select c.oid::regclass::text as owner,
           '  ' || quote_ident(a.attname) || ' ' || format_type(a.atttypid, a.atttypmod)
           || case when a.attcollation <> t.typcollation
                   then ' collate ' || (select quote_ident(l.collname) from pg_collation l where l.oid = a.attcollation)
                   else '' end
           || case when a.attnotnull then ' not null' else '' end
           || case a.attidentity when 'a' then ' generated always as identity'
                                 when 'd' then ' generated by default as identity' else '' end
           || case when d.oid is null then ''
                   when a.attgenerated = 's' then ' generated always as ' || pg_get_expr(d.adbin, d.adrelid) || ' stored'
                   else ' default ' || pg_get_expr(d.adbin, d.adrelid) end
           || coalesce(E'\n    -- ' || col_description(c.oid, a.attnum), '') as line
      from pg_class c
      join pg_namespace n on n.oid = c.relnamespace
      join pg_attribute a on a.attrelid = c.oid
      join pg_type t on t.oid = a.atttypid
      left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
     where n.nspname = any(${SCHEMAS}) and c.relkind in ('r', 'p', 'v', 'm') and a.attnum > 0 and not a.attisdropped
     order by c.oid::regclass::text, a.attnum`;
}

function readDefinitions(): RawBuilder<Line> {
  return sql<Line>`
    select c.oid::regclass::text as owner, ${DEFINITION}::text || line as line
      from pg_class c
      join pg_namespace n on n.oid = c.relnamespace,
      lateral regexp_split_to_table(pg_get_viewdef(c.oid, true), E'\n') with ordinality as lines (line, place)
     where n.nspname = any(${SCHEMAS}) and c.relkind in ('v', 'm')
     order by c.oid::regclass::text, place`;
}

function readConstraints(): RawBuilder<Line> {
  // Since Postgres 18 a NOT NULL is a constraint too. It is already listed with its column.
  return sql<Line>`
    select coalesce(c.oid::regclass::text, k.contypid::regtype::text) as owner,
           '  constraint ' || quote_ident(k.conname) || ' ' || pg_get_constraintdef(k.oid)
           || coalesce(E'\n    -- ' || obj_description(k.oid, 'pg_constraint'), '') as line
      from pg_constraint k
      join pg_namespace n on n.oid = k.connamespace
      left join pg_class c on c.oid = k.conrelid
     where n.nspname = any(${SCHEMAS}) and k.contype in ('p', 'u', 'f', 'c', 'x')
     order by array_position(array['p', 'u', 'f', 'c', 'x']::"char"[], k.contype), k.conname collate "C"`;
}

function readIndexes(): RawBuilder<Line> {
  return sql<Line>`
    select i.indrelid::regclass::text as owner,
           '  ' || pg_get_indexdef(i.indexrelid)
           || coalesce(E'\n    -- ' || obj_description(i.indexrelid, 'pg_class'), '') as line
      from pg_index i
      join pg_class c on c.oid = i.indexrelid
      join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = any(${SCHEMAS})
       and not exists (select from pg_constraint k where k.conindid = i.indexrelid and k.contype in ('p', 'u', 'x'))
     order by c.relname collate "C"`;
}

function readTriggers(): RawBuilder<Line> {
  return sql<Line>`
    select t.tgrelid::regclass::text as owner,
           '  ' || pg_get_triggerdef(t.oid) || case t.tgenabled when 'O' then '' else ' (state ' || t.tgenabled::text || ')' end
           || coalesce(E'\n    -- ' || obj_description(t.oid, 'pg_trigger'), '') as line
      from pg_trigger t
      join pg_class c on c.oid = t.tgrelid
      join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = any(${SCHEMAS}) and not t.tgisinternal
     order by t.tgname collate "C"`;
}

function readSecurity(): RawBuilder<Line> {
  return sql<Line>`
    select c.oid::regclass::text as owner,
           '  row level security' || case when c.relforcerowsecurity then ', forced' else '' end
           || coalesce((
             select string_agg(
                      E'\n  policy ' || quote_ident(p.polname) || case when p.polpermissive then '' else ' restrictive' end
                      || ' for ' || case p.polcmd when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update'
                                                  when 'd' then 'delete' else 'all' end
                      || coalesce(' to ' || (select string_agg(quote_ident(r.rolname), ', ' order by r.rolname)
                                               from pg_roles r where r.oid = any(p.polroles)), ' to public')
                      || coalesce(' using ' || pg_get_expr(p.polqual, p.polrelid), '')
                      || coalesce(' with check ' || pg_get_expr(p.polwithcheck, p.polrelid), ''),
                      '' order by p.polname)
               from pg_policy p where p.polrelid = c.oid), '') as line
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = any(${SCHEMAS}) and c.relrowsecurity`;
}

/** Reads the rights of all roles but the owner. */
function readGrants(): RawBuilder<Line> {
  return sql<Line>`
    select owner, '  grant ' || string_agg(lower(privilege_type), ', ' order by privilege_type) || place || ' to '
           || coalesce(quote_ident(r.rolname), 'public') as line
      from (
        select n.nspname as owner, '' as place, n.nspowner as holder, a.*
          from pg_namespace n, aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) a
         where n.nspname = any(${SCHEMAS})
        union all
        select c.oid::regclass::text, '', c.relowner, a.*
          from pg_class c join pg_namespace n on n.oid = c.relnamespace,
               aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) a
         where n.nspname = any(${SCHEMAS}) and c.relkind in ('r', 'p', 'v', 'm')
        union all
        select c.oid::regclass::text, ' (' || quote_ident(t.attname) || ')', c.relowner, a.*
          from pg_class c join pg_namespace n on n.oid = c.relnamespace
          join pg_attribute t on t.attrelid = c.oid, aclexplode(t.attacl) a
         where n.nspname = any(${SCHEMAS}) and t.attnum > 0 and not t.attisdropped
        union all
        select p.oid::regprocedure::text, '', p.proowner, a.*
          from pg_proc p join pg_namespace n on n.oid = p.pronamespace,
               aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
         where n.nspname = any(${SCHEMAS})
      ) grants
      left join pg_roles r on r.oid = grants.grantee
     where grantee <> holder
     group by owner, place, r.rolname
     order by owner, place, r.rolname nulls first`;
}
