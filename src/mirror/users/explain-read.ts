/** Reads the open push and the last edit of one user, to show them to people. Plans do not use it. */
import type { Intent } from '../../model/intent.ts';
import type { Id } from '../../model/id.ts';
import type { Queryable } from '../db/database.ts';
import { readIntents } from './intents.ts';

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
