/** Writes requests as a person would with SQL: the same triggers judge them. */
import { sql } from 'kysely';
import type { Id } from '../../model/id.ts';
import { toJson } from '../../model/json.ts';
import type { Transaction } from '../db/database.ts';
import { describeRefusal } from '../db/database-errors.ts';

/** The SQLSTATEs of what our triggers refuse, and of values that do not fit the type of their column. */
const refusals = [
  '22003',
  '22007',
  '22008',
  '22P02',
  '23503',
  '23505',
  '23514',
  '0A000',
  '42501',
  '55000',
  'P0002',
];

/** Values by column, as JSON has them. */
export type RequestValues = Readonly<Record<string, unknown>>;

type RequestTable = 'mirror.tags' | 'mirror.scheduled_messages' | 'mirror.conversation_reads';

async function run(
  tx: Transaction,
  statement: ReturnType<typeof sql<{ local_id: string }>>,
): Promise<string | null> {
  const { rows } = await statement.execute(tx).catch((error: unknown) => {
    throw describeRefusal(error, ...refusals);
  });
  return rows[0]?.local_id ?? null;
}

const rowFrom = (table: RequestTable, values: RequestValues) =>
  sql`jsonb_populate_record(null::${sql.table(table)}, ${toJson(values)}::jsonb)`;

/** @returns its local_id. @throws MusterdError `usage` in the words of the trigger, like all of these */
export async function insertRequest(
  tx: Transaction,
  table: RequestTable,
  teamId: Id,
  values: RequestValues,
): Promise<string> {
  const columns = sql.join(Object.keys(values).map((name) => sql.ref(name)));
  return (
    (await run(
      tx,
      sql`
      insert into ${sql.table(table)} (team_id, ${columns}) select ${teamId}, ${columns} from ${rowFrom(table, values)}
      returning local_id`,
    )) ?? ''
  );
}

/** @returns `null` if the team has no such message, here and below */
export async function updateMessage(
  tx: Transaction,
  teamId: Id,
  localId: string,
  values: RequestValues,
): Promise<string | null> {
  const sets = sql.join(Object.keys(values).map((name) => sql`${sql.ref(name)} = ${sql.ref(`g.${name}`)}`));
  return await run(
    tx,
    sql`
    update mirror.scheduled_messages m set ${sets} from ${rowFrom('mirror.scheduled_messages', values)} g
    where m.team_id = ${teamId} and m.local_id = ${localId}::uuid returning m.local_id`,
  );
}

export async function cancelMessage(tx: Transaction, teamId: Id, localId: string): Promise<string | null> {
  return await run(
    tx,
    sql`delete from mirror.scheduled_messages where team_id = ${teamId} and local_id = ${localId}::uuid returning local_id`,
  );
}

/** Records what became of a message whose outcome is unknown. @param id `null` if it was not sent */
export async function resolveMessage(
  tx: Transaction,
  teamId: Id,
  localId: string,
  { id, why }: { readonly id: Id | null; readonly why: string },
): Promise<string | null> {
  return await run(
    tx,
    sql`select ${localId} as local_id from sync.resolve_message(${teamId}, ${localId}::uuid, ${id}, ${why})`,
  );
}
