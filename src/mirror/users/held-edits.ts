import { sql } from 'kysely';
import { type Field, fieldOf } from '../../model/fields.ts';
import type { Id } from '../../model/id.ts';
import type { HeldRow } from './held.ts';
import type { Values } from '../../model/user-plan.ts';
import type { Queryable } from '../db/database.ts';
import { toHold } from './users-read.ts';

/** An edit that is held on its own, outside of the batches that the guard stopped. */
export interface HeldEdit {
  readonly userId: Id;
  readonly field: Field;
  readonly state: HeldRow['state'];
  readonly reason: HeldRow['reason'];
  readonly edit: Id;
  readonly madeMs: number;
  /** The transaction of the database that made the edit. */
  readonly transaction: string;
  /** The present values. The service's is the one that a run last saw. */
  readonly values: Values;
}

/** Reads the held edits of users who are in the team, by user and field. */
export async function readHeldEdits(db: Queryable, teamId: Id): Promise<readonly HeldEdit[]> {
  const { rows } = await sql<
    Parameters<typeof toHold>[0] & {
      readonly user_id: Id;
      readonly state: HeldRow['state'];
      readonly reason: HeldRow['reason'];
      readonly edit: Id;
      readonly made_ms: number;
      readonly transaction: string;
    }
  >`
    select h.user_id, h.field, h.state, h.reason, h.detail, h.base_value, h.mirror_value, h.service_value,
      h.service_value as shown_value, h.batch, h.edit_id as edit, null as edit_id, e.xid::text as transaction,
      round(extract(epoch from e.edited_at) * 1000)::float8 as made_ms
    from report.held h
    join sync.edits e on e.team_id = h.team_id and e.user_id = h.user_id and e.field = h.field and e.ended_at is null
      and e.edit_id = h.edit_id
    join mirror.users u on u.team_id = h.team_id and u.id = h.user_id and u.gone_at is null
    where h.team_id = ${teamId} and h.reason not in ('asked', 'returned')
      and (h.batch is null or h.reason not in ('limit', 'review'))
    order by h.user_id, h.field`.execute(db);
  return rows.map((row) => {
    const { base, mirror, service } = toHold(row);
    return {
      userId: row.user_id,
      field: fieldOf(row.field),
      state: row.state,
      reason: row.reason,
      edit: row.edit,
      madeMs: row.made_ms,
      transaction: row.transaction,
      values: { base, mirror, service },
    };
  });
}
