/** Makes people's decisions about edits. */
import { sql } from 'kysely';
import type { EditState } from '../../model/edit-state.ts';
import { columnOf, type Field, type FieldValue } from '../../model/fields.ts';
import type { Id } from '../../model/id.ts';
import { toJson } from '../../model/json.ts';
import { joinName, type NamePair } from '../../model/name.ts';
import type { Queryable, Transaction } from '../db/database.ts';
import { checkViolation, describeRefusal, unknownStates } from '../db/database-errors.ts';

/** An edit as the person saw it. */
export interface SeenEdit {
  readonly userId: Id;
  readonly field: Field;
  /** The value of the mirror that the person saw. */
  readonly to: FieldValue;
  /** The base that the person saw, which is also the service's value. */
  readonly base: FieldValue | undefined;
}

export interface EditDecision {
  readonly why: string;
  /** The name of the batch under which the edit is approved. */
  readonly batch?: string;
  /** The reason to hold the edit again if the approval becomes void. */
  readonly waits?: 'limit' | 'review';
}

/**
 * The answer to a decision about an edit. `moved`: the edit, the base or the service's value has changed. `ended`: the
 * edit has ended. `on its way`: it is being sent. `own`: a second person must approve it. `asked`: a person asked to
 * hold the field. `held`: another reason holds the field. `gone`: the user has left. `left`: there is nothing to reject.
 */
export type EditAnswer =
  | 'approved'
  | 'resolved'
  | 'rejected'
  | 'moved'
  | 'ended'
  | 'on its way'
  | 'own'
  | 'gone'
  | 'asked'
  | 'held'
  | 'left';

/** Sets the person whom the ledger names for the following statements of the transaction. */
export async function actFor(tx: Transaction, actor: string): Promise<void> {
  await sql`select set_config('musterd.actor', ${actor}, true)`.execute(tx);
}

/** The connected role, and whether it may write the bookkeeping as musterd does (`sync.deciding_names()`). */
export async function readLogin(
  db: Queryable,
): Promise<{ readonly login: string; readonly isOwner: boolean; readonly isApprover: boolean }> {
  const { rows } = await sql<Awaited<ReturnType<typeof readLogin>>>`
    select session_user::text as login, has_table_privilege(session_user, 'sync.held_fields', 'UPDATE') as "isOwner",
      coalesce(pg_has_role(session_user, to_regrole('musterd_approver')::oid, 'USAGE'), false) as "isApprover"`.execute(
    db,
  );
  return rows[0] ?? { login: '', isOwner: false, isApprover: false };
}

/** The value in the service's form, in which a name is one text. */
const shownAs = (field: Field, value: FieldValue | undefined) =>
  field === 'name' && value !== null && value !== undefined ? joinName(value as NamePair) : value;

/**
 * Approves these edits if they are still as the person saw them. An edit that is held for another reason than a limit
 * stays held, and needs its own decision.
 * @returns the edits that may be sent now, each with the number of the decision
 */
export async function approveEdits(
  tx: Transaction,
  teamId: Id,
  { why, batch, waits = 'limit' }: EditDecision,
  edits: readonly SeenEdit[],
): Promise<readonly { readonly decision: bigint }[]> {
  const seen = edits.map(({ userId, field, to, base }) => ({
    user_id: userId,
    field: columnOf(field),
    base,
    mirror: to,
    service: shownAs(field, base),
  }));
  const { rows } = await sql<{ decision: bigint }>`
    select decision_id as decision
    from sync.decide_edits('approve', ${teamId}, ${toJson(seen)}::jsonb, ${why}, batch => ${batch ?? null},
      waits => ${waits})
    where outcome = 'approved'`.execute(tx);
  return rows;
}

/** The decision of a person about one held field. */
export interface HeldChoice {
  readonly userId: Id;
  readonly field: Field;
  readonly take: 'mirror' | 'service' | 'value';
  /** The typed value. A typed name has a bar between its halves: `first|last`. */
  readonly value: string | null;
  readonly why: string;
  /** The edit that the person saw; `null` if the field had no edit. */
  readonly edit: Id | null;
  /** The service's value that the person saw, as text. */
  readonly service: string;
  /** The number of a larger decision that includes this decision. If absent, this is a decision of its own. */
  readonly decision: bigint | null;
}

/** Ends one hold by a person's choice: both sides get the mirror's value, the service's value, or a new value. */
export async function resolveHeld(
  tx: Transaction,
  teamId: Id,
  { userId, field, take, value, why, edit, service, decision }: HeldChoice,
): Promise<{ readonly outcome: EditAnswer; readonly state: EditState; readonly decision: bigint | null }> {
  const { rows } = await sql<Awaited<ReturnType<typeof resolveHeld>>>`
    select outcome, state, decision_id as decision
    from sync.resolve(${teamId}, ${userId}, ${columnOf(field)}, ${take}, ${value}, ${why}, edit_id => ${edit}::bigint,
      seen_service => ${service}, part_of => ${decision}::bigint)`
    .execute(tx)
    .catch((error: unknown) => {
      throw describeRefusal(error, ...unknownStates, checkViolation);
    });
  const [done] = rows;
  if (done === undefined) throw new Error('sync.resolve() returned no row');
  return done;
}
