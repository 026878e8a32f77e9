/** A person confirms the edits of a command with a reason: they pass the limits, like an approved batch. */
import { sql } from 'kysely';
import type { Id } from '../model/id.ts';
import { toJson } from '../model/json.ts';
import type { Field, ServiceValue } from '../model/user.ts';
import type { FieldValue } from '../model/user-plan.ts';
import { byKey } from './by-key.ts';
import type { Transaction } from './database.ts';
import { isAskedFor, valuesToHold } from './holds.ts';
import { fieldOfSql, sqlField } from './users-read.ts';

export interface ApprovedEdit {
  readonly userId: Id;
  readonly field: Field;
  /** The edit that is meant; absent: whichever has these values. */
  readonly edit?: Id | undefined;
  /** The new value, and the base that the person saw. */
  readonly to: FieldValue;
  readonly base: FieldValue | undefined;
  /** The service's value that the person saw; absent: the base. */
  readonly service?: Exclude<ServiceValue, undefined>;
}

export interface Approval {
  readonly batch: string;
  readonly why: string;
  readonly rows: readonly ApprovedEdit[];
  /** What they wait for if the approval becomes void: a review of each push, or the limits. */
  readonly reason?: 'limit' | 'review';
  /** The run that was started to send them, if there is one. */
  readonly runId?: bigint | null;
  /** The number of the decision that it is a part of; absent: it is one by itself. */
  readonly decision?: bigint | null;
}

export interface Confirmation {
  /** In whose name. */
  readonly actor: string | undefined;
  /** The reason. With it the edits pass the limits once. */
  readonly why: string | undefined;
}

/** Sets in whose name the rest of the transaction acts. */
export async function actFor(tx: Transaction, actor: string): Promise<void> {
  await sql`select set_config('musterd.actor', ${actor}, true)`.execute(tx);
}

/** Who acts in this transaction, as the ledger names them. */
export async function readDecider(tx: Transaction): Promise<string> {
  const { rows } = await sql<{ who: string }>`select sync.decider() as who`.execute(tx);
  return rows[0]?.who ?? '';
}

/**
 * Approves the edits that last, as far as they have these values, bases and service values. An edit that is held for
 * another reason than the limits stays held and needs its own decision. With `push.fourEyes` edits that the person made,
 * or may have made, are not approved.
 * @returns the fields that may pass
 */
export async function approveEdits(
  tx: Transaction,
  teamId: Id,
  { batch, why, rows, reason = 'limit', runId = null, decision = null }: Approval,
): Promise<readonly Pick<ApprovedEdit, 'userId' | 'field'>[]> {
  const staged = rows.map(({ userId, field, edit, to, base, service }) => ({
    user_id: userId,
    edit_id: edit,
    field: sqlField(field),
    mirror: to,
    base,
    is_shown: service !== undefined,
    service,
  }));
  const { rows: passed } = await sql<{ user_id: Id; field: string }>`
    with eyes as materialized (select t.four_eyes from sync.teams t where t.team_id = ${teamId}),
    passing as materialized (
      select s.user_id, s.field, coalesce(e.edit_id, sync.find_edit(${teamId}, s.user_id, s.field)) as edit_id, v.base_value, v.mirror_value,
        case when s.is_shown then s.service else v.service_value end as service_value
      from jsonb_to_recordset(${toJson(staged)}::jsonb) as s (user_id bigint, edit_id bigint, field text, mirror jsonb,
        base jsonb, is_shown boolean, service jsonb)
      cross join lateral ${byKey('mirror.users', teamId, sql`s.user_id`)} u
      cross join lateral ${byKey('sync.user_base', teamId, sql`s.user_id`)} b
      left join lateral (
        select l.edit_id, l.authors from sync.edits l
        where l.team_id = ${teamId} and l.user_id = s.user_id and l.field = s.field and l.ended_at is null
          and l.new_value is not distinct from s.mirror offset 0
      ) e on true
      cross join lateral ${valuesToHold} as v (field, base_value, mirror_value, service_value)
      where u.gone_at is null and v.field = s.field and v.mirror_value is not distinct from s.mirror
        and (s.edit_id is null or s.edit_id = e.edit_id)
        and v.base_value is not distinct from s.base and v.mirror_value is distinct from v.base_value
        and not (coalesce((select four_eyes from eyes), false) and sync.is_own(coalesce(e.authors, array[''])))
    ),
    by as materialized (
      select sync.decider() as who, coalesce(${decision}::bigint, sync.new_decision()) as number,
        coalesce((select r.started_at from sync.runs r where r.run_id = ${runId}::bigint), clock_timestamp()) as at
    ),
    approved as (
      insert into sync.held_fields as h (team_id, user_id, field, edit_id, reason, base_value, mirror_value, service_value,
        shown_value, detail, batch, decision, decided_at, decided_by, decided_why)
      select ${teamId}, p.user_id, p.field, p.edit_id, ${reason}, p.base_value, p.mirror_value, p.service_value, p.service_value,
        'confirmed by who edited it', ${batch}, 'approved', by.at, by.who, ${why}
      from passing p, by
      on conflict (team_id, user_id, field) do update set
        reason = case when h.reason = 'review' and h.batch is not null then h.reason else excluded.reason end,
        edit_id = excluded.edit_id, base_value = excluded.base_value,
        mirror_value = excluded.mirror_value, service_value = excluded.service_value,
        shown_value = excluded.shown_value, seen_version = null, detail = excluded.detail, batch = excluded.batch, decision = 'approved',
        decided_at = excluded.decided_at, decided_by = excluded.decided_by,
        decided_why = excluded.decided_why, until = null
        where h.reason in ('limit', 'review') and h.batch is not null
          or h.edit_id is distinct from excluded.edit_id and not (${isAskedFor})
      returning h.user_id, h.field, h.edit_id, h.base_value, h.shown_value, h.mirror_value
    ),
    recorded as (
      insert into sync.changes (team_id, user_id, run_id, kind, base, old, new, edits, closed_at, decided_by,
        decided_role, decided_why, batch, decision_id)
      select ${teamId}, a.user_id, ${runId}::bigint, 'approve', jsonb_object_agg(a.field, a.base_value),
        jsonb_object_agg(a.field, a.shown_value), jsonb_object_agg(a.field, a.mirror_value),
        jsonb_object_agg(a.field, a.edit_id), clock_timestamp(),
        max(by.who), session_user, ${why}, ${batch}, max(by.number)
      from approved a, by group by a.user_id
    )
    select user_id, field from approved order by user_id, field`.execute(tx);
  return passed.map(({ user_id: userId, field }) => ({ userId, field: fieldOfSql(field) }));
}
