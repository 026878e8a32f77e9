/** SQL as a person wrote it: for the demo and the command line, never for anything built from data. */
import { CompiledQuery } from 'kysely';
import type { Database } from './database.ts';

export interface SqlAnswer {
  readonly head: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
}

export async function runSqlText({ asTyped }: Database, text: string): Promise<SqlAnswer> {
  const { rows } = await asTyped.executeQuery<Record<string, unknown>>(CompiledQuery.raw(text));
  return { head: Object.keys(rows[0] ?? {}), rows: rows.map((row) => Object.values(row)) };
}
