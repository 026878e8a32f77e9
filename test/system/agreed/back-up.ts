/** A backup that is put back in place: every row of the mirror and its bookkeeping, whatever tables there are. */
import type { Stage } from '../stage.ts';

/** A place for one copy after another, made once. */
export interface Shelf {
  keep(): Promise<void>;
  /** @param isWhole with the numbers that rows get, as a copy of the files has them */
  putBack(isWhole: boolean): Promise<void>;
}

export async function createShelf({ sql }: Pick<Stage, 'sql'>, name: string): Promise<Shelf> {
  const tables = (
    await sql(`select format('%I.%I', n.nspname, c.relname),
        string_agg(quote_ident(a.attname), ', ') filter (where a.attgenerated = '')
      from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
      where n.nspname in ('mirror', 'sync') and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped
        and c.relname !~ '^migration'
      group by 1 order by 1`)
  ).map(([table = '', columns = ''], at) => ({ table, columns, copy: `${name}.t${at}` }));
  const all = (statement: (of: (typeof tables)[number]) => string) => tables.map(statement).join(';');
  const numbers = `select last_value + is_called::int from sync.edits_edit_id_seq`;
  let next = '1';
  await sql(
    `drop schema if exists ${name} cascade; create schema ${name}; ${all(({ table, columns, copy }) => `create table ${copy} as select ${columns} from ${table} limit 0`)}`,
  );
  return {
    keep: async () => {
      const rows =
        await sql(`begin; ${all(({ table, columns, copy }) => `delete from ${copy}; insert into ${copy} select ${columns} from ${table}`)};
        commit; ${numbers}`);
      next = rows[0]?.[0] ?? '1';
    },
    putBack: async (isWhole) => {
      await sql(`begin; set local session_replication_role = replica;
        ${all(({ table, columns, copy }) => `delete from ${table}; insert into ${table} (${columns}) overriding system value select * from ${copy}`)};
        ${isWhole ? `alter sequence sync.edits_edit_id_seq restart with ${next};` : ''}
        commit`);
    },
  };
}

/** @returns puts the rows back */
export async function backUp(stage: Pick<Stage, 'sql'>): Promise<() => Promise<void>> {
  const shelf = await createShelf(stage, 'backup');
  await shelf.keep();
  return () => shelf.putBack(false);
}
