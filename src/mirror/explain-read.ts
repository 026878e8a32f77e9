/** What waits for one user, and why: the facts that a plan does not need and a person does. */
import { sql } from 'kysely';
import type { HoldReason } from '../model/user-plan.ts';
import type { Intent } from '../model/intent.ts';
import type { Id } from '../model/id.ts';
import type { PlannedPush } from '../model/plan.ts';
import type { Field } from '../model/user.ts';
import type { Queryable } from './database.ts';
import { readIntents } from './intents.ts';
import { type PlanRow, pushesOf } from './plans.ts';
import { fieldOfSql } from './users-read.ts';

/** A held field since when, until when, and by which run (`null`: a person). */
export interface HeldSince {
  readonly field: Field;
  readonly reason: HoldReason;
  readonly detail: string;
  readonly since: Date;
  readonly until: Date | null;
  readonly runId: bigint | null;
  readonly mirrorValue: unknown;
  readonly serviceValue: unknown;
}

export async function readHeldSince(db: Queryable, teamId: Id, id: Id): Promise<readonly HeldSince[]> {
  const { rows } = await sql<Omit<HeldSince, 'field'> & { field: string }>`
    select field, reason, detail, since, until, run_id as "runId", mirror_value as "mirrorValue",
           service_value as "serviceValue"
    from sync.held_fields where team_id = ${teamId} and user_id = ${id} order by field`.execute(db);
  return rows.map((row) => ({ ...row, field: fieldOfSql(row.field) }));
}

/** A push that was written down and whose outcome is not known. */
export interface OpenPush {
  readonly intent: Intent;
  readonly runId: bigint;
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

/** A refused plan that waits for a person. */
export interface WaitingPlan {
  readonly hash: string;
  /** What of the user in question waits in it; `null`: nothing does. */
  readonly push: PlannedPush | null;
  readonly madeAt: Date;
  readonly reasons: readonly string[];
}

export async function readWaitingPlan(db: Queryable, teamId: Id, id: Id): Promise<WaitingPlan | null> {
  const { rows } = await sql<Omit<WaitingPlan, 'push'> & { readonly row: PlanRow | null }>`
    select hash, made_at as "madeAt", reasons,
      jsonb_path_query_first(changes, '$[*] ? (@.user_id == $id)', jsonb_build_object('id', ${id}::bigint)) as row
    from sync.plans where team_id = ${teamId} and state = 'refused'`.execute(db);
  const [found] = rows;
  if (found === undefined) return null;
  const { row, ...rest } = found;
  const [push = null] = row === null ? [] : pushesOf([row]);
  return { ...rest, push };
}

/** Who edited the mirror's row last, and when. */
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
