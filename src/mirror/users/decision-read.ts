/** Reads what became of a decision, and takes back what can be taken back of it. */
import { sql } from 'kysely';
import { columnOf, type Field } from '../../model/fields.ts';
import type { EditState, HeldReason } from '../../model/edit-state.ts';
import type { Id } from '../../model/id.ts';
import { toJson } from '../../model/json.ts';
import { byKey } from '../db/by-key.ts';
import type { Queryable, Transaction } from '../db/database.ts';
import { describeRefusal } from '../db/database-errors.ts';
import { unknownStates } from '../db/database-errors.ts';
import { valuesToHold } from './holds.ts';

/** One field of a user that was decided about, as it is by now. */
export interface DecidedEdit {
  readonly userId: Id;
  readonly name: string | null;
  /** `null` if a person agreed that the user has left. */
  readonly field: string | null;
  /** The edit; `null` if there is none, or it has no number. */
  readonly edit: Id | null;
  /** The value that the mirror had then, and has as long as the edit lasts. */
  readonly value: unknown;
  /** `null` if nobody knows. */
  readonly state: EditState | null;
  /** The reason of its hold. */
  readonly reason: HeldReason | null;
  readonly detail: string | null;
}

/** Reads what became of each edit of a decision. */
export async function readDecision(
  db: Queryable,
  teamId: Id,
  decision: bigint,
): Promise<readonly DecidedEdit[]> {
  const { rows } = await sql<DecidedEdit>`
    select user_id as "userId", name, field, edit_id as edit, mirror_value as value, state, reason, detail from report.decisions
    where team_id = ${teamId} and decision_id = ${decision} and user_id is not null order by user_id, field`.execute(
    db,
  );
  return rows;
}

/** The effect of taking a decision back on one of its edits. */
export interface UndecidedEdit {
  readonly userId: Id;
  readonly field: string | null;
  readonly outcome: 'undecided' | 'on its way' | 'arrived' | 'given back' | 'moved';
}

/** What was taken back. */
export interface Undecided {
  readonly rows: readonly UndecidedEdit[];
  /** The number of the decision that takes it back; `null` if it is only shown. */
  readonly number: bigint | null;
}

/** Makes edits of a decision that still wait undecided again. @throws MusterdError `usage` if there is none */
export async function undecide(
  db: Queryable,
  decision: bigint,
  { why, isShown }: { readonly why: string | undefined; readonly isShown: boolean },
): Promise<Undecided> {
  const undone = sql<UndecidedEdit & Pick<Undecided, 'number'>>`
    select user_id as "userId", field, outcome, decision_id as number
    from sync.undecide(${decision}, ${why ?? null}, ${isShown})`;
  const { rows } = await undone.execute(db).catch((error: unknown) => {
    throw describeRefusal(error, ...unknownStates);
  });
  return { rows, number: rows[0]?.number ?? null };
}

/** Records the fields that a person has set back by taking a decision back, which are that person's edits now. */
export async function recordSetBack(
  tx: Transaction,
  teamId: Id,
  {
    number,
    why,
    fields,
  }: {
    readonly number: bigint;
    readonly why: string | undefined;
    readonly fields: readonly { readonly userId: Id; readonly field: Field }[];
  },
): Promise<void> {
  const staged = fields.map(({ userId, field }) => ({ user_id: userId, field: columnOf(field) }));
  await sql`
    insert into sync.changes (team_id, user_id, kind, base, old, new, edits, closed_at, decided_by, decided_role, decided_why,
      decision_id)
    select ${teamId}, s.user_id, 'undo', jsonb_object_agg(s.field, v.base_value), jsonb_object_agg(s.field, v.service_value),
      jsonb_object_agg(s.field, v.mirror_value), jsonb_object_agg(s.field, sync.find_edit(${teamId}, s.user_id, s.field)),
      clock_timestamp(), sync.decider(), session_user, ${why ?? ''}, ${number}
    from jsonb_to_recordset(${toJson(staged)}::jsonb) as s (user_id bigint, field text)
    cross join lateral ${byKey('mirror.users', teamId, sql`s.user_id`)} u
    cross join lateral ${byKey('sync.user_base', teamId, sql`s.user_id`)} b
    cross join lateral ${valuesToHold} as v (field, base_value, mirror_value, service_value)
    where v.field = s.field group by s.user_id`.execute(tx);
}
