/**
 * Stages rows for a join: a few rows as JSON in the statement itself, many rows by COPY in a temporary table that the
 * session keeps. Use a full join: it reads each row of both sides once, whatever the statistics say, because Postgres
 * can only hash or merge it. A left join can become a quadratic nested loop while a team is not analysed and Postgres
 * expects a handful of rows.
 */
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { CompiledQuery, type RawBuilder, sql } from 'kysely';
import type { Database, Queryable, Transaction } from './database.ts';
import { type Spool, spoolToJson } from './spool.ts';

/** Up to this many rows, JSON is faster than a temporary table. */
const rowsAsJson = 2000;

const goesAsJson = ({ count }: Pick<SpoolOf, 'count'>): boolean => count <= rowsAsJson;

/** An item of a `from` clause with the rows of a spool, under the alias s. */
export type Staged = RawBuilder<unknown>;

export type SpoolOf = Pick<Spool<never>, 'shape' | 'count' | 'blocks'>;

function definitionOf({ shape }: SpoolOf): string {
  return shape.columns.map(([name, type]) => `"${name}" ${type}`).join(', ');
}

function asJson(spool: SpoolOf): Staged {
  return sql`json_to_recordset(${spoolToJson(spool)}::json) as s (${sql.raw(definitionOf(spool))})`;
}

/** The name of the temporary table. It depends on the columns, because a pooled session may outlive an upgrade. */
function tableOf(spool: SpoolOf): string {
  const version = createHash('sha256').update(definitionOf(spool)).digest('hex').slice(0, 8);
  return `stage_${spool.shape.name}_${version}`;
}

async function mayMakeTables(tx: Transaction): Promise<boolean> {
  const { rows } = await sql<{ may: boolean }>`
    select has_database_privilege(current_database(), 'temp') as may`.execute(tx);
  return rows[0]?.may === true;
}

/** Stages rows for the statements of this transaction. */
export async function stage(tx: Transaction, spool: SpoolOf): Promise<Staged> {
  if (goesAsJson(spool) || !(await mayMakeTables(tx))) return asJson(spool);
  const name = tableOf(spool);
  const table = sql.id('pg_temp', name);
  // Rows with the same columns may have been staged earlier in this transaction.
  await sql`
    create temp table if not exists ${table} (${sql.raw(definitionOf(spool))}) on commit delete rows;
    delete from ${table}`.execute(tx);
  const columns = spool.shape.columns.map(([column]) => `"${column}"`).join(', ');
  const copy = `copy pg_temp.${name} (${columns}) from stdin`;
  await tx.executeQuery(CompiledQuery.raw(copy, [Readable.from(spool.blocks(), { objectMode: false })]));
  return sql`${table} as s`;
}

/** Like `stage`, but for reads: opens a transaction only if there are too many rows for JSON. */
export async function withStaged<R>(
  db: Database,
  spool: SpoolOf,
  work: (db: Queryable, staged: Staged) => Promise<R>,
): Promise<R> {
  if (goesAsJson(spool)) return await work(db.kysely, asJson(spool));
  return await db.transaction(async (tx) => work(tx, await stage(tx, spool)));
}
