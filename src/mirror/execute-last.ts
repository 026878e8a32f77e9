/** The last statement of a transaction, which takes the commit along. */
import { CompiledQuery, type RawBuilder } from 'kysely';
import pg from 'pg';
import type { Transaction } from './database.ts';
import { transactionTerms } from './database-pool.ts';

/** The statement as a text of its own, with its values in it. */
function spellOut({ sql: text, parameters }: CompiledQuery): string {
  const literal = (value: unknown): string => {
    if (value === null) return 'null';
    if (Array.isArray(value)) return `array[${value.map(literal).join(', ')}]`;
    if (typeof value === 'string') return pg.escapeLiteral(value);
    if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean')
      return pg.escapeLiteral(String(value));
    throw new TypeError(`no value of a statement that is spelled out: ${typeof value}`);
  };
  // What looks like a parameter within a text of the statement is none.
  return text.replaceAll(/'[^']*'|\$(\d+)/g, (match, number?: string) =>
    number === undefined ? match : literal(parameters[Number(number) - 1]),
  );
}

/** The last statement of a transaction: the commit is sent along, which saves a round trip. Nothing may follow it. */
export async function executeLast<Row>(tx: Transaction, statement: RawBuilder<Row>): Promise<readonly Row[]> {
  const text = `${spellOut(statement.compile(tx))};\ncommit`;
  const terms = transactionTerms.getStore();
  if (terms === undefined) throw new Error('this is no transaction');
  terms.isOver = true;
  return (await tx.executeQuery<Row>(CompiledQuery.raw(text))).rows;
}
