/** Writes of held fields: what waits for a person, what the service shows of it, and its end. */
import { sql } from 'kysely';
import { type DecidedUser, decisionsOf, endedHolds, type Hold } from '../model/user-plan.ts';
import type { Id } from '../model/id.ts';
import { toJson } from '../model/json.ts';
import type { Transaction } from './database.ts';
import { sqlField } from './users-read.ts';

interface OfTeam {
  readonly teamId: Id;
}

/** A hold that a person asked for stands until its end: nothing ends it early or takes its place. */
const isAskedFor = sql`h.reason = 'asked' and h.until > clock_timestamp()`;

/** A rejection stands for as long as the mirror has the rejected value: no later hold takes its place. */
const isRejected = sql`h.reason = 'rejected' and excluded.reason <> 'rejected'
  and h.mirror_value is not distinct from excluded.mirror_value`;

export async function writeHolds(
  tx: Transaction,
  { teamId, runId }: OfTeam & { readonly runId: bigint | null },
  held: readonly { readonly id: Id; readonly hold: Hold }[],
): Promise<void> {
  if (held.length === 0) return;
  const rows = held.map(({ id, hold }) => ({
    user_id: id,
    field: sqlField(hold.field),
    reason: hold.reason,
    base_value: hold.base,
    mirror_value: hold.mirror,
    service_value: hold.service,
    detail: hold.detail,
  }));
  await sql`
    insert into sync.held_fields as h
      (team_id, user_id, field, reason, base_value, mirror_value, service_value, shown_value, detail, run_id)
    select ${teamId}, user_id, field, reason, base_value, mirror_value, service_value, service_value, detail,
      ${runId}::bigint
    from jsonb_to_recordset(${toJson(rows)}::jsonb) as s (user_id bigint, field text, reason text, base_value jsonb,
      mirror_value jsonb, service_value jsonb, detail text)
    on conflict (team_id, user_id, field) do update set reason = excluded.reason, base_value = excluded.base_value,
      mirror_value = excluded.mirror_value, service_value = excluded.service_value,
      shown_value = excluded.shown_value, detail = excluded.detail,
      since = clock_timestamp(), until = null, run_id = excluded.run_id
      where not (${isAskedFor}) and not (${isRejected})`.execute(tx);
}

/** Fields that stay held, and of which the service shows something else by now. */
export async function noteShown(
  tx: Transaction,
  { teamId }: OfTeam,
  users: readonly DecidedUser[],
): Promise<void> {
  const rows = users.flatMap((user) =>
    decisionsOf(user, 'held')
      .filter(([, { shown }]) => shown !== undefined)
      .map(([field, { shown }]) => ({ user_id: user.id, field: sqlField(field), shown_value: shown })),
  );
  if (rows.length === 0) return;
  await sql`
    update sync.held_fields h set shown_value = s.shown_value
    from jsonb_to_recordset(${toJson(rows)}::jsonb) as s (user_id bigint, field text, shown_value jsonb)
    where h.team_id = ${teamId} and h.user_id = s.user_id and h.field = s.field
      and h.shown_value is distinct from s.shown_value`.execute(tx);
}

export async function endHolds(
  tx: Transaction,
  { teamId }: OfTeam,
  users: readonly DecidedUser[],
): Promise<void> {
  const ended = users.flatMap((user) =>
    endedHolds(user).map((field) => ({ user_id: user.id, field: sqlField(field) })),
  );
  if (ended.length === 0) return;
  await sql`
    delete from sync.held_fields h using jsonb_to_recordset(${toJson(ended)}::jsonb) as s (user_id bigint, field text)
    where h.team_id = ${teamId} and h.user_id = s.user_id and h.field = s.field and not (${isAskedFor})`.execute(
    tx,
  );
}
