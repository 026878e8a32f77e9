/** Reads which fields and pushes of one user wait, and why, to show it to people. Plans do not use it. */
import { sql } from 'kysely';
import { type Field, fieldOf } from '../../model/fields.ts';
import type { Intent } from '../../model/intent.ts';
import type { Id } from '../../model/id.ts';
import type { Queryable } from '../db/database.ts';
import type { HeldRow } from './held.ts';
import { readIntents } from './intents.ts';

/** A held field: since when, until when, and which run held it (`runId` is `null` if a person did). */
export interface HeldSince {
  readonly field: Field;
  readonly state: HeldRow['state'];
  readonly reason: HeldRow['reason'];
  readonly detail: string;
  readonly since: Date;
  readonly until: Date | null;
  readonly runId: bigint | null;
  readonly batch: string | null;
  /** The edit that is held; `null` if the field has no edit. */
  readonly edit: Id | null;
  readonly mirrorValue: unknown;
  readonly serviceValue: unknown;
}

export async function readHeldSince(db: Queryable, teamId: Id, id: Id): Promise<readonly HeldSince[]> {
  const { rows } = await sql<Omit<HeldSince, 'field'> & { field: string }>`
    select field, state, reason, detail, since, until, run_id as "runId", batch, edit_id as edit, mirror_value_then as "mirrorValue",
           service_value_then as "serviceValue"
    from report.held where team_id = ${teamId} and user_id = ${id} order by field`.execute(db);
  return rows.map((row) => ({ ...row, field: fieldOf(row.field) }));
}

export interface OpenPush {
  readonly intent: Intent;
  readonly runId: bigint | null;
  readonly requestId: string | null;
  readonly openedAt: Date;
}

export async function readOpenPush(db: Queryable, teamId: Id, id: Id): Promise<OpenPush | null> {
  const row = await db
    .selectFrom('sync.changes')
    .select(['run_id as runId', 'request_id as requestId', 'opened_at as openedAt'])
    .where((eb) => eb.and({ team_id: teamId, user_id: id, state: 'open' }))
    .executeTakeFirst();
  const intent = (await readIntents(db, teamId)).find(({ userId }) => userId === id);
  return row === undefined || intent === undefined ? null : { ...row, intent };
}

/** The last edit of the mirror's row. */
export interface LastEdit {
  readonly at: Date;
  readonly by: string;
}

export async function readLastEdit(db: Queryable, teamId: Id, id: Id): Promise<LastEdit | null> {
  const user = await db
    .selectFrom('mirror.users')
    .select(['edited_at as at', 'edited_by as by'])
    .where((eb) => eb.and({ team_id: teamId, id }))
    .executeTakeFirst();
  return user === undefined || user.at === null ? null : { at: user.at, by: user.by ?? '' };
}
