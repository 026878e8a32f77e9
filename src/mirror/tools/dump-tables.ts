/** The tables and sequences of a dump, read from the catalogs, so that new tables are included automatically. */

/** Queries Postgres within the transaction of the dump or restore. */
export type Ask = <R extends object>(text: string) => Promise<readonly R[]>;

export interface DumpTable {
  /** The name with its schema, quoted where necessary. */
  readonly name: string;
  /** The writable columns. */
  readonly columns: string;
  /** Tables that its rows refer to. */
  readonly needs: readonly string[];
}

/** Tables about running processes, which have no meaning elsewhere. */
export const leftOut: ReadonlySet<string> = new Set(['sync.leases']);

/** Sorted so that each table comes after those that it refers to. */
export async function readDumpTables(ask: Ask): Promise<readonly DumpTable[]> {
  const rows = await ask<DumpTable>(`
    select quote_ident(n.nspname) || '.' || quote_ident(c.relname) as name,
      (select string_agg(quote_ident(a.attname), ', ' order by a.attnum) from pg_attribute a
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '') as columns,
      array(select distinct quote_ident(rn.nspname) || '.' || quote_ident(r.relname)
              from pg_constraint f join pg_class r on r.oid = f.confrelid join pg_namespace rn on rn.oid = r.relnamespace
             where f.conrelid = c.oid and f.contype = 'f' and f.confrelid <> c.oid) as needs
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('mirror', 'sync') and c.relkind = 'r'
    order by 1`);
  return inOrder(rows);
}

function inOrder(tables: readonly DumpTable[]): readonly DumpTable[] {
  const done: DumpTable[] = [];
  const isDone = (name: string) => done.some((table) => table.name === name);
  while (done.length < tables.length) {
    const ready = tables.filter(({ name, needs }) => !isDone(name) && needs.every(isDone));
    if (ready.length === 0) throw new Error('The tables refer to each other in a circle.');
    done.push(...ready);
  }
  return done;
}

export interface DumpSequence {
  readonly name: string;
  readonly value: string;
  readonly isCalled: boolean;
}

/** Reads the sequences, because the highest number of a table could be that of a deleted row, which is not used again. */
export async function readDumpSequences(ask: Ask): Promise<readonly DumpSequence[]> {
  return ask<DumpSequence>(`
    select quote_ident(schemaname) || '.' || quote_ident(sequencename) as name,
      coalesce(last_value, start_value)::text as value, last_value is not null as "isCalled"
    from pg_sequences where schemaname in ('mirror', 'sync') order by 1`);
}

export const copyLine = ({ name, columns }: DumpTable) => `copy ${name} (${columns}) from stdin;`;

export const sequenceLine = ({ name, value, isCalled }: DumpSequence) =>
  `select pg_catalog.setval('${name}', ${value}, ${isCalled});`;

/** Before the rows are loaded: switches triggers off and deletes the rows that migrations wrote. */
export const openTables = (tables: readonly DumpTable[]): readonly string[] => [
  ...tables.map(({ name }) => `alter table ${name} disable trigger user;`),
  `truncate ${tables.map(({ name }) => name).join(', ')};`,
];

export const closeTables = (tables: readonly DumpTable[]): readonly string[] =>
  tables.map(({ name }) => `alter table ${name} enable trigger user;`);

/** The first line of a dump, the one before its rows, and the last. */
export const firstLine = '-- musterd dump 1';
export const rowsLine = '-- rows';
export const lastLine = (rows: number) => `-- end of the musterd dump: ${rows} rows`;
