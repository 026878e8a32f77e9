/** A mirror with requests, as a run sees them: its own connection to a database, without a lease. */
import { CompiledQuery, sql } from 'kysely';
import { createRequests } from '../../src/mirror/requests/request-mirror.ts';
import type { Database } from '../../src/mirror/db/database.ts';
import { createTestDatabase } from './database.ts';

type Row = Record<string, unknown>;

export async function createRequestWorld() {
  const database = await createTestDatabase();
  const { db } = database;
  const query = async (text: string): Promise<Row[]> =>
    (await db.kysely.executeQuery<Row>(CompiledQuery.raw(text))).rows;
  /** As a run writes. */
  const write: Database['transaction'] = (work) =>
    db.transaction(async (tx) => {
      await sql`select set_config('musterd.writing', 'on', true), set_config('musterd.run', '7', true)`.execute(
        tx,
      );
      return await work(tx);
    });
  const force = (text: string) =>
    write(async (tx) => (await tx.executeQuery<Row>(CompiledQuery.raw(text))).rows);
  /** As somebody whom the transaction names, which is how the commands of musterd do it. */
  const as = (who: string, text: string) =>
    db.transaction(async (tx) => {
      await sql`select set_config('musterd.actor', ${who}, true)`.execute(tx);
      return (await tx.executeQuery<Row>(CompiledQuery.raw(text))).rows;
    });
  await query(`insert into sync.teams (team, team_id) values ('north', 41);
    insert into sync.runs (run_id, team, team_id, command) overriding system value values (7, 'north', 41, 'reconcile')`);
  await force(`insert into mirror.teams (team_id, name) values (41, 'North');
    insert into mirror.inboxes (team_id, id, name, members) values (41, 7, 'Front desk', '[1]');
    insert into mirror.users (team_id, id, name, resolved) values (41, 1, 'Anne Berg', true)`);
  const clear = (writes = '{"tags": true, "schedule": "unattended", "conversations": true}') =>
    force(`delete from mirror.scheduled_messages; delete from mirror.tags; delete from mirror.conversation_reads; delete from sync.learned;
      truncate sync.edits, sync.held_fields; delete from sync.changes; update sync.teams set four_eyes = false, writes = '${writes}'`);
  const requests = createRequests(db, { teamId: 41n, runId: 7n }, true, write);
  return { db, url: database.url, query, force, as, clear, requests, close: () => database.close() };
}

export type RequestWorld = Awaited<ReturnType<typeof createRequestWorld>>;
